"""Finding what stood in the way of a task's commands, by looking for it in the sandbox."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from assay_contracts.obstacles import Obstacle
from assay_contracts.runs import NetworkProblem, TraceStep
from assay_sandbox_runner.domain.obstacles import (
    ADMINISTRATOR,
    CONTAINERS,
    DISPLAY,
    GIT,
    GRAPHICS,
    SeenStep,
    Suspect,
    obstacles_of,
    suspicions,
    unovercome,
)
from assay_sandbox_runner.domain.program_runs import command_of
from assay_sandbox_runner.domain.skill_needs import SkillNeeds
from assay_sandboxes.port import Limits, ObservedCall, Sandbox

_SECONDS: Final = 20.0
_MOST: Final = 40
"""Things that are looked for after one task, and obstacles that a trace lists."""
_SAFE: Final = re.compile(r"[\w.+-]{1,100}")
_LOOKS: Final[Mapping[str, str]] = {
    GIT: "git -C {folder} rev-parse",
    DISPLAY: 'test -n "$DISPLAY"',
    CONTAINERS: "test -S /var/run/docker.sock -o -S /run/podman/podman.sock",
    GRAPHICS: "test -e /dev/nvidia0 -o -e /dev/dri/renderD128",
    ADMINISTRATOR: 'test "$(id -u)" = 0',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundObstacles:
    every: tuple[Obstacle, ...] = ()
    """Each with its step."""
    unovercome: tuple[Obstacle, ...] = ()
    """Those that the work did not get past."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindObstacles:
    """Tell which limits and which missing things stood in the way of a task's commands."""

    limits: Limits

    async def __call__(
        self,
        steps: Sequence[TraceStep],
        *,
        sandbox: Sandbox,
        folder: str,
        needs: SkillNeeds,
        skills_steps: frozenset[int],
        hosts_matter: bool,
    ) -> FoundObstacles:
        """What stood in the way.

        Args:
            steps: The task's.
            sandbox: Where they were taken; still as they left it.
            folder: The task's.
            needs: What the skill names.
            skills_steps: Those that run programs of the skill, or what it documents.
            hosts_matter: Whether the network was open, so that a host should be there.

        Raises:
            SandboxUnavailable: the sandbox was lost.
        """
        commands = {i: command_of(step) for i, step in enumerate(steps) if step.tool == "execute"}
        if not any(_may_have_failed(steps[i], command) for i, command in commands.items()):
            return FoundObstacles()
        calls = await sandbox.network_calls() if hosts_matter else []
        seen = [
            SeenStep(
                index,
                steps[index],
                command,
                is_the_skills=index in skills_steps,
                unreached=_unreached(steps[index], calls, folder),
            )
            for index, command in commands.items()
        ]
        suspected = [suspect for each in seen for suspect in suspicions(each, needs)]
        absent = await _absent(suspected, sandbox, folder)
        every = tuple(
            obstacle for each in seen for obstacle in obstacles_of(each, needs, absent, self.limits)
        )
        return FoundObstacles(every=every[:_MOST], unovercome=unovercome(every, seen))


async def _absent(
    suspected: Iterable[Suspect], sandbox: Sandbox, folder: str
) -> frozenset[Suspect]:
    """What of it is really not there."""
    looks = {each: look for each in suspected if (look := _look(each, folder))}
    if not looks:
        return frozenset()
    numbered = dict(enumerate(list(looks)[:_MOST]))
    script = "\n".join(
        f"{{ {looks[suspect]}; }} >/dev/null 2>&1 || echo {number}"
        for number, suspect in numbered.items()
    )
    printed = await sandbox.execute(script, timeout_s=_SECONDS, cwd="/")
    numbers = (line for line in printed.stdout.split() if line.isdecimal())
    return frozenset(numbered[int(number)] for number in numbers if int(number) in numbered)


def _look(suspect: Suspect, folder: str) -> str:
    """The shell command that succeeds if it is there; empty where there is no telling."""
    name = suspect.what
    match suspect.kind:
        case "missing_tool" if _SAFE.fullmatch(name):
            return f"command -v {name}"
        case "missing_key" if _SAFE.fullmatch(name):
            return f"printenv {name}"
        case "missing_precondition":
            return _LOOKS[name].format(folder=shlex.quote(folder))
        case _:
            return ""


def _may_have_failed(step: TraceStep, command: str) -> bool:
    return SeenStep(0, step, command, is_the_skills=False).may_have_failed or bool(step.limits_hit)


def _unreached(
    step: TraceStep, calls: Sequence[ObservedCall], folder: str
) -> dict[str, NetworkProblem]:
    """Where the step could not get to, as the one who carries its calls saw it."""
    ended = step.at + timedelta(seconds=step.seconds)
    return {
        call.destination: call.problem
        for call in calls
        if call.problem and call.cwd == folder and step.at <= call.at <= ended
    }
