"""How an agent run fails when the model, not the skill, is to blame."""

from typing import Literal

AgentFailureCategory = Literal["model", "timeout", "budget"]


class AgentFailed(Exception):
    """The model let the agent down; a failure of the platform, never of the skill."""

    def __init__(self, category: AgentFailureCategory, reason: str) -> None:
        super().__init__(reason)
        self.category: AgentFailureCategory = category
        self.reason = reason
