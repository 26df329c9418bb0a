"""What part the skill under test had in a task, decided from the trace. Pure.

| what the trace shows | the task was done |
|---|---|
| nothing of the skill was read or run | without it |
| programs of the skill were run, and every run of every one failed or was hindered | around it |
| they ended well, and the result has other figures: theirs were set aside | around it |
| anything else | with it |

A program *fails* when it crashes (a traceback through its files, a signal, a time-out, a file that
is not there) or when it ends with an error of its own making. The second is a result and no failure
where the skill says so itself ("exits with 1 if something is found"): a program that refuses bad
input on purpose does what it is for. A failure in whose way an obstacle stood that is not the
skill's is *hindered*: no success, and nothing against the skill either.
"""

import posixpath
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.attribution import Attribution, ProgramEnd, ProgramRun

LISTED_RUNS: Final = 20
TIMED_OUT: Final = 124
FIRST_SIGNAL: Final = 128
NOT_RUNNABLE: Final = (126, 127)
_ERROR_CHARS: Final = 500
_COMMAND_CHARS: Final = 400
_SAID_CHARS: Final = 200
_SAYS_SO: Final = re.compile(
    r"\bexit(?:s|ed|ing)?(?:[ -](?:code|status|with|value))*[ :=`]*[1-9]\d*\b"
    r"|\b(?:non-?zero|nonzero)\b(?:[ -]\w+){0,2}[ -](?:exit|status|code)?"
    r"|退出码|返回码",
    re.IGNORECASE,
)
"""A skill that documents what its programs' exit codes mean."""
_EXPLAINS: Final = re.compile(
    r"^(?:[\w.]*(?:Error|Exception|Warning|Interrupt|Exit)\b.*|error\b.*|.*\berror:.*|fatal\b.*"
    r"|usage:.*|.*: (?:command )?not found|.*No such file or directory.*|.*cannot .*|.*failed.*)$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RanProgram:
    """A program of the skill on a command line, and what is known of how the line ended."""

    path: str
    """Absolute, in the sandbox."""
    program: str
    """Relative to the skill's folder."""
    command: str
    step: int
    exit_code: int | None
    """Of the whole line; none if it did not end."""
    decides: bool
    """Whether the line cannot end well unless this program does."""
    output: str
    """Of the whole line."""


def attribute_task(
    ran: Sequence[RanProgram],
    *,
    was_used: bool,
    manual: str,
    hindered_steps: Collection[int] = (),
    results_set_aside: bool = False,
) -> Attribution:
    """What part the skill had in the task.

    Args:
        ran: Its programs that were run, in order.
        was_used: Whether anything of the skill was read or run.
        manual: The text of its SKILL.md.
        hindered_steps: Those in whose way stood what is not the skill's.
        results_set_aside: Whether the result has other figures than its programs gave.
    """
    says_so = errors_are_results(manual)
    runs = tuple(
        _run(each, errors_are_results=says_so, hindered=each.step in hindered_steps) for each in ran
    )
    if results_set_aside:
        runs = tuple(map(_set_aside, runs, ran))
    if not was_used:
        return Attribution(kind="without")
    around = bool(runs) and all(run.failed or run.ended == "hindered" for run in runs)
    return Attribution(kind="around" if around else "with", programs=_listed(runs))


def errors_are_results(manual: str) -> bool:
    """Whether the SKILL.md says what exit codes other than 0 mean."""
    return _SAYS_SO.search(manual) is not None


def _listed(runs: tuple[ProgramRun, ...]) -> tuple[ProgramRun, ...]:
    """The first of many, and every program's first success among them: it decides."""
    first_success = {
        run.program: run for run in reversed(runs) if run.ended in ("worked", "unclear")
    }
    chosen = [*first_success.values(), *(run for run in runs if run not in first_success.values())]
    return tuple(sorted(chosen[:LISTED_RUNS], key=lambda run: run.step))


def _run(ran: RanProgram, *, errors_are_results: bool, hindered: bool) -> ProgramRun:
    ended, error = how_it_ended(ran, errors_are_results=errors_are_results)
    return ProgramRun(
        program=ran.program,
        command=ran.command[:_COMMAND_CHARS],
        step=ran.step,
        ended="hindered" if hindered and ended in ("refused", "crashed") else ended,
        error=error[:_ERROR_CHARS],
    )


def _set_aside(run: ProgramRun, ran: RanProgram) -> ProgramRun:
    if run.ended not in ("worked", "unclear"):
        return run
    said = " ".join(ran.output.split())[:_SAID_CHARS]
    error = f"what it gave ({said}) is not in the result, which the agent worked out itself"
    return run.model_copy(update={"ended": "set_aside", "error": error})


def how_it_ended(ran: RanProgram, *, errors_are_results: bool) -> tuple[ProgramEnd, str]:
    """How the program ended, and the line that explains it where it failed."""
    if stack := _stack(ran.path, ran.output):
        return "crashed", stack
    if not ran.decides:
        return "unclear", ""
    if ran.exit_code == 0:
        return "worked", ""
    if ran.exit_code is None or ran.exit_code == TIMED_OUT:
        return "crashed", "it did not end within the time a command has"
    if ran.exit_code > FIRST_SIGNAL:
        return "crashed", f"it was ended by signal {ran.exit_code - FIRST_SIGNAL}"
    explanation = _explanation(ran.output) or f"it ended with exit code {ran.exit_code}"
    if ran.exit_code in NOT_RUNNABLE:
        return "crashed", explanation
    return ("worked", "") if errors_are_results else ("refused", explanation)


def _stack(path: str, output: str) -> str:
    """The error at the end of a stack that goes through the program, or why it never began.

    Interpreters name the files of a stack by their path: Python `File "x.py", line 3`, Node
    `at main (/x/y.js:3:5)` or `/x/y.js:3`, shells `y.sh: line 3: …: command not found`.
    """
    name = re.escape(posixpath.basename(path))
    absent = re.search(
        rf"^.*(?:can't open file|Cannot find module|cannot open)[^\n]*{name}[^\n]*$"
        rf"|^[^\n]*{name}['\"]?: (?:\[Errno 2\] )?No such file or directory[^\n]*$",
        output,
        re.MULTILINE,
    )
    if absent:
        return absent.group().strip()
    python = re.search(rf'^ *File "[^"\n]*{name}", line \d+', output, re.MULTILINE)
    if python:
        return _last_unindented(output[python.end() :])
    node = re.search(rf"(?:^|[(\s]){re.escape(path)}:\d+", output, re.MULTILINE)
    if node and re.search(r"^\s+at .+:\d+:\d+\)?$", output, re.MULTILINE):
        thrown = re.search(r"^(?:Uncaught )?\w*Error\b.*$", output, re.MULTILINE)
        return thrown.group().strip() if thrown else "it threw an error"
    shell = re.search(
        rf"^.*{name}: line \d+: .*(?:not found|unbound variable|error).*$", output, re.MULTILINE
    )
    return shell.group().strip() if shell else ""


def _last_unindented(after: str) -> str:
    """Python's error is the first line after the stack that is not indented."""
    for line in after.splitlines()[1:]:
        if line and not line.startswith((" ", "\t")) and not line.startswith("During handling"):
            return line.strip()
    return "it raised an error"


def _explanation(output: str) -> str:
    found = _EXPLAINS.findall(output)
    if found:
        return str(found[-1]).strip()
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else ""
