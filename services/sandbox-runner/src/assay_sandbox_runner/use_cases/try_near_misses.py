import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from assay_agentkit.concurrency import run_all
from assay_agentkit.failures import AgentFailed
from assay_contracts.runs import NearMissOutcome
from assay_contracts.tasks import NearMiss
from assay_sandbox_runner.domain.task_limits import tokens_for_near_miss
from assay_sandbox_runner.domain.usage import skills_used
from assay_sandbox_runner.use_cases.work_on_task import OpenRun
from assay_sandboxes.port import SKILLS, WORKSPACE

_SECONDS: Final = 60.0
"""Longest that a choice may take."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TryNearMisses:
    """See which skills agents open for prompts that the skill under test is not for."""

    async def __call__(self, run: OpenRun) -> tuple[NearMissOutcome, ...]:
        """What was chosen for each that could be tried, all of them side by side.

        Raises:
            SandboxUnavailable: the sandbox was lost.
        """
        tried: Sequence[NearMissOutcome | None] = await run_all(
            self._try(near_miss, run) for near_miss in run.request.near_misses
        )
        return tuple(outcome for outcome in tried if outcome is not None)

    async def _try(self, near_miss: NearMiss, run: OpenRun) -> NearMissOutcome | None:
        folder = posixpath.join(WORKSPACE, "near-misses", near_miss.near_miss_id)
        await run.sandbox.execute(f"mkdir -p {folder}")
        try:
            steps = await run.agents.choose_for(
                near_miss.prompt,
                sandbox=run.sandbox,
                folder=folder,
                skills=run.skills.files.keys(),
                seconds=min(_SECONDS, run.request.time_limit_s / 2),
                tokens=tokens_for_near_miss(run.request.token_budget),
            )
        except AgentFailed as failed:
            # Precision stands beside the score: without it there is still a verdict.
            log.warning("near_miss_not_tried", step_id=run.request.step_id, reason=failed.reason)
            return None
        uses = skills_used(steps, run.skills.files, root=SKILLS, folder=folder)
        return NearMissOutcome(
            near_miss_id=near_miss.near_miss_id,
            skills_opened=tuple(dict.fromkeys(use.skill for use in uses)),
        )
