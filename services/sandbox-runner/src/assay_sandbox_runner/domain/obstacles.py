"""What stood in the way of a command and is not the skill's, told from what was observed. Pure.

| observed | obstacle |
|---|---|
| the sandbox saw a limit hit; an error number that only a limit gives; SIGXFSZ | a limit |
| exit code 127 or an error of `exec`, for what is not there and not promised | `missing_tool` |
| the carrier could not resolve a name, may not go there, or found nobody | `unreachable_host` |
| a variable that the skill and the error name is not set; 401 or 403 beside it | `missing_key` |
| no git repository, display, container engine, graphics card, administrator's rights | \
  `missing_precondition` |

First come *suspicions*, by exit codes, error numbers and names. What they suppose to be missing is
then looked for in the sandbox, and only what is really not there is an obstacle. Apart from limits,
an obstacle has to do with the skill: it stood in the way of one of its programs, or of what the
skill names. What an agent tried on its own and could not is nothing.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from assay_contracts.obstacles import LimitKind, Obstacle, ObstacleKind
from assay_contracts.runs import NetworkProblem, TraceStep
from assay_sandbox_runner.domain.skill_needs import TELLS_NOTHING, SkillNeeds
from assay_sandboxes.port import Limits
from assay_skillkit.shell.paths import paths_used, programs_of

MOST_LISTED: Final = 20
_FILE_SIZE_SIGNAL: Final = 128 + 25
_NOT_FOUND: Final = 127
_GIT_FAILED: Final = 128
_SHOWN: Final = 300

_ERROR_NUMBERS: Final[dict[str, LimitKind]] = {
    "27": "file_size",
    "28": "space",
    "122": "space",
    "12": "memory",
    "23": "open_files",
    "24": "open_files",
}
_ERROR_NAMES: Final[dict[str, LimitKind]] = {
    "EFBIG": "file_size",
    "ENOSPC": "space",
    "EDQUOT": "space",
    "ENOMEM": "memory",
    "EMFILE": "open_files",
    "ENFILE": "open_files",
}
_ERROR_TEXTS: Final[dict[str, LimitKind]] = {
    "File too large": "file_size",
    "File size limit exceeded": "file_size",
    "No space left on device": "space",
    "Disk quota exceeded": "space",
    "Cannot allocate memory": "memory",
    "Too many open files": "open_files",
}
"""As the C library says them, in the language that commands run in."""
_LIMIT: Final = re.compile(
    rf"\[Errno ({'|'.join(_ERROR_NUMBERS)})\]"
    rf"|\b({'|'.join(_ERROR_NAMES)})\b"
    rf"|(?::\s|^)({'|'.join(_ERROR_TEXTS)})\b",
    re.MULTILINE,
)
_OUT_OF_MEMORY: Final = re.compile(
    r"^(?:[\w.]*\.)?_?(?:Array)?MemoryError\b|\bheap out of memory\b|^std::bad_alloc", re.MULTILINE
)
_OUT_OF_PROCESSES: Final = re.compile(
    r"fork: (?:retry: )?Resource temporarily unavailable|\[Errno 11\]|can't start new thread"
    r"|\bspawn\S* EAGAIN\b"
)
_TOOL: Final = re.compile(
    r"(?:^|: )([\w.+-]+): (?:command )?not found$"
    r"|^(?:/usr/bin/)?env: [‘'\"]?([\w.+-]+)[’'\"]?: No such file or directory"
    r"|\bspawn(?:Sync)? ([\w.+-]+) ENOENT\b",
    re.MULTILINE,
)
_PYTHON_EXEC: Final = re.compile(
    r"subprocess\.py\"(?:.|\n)*?FileNotFoundError: \[Errno 2\] No such file or directory: "
    r"'([\w.+-]+)'"
)
_LOOKS_FOR_TOOLS: Final = re.compile(
    r"(?<![\w./-])(?:pdflatex|xelatex|latexmk|lualatex|pandoc|soffice|libreoffice|ffmpeg|ffprobe"
    r"|imagemagick|magick|graphviz|tesseract|pdftotext|pdftoppm|qpdf|ghostscript|docker|podman"
    r"|kubectl|helm|terraform|javac|mvn|gradle|cargo|rustc|golang|composer|dotnet|Rscript|julia|gh"
    r"|glab|aws|gcloud|psql|mysql|sqlite3|redis-cli|mongosh|playwright|chromium|google-chrome"
    r"|firefox|deno|pnpm|yarn|jq|yq|conda|mamba|cmake|npx|uv|uvx)(?![\w./-])"
)
"""Tools whose absence a program may notice and tell in its own words; no word that means more."""
_REFUSED_STATUS: Final = re.compile(
    r"\b(?:HTTP(?:/[\d.]+)?|status(?:[ _]?code)?|Error|error:?)\W{0,4}(401|403)\b"
    r"|\b(401|403)\b\W{0,4}(?:Client Error|Unauthorized|Forbidden)"
)
_TRACEBACK: Final = "Traceback (most recent call last):"
_ADMINISTRATORS: Final = frozenset(
    {
        "sudo",
        "apt",
        "apt-get",
        "dnf",
        "yum",
        "apk",
        "pacman",
        "systemctl",
        "service",
        "brew",
        "snap",
    }
)
_GRAPHICS: Final = re.compile(r"\b(?:CUDA|NVIDIA|nvidia-smi|cuInit|MPS)\b")
_DISPLAY: Final = re.compile(r"\$DISPLAY\b|\bDISPLAY\b|\bX server\b|\bno display\b", re.IGNORECASE)
_CONTAINERS: Final = re.compile(r"docker(?:\.sock| daemon)", re.IGNORECASE)
_HIDES_END: Final = re.compile(r"[|;&\n]")

GIT: Final = "a git repository"
DISPLAY: Final = "a display"
CONTAINERS: Final = "a container engine"
GRAPHICS: Final = "a graphics card"
ADMINISTRATOR: Final = "an administrator's rights"


@dataclass(frozen=True, slots=True)
class SeenStep:
    """A step of the trace, with what code knows of it."""

    index: int
    step: TraceStep
    command: str
    is_the_skills: bool
    """It runs a program of the skill, or a command that the skill documents."""
    unreached: Mapping[str, NetworkProblem] = field(default_factory=dict)
    """Places that it reached for and did not get to, and why."""

    @property
    def may_have_failed(self) -> bool:
        """It ended badly, or other commands of its line hide how it ended."""
        return self.step.exit_code != 0 or _HIDES_END.search(self.command) is not None

    def concerns(self, name: str, needs: SkillNeeds) -> bool:
        """Whether something of that name has to do with the skill here."""
        return self.is_the_skills or needs.names(name)


class Suspect(NamedTuple):
    """Something that a step may have lacked."""

    kind: ObstacleKind
    what: str


def suspicions(seen: SeenStep, needs: SkillNeeds) -> tuple[Suspect, ...]:
    """What to look for in the sandbox, because of how a step went."""
    if not seen.may_have_failed:
        return ()
    found = (
        *(Suspect("missing_tool", tool) for tool in _tools(seen, needs)),
        *(Suspect("missing_key", name) for name in _variables(seen, needs)),
        *(Suspect("missing_precondition", place) for place in _places(seen, needs)),
    )
    return tuple(dict.fromkeys(found))


def limits_in(seen: SeenStep) -> tuple[LimitKind, ...]:
    """The limits that a step ran into."""
    found: list[LimitKind] = [
        kind for kind in seen.step.limits_hit if kind != "time" or seen.is_the_skills
    ]
    if seen.may_have_failed:
        found += limits_told(seen.step.output, seen.step.exit_code)
    return tuple(dict.fromkeys(found))


def limits_told(output: str, exit_code: int | None) -> Iterator[LimitKind]:
    """The limits that error numbers, or the signal for file size, tell of."""
    if exit_code == _FILE_SIZE_SIGNAL:
        yield "file_size"
    for number, name, text in _LIMIT.findall(output):
        yield _ERROR_NUMBERS.get(number) or _ERROR_NAMES.get(name) or _ERROR_TEXTS[text]
    if _OUT_OF_MEMORY.search(output):
        yield "memory"
    if _OUT_OF_PROCESSES.search(output):
        yield "processes"


def _tools(seen: SeenStep, needs: SkillNeeds) -> Iterator[str]:
    output = seen.step.output
    told = [name for found in _TOOL.findall(output) for name in found if name]
    told += _PYTHON_EXEC.findall(output)
    if seen.step.exit_code == _NOT_FOUND:
        told += [each for each in programs_of(seen.command) if "/" not in each]
    if seen.is_the_skills and seen.step.exit_code != 0:
        told += _LOOKS_FOR_TOOLS.findall(_error(output))
    for name in told:
        if not needs.promises(name) and seen.concerns(name, needs):
            yield name


def _variables(seen: SeenStep, needs: SkillNeeds) -> Iterator[str]:
    explaining = _explaining(seen.step.output)
    words = set(re.findall(r"\w+", explaining))
    yield from sorted(needs.variables & words)
    if _REFUSED_STATUS.search(explaining):
        yield from sorted(name for name in needs.variables if _is_secret(name))


def _is_secret(name: str) -> bool:
    return name.endswith(("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS", "PAT"))


def _explaining(output: str) -> str:
    """The last stack of the output with its error, or all of it where there is none.

    What a program says before it crashes for another reason explains nothing.
    """
    start = output.rfind(_TRACEBACK)
    return output if start < 0 else output[start:]


def _error(output: str) -> str:
    """As `_explaining`, without the files and lines of the stack."""
    lines = _explaining(output).splitlines()
    return "\n".join(line for line in lines if not line.startswith("  "))


def _places(seen: SeenStep, needs: SkillNeeds) -> Iterator[str]:
    output, programs = seen.step.output, programs_of(seen.command)
    concerns_skill = seen.is_the_skills or any(map(needs.names, programs))
    if not concerns_skill or seen.step.exit_code == 0:
        return
    if _ADMINISTRATORS.intersection(programs):
        yield ADMINISTRATOR
    if (
        "git" in programs and seen.step.exit_code == _GIT_FAILED
    ) or "not a git repository" in output:
        yield GIT
    explaining = _explaining(output)
    if _GRAPHICS.search(explaining):
        yield GRAPHICS
    if _DISPLAY.search(explaining):
        yield DISPLAY
    if _CONTAINERS.search(explaining):
        yield CONTAINERS


def obstacles_of(
    seen: SeenStep, needs: SkillNeeds, absent: Collection[Suspect], limits: Limits
) -> Iterator[Obstacle]:
    """What stood in the way of a step, with what was found to be `absent`."""
    for limit in limits_in(seen):
        yield _limit(limit, limits, seen)
    for suspect in suspicions(seen, needs):
        if suspect in absent:
            yield _missing(seen, suspect)
    for place, problem in seen.unreached.items():
        if seen.may_have_failed and seen.concerns(_host_of(place), needs):
            yield _unreached(seen, place, problem)


def _host_of(place: str) -> str:
    return place.rpartition(":")[0] or place


def _unreached(seen: SeenStep, place: str, problem: NetworkProblem) -> Obstacle:
    return Obstacle(
        kind="unreachable_host",
        what=place[:200],
        observed=f"{_ended(seen)}; {_NETWORK_PROBLEMS[problem]}",
        advice="Let sandboxes reach it (the machine's network and name servers, ASSAY_EGRESS_…), "
        "or let the skill work without it.",
        step=seen.index,
    )


_NETWORK_PROBLEMS: Final[Mapping[NetworkProblem, str]] = {
    "unresolved": "its name does not resolve",
    "denied": "the rules of the sandbox forbid it",
    "unreachable": "nobody answered there",
}


_ADVICE: Final[dict[ObstacleKind, str]] = {
    "missing_tool": "Install it on the machine that runs sandboxes, or let the skill bring it.",
    "missing_key": "Sandboxes are given no keys: validate what can be tried without it, or try it "
    "by hand.",
    "missing_precondition": "Our sandbox does not offer it: try the skill where it is there.",
}
_OBSERVED: Final[dict[ObstacleKind, str]] = {
    "missing_tool": "it is not on the path",
    "missing_key": "the variable is not set, and the error names it or answers 401 or 403",
    "missing_precondition": "there is none in the sandbox",
}


def _missing(seen: SeenStep, suspect: Suspect) -> Obstacle:
    is_code = suspect.kind in ("missing_tool", "missing_key")
    return Obstacle(
        kind=suspect.kind,
        what=f"`{suspect.what[:190]}`" if is_code else suspect.what[:200],
        observed=f"{_ended(seen)}; {_OBSERVED[suspect.kind]}",
        advice=_ADVICE[suspect.kind],
        step=seen.index,
    )


def _ended(seen: SeenStep) -> str:
    code = seen.step.exit_code
    ended = "did not end" if code is None else f"ended with exit code {code}"
    return f"`{seen.command[:_SHOWN]}` {ended}"


def _limit(kind: LimitKind, limits: Limits, seen: SeenStep) -> Obstacle:
    what, setting = _as_set(kind, limits)
    return Obstacle(
        kind=kind,
        what=what,
        observed=f"{_ended(seen)}; the limit was met",
        advice=f"Raise {setting} and validate it again.",
        step=seen.index,
    )


def _as_set(kind: LimitKind, limits: Limits) -> tuple[str, str]:
    """A limit as people read it, and the setting that raises it."""
    workspace = _in_mib(limits.workspace_bytes)
    space = f"{_in_mib(limits.home_bytes)} may be installed, {workspace} lie in the workspace"
    return {
        "file_size": (_in_mib(limits.file_bytes), "ASSAY_SANDBOX_FILE_MB"),
        "memory": (_in_mib(limits.memory_bytes), "ASSAY_SANDBOX_MEMORY_MB"),
        "space": (space, "ASSAY_SANDBOX_SPACE_MB or ASSAY_SANDBOX_WORKSPACE_MB"),
        "processes": (str(limits.processes), "ASSAY_SANDBOX_PROCESSES"),
        "open_files": ("as many as the machine", "the machine's limit of open files"),
        "time": (f"{limits.command_seconds:g} s", "ASSAY_COMMAND_SECONDS"),
    }[kind]


def _in_mib(size: int) -> str:
    return f"{size // 1024**2} MiB"


def unovercome(obstacles: Sequence[Obstacle], steps: Sequence[SeenStep]) -> tuple[Obstacle, ...]:
    """Those after which nothing that runs the same program ended well, each once."""
    kept: dict[tuple[ObstacleKind, str], Obstacle] = {}
    for obstacle in obstacles:
        hindered = next(each for each in steps if each.index == obstacle.step)
        later = (each for each in steps if each.index > hindered.index)
        if not any(each.step.exit_code == 0 and _run_the_same(hindered, each) for each in later):
            kept.setdefault((obstacle.kind, obstacle.what), obstacle)
    return tuple(kept.values())[:MOST_LISTED]


_CODE: Final = re.compile(r"\.(?:py|js|mjs|cjs|ts|sh|bash|rb|pl|php|[rR])$")


def _run_the_same(one: SeenStep, other: SeenStep) -> bool:
    return one.command == other.command or bool(_telling(one.command) & _telling(other.command))


def _telling(command: str) -> frozenset[str]:
    """The programs and the files of code that a line runs."""
    code = (use.path for use in paths_used(command, "/") if _CODE.search(use.path))
    return frozenset([*programs_of(command), *code]) - TELLS_NOTHING
