"""How an agent run fails when the platform, not the skill, is to blame."""

from typing import Literal

AgentFailureCategory = Literal["model", "timeout", "budget", "sandbox"]


class AgentFailed(Exception):
    """The model or its sandbox let the agent down; the platform's failure, never the skill's."""

    def __init__(self, category: AgentFailureCategory, reason: str) -> None:
        super().__init__(reason)
        self.category: AgentFailureCategory = category
        self.reason = reason
