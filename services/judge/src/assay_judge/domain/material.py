"""What a grader sees of the work on a task and can look up: nothing a skill says of itself.

The request shows every step shortened and every result file as the trace holds it; the same things
lie whole in files that the grader can read.
"""

import json
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.runs import ProducedFile, Trace, TraceStep
from assay_contracts.tasks import CheckResult, Task, TaskFile
from assay_judge.domain.skill_words import without_skill_words

LONGEST_OUTPUT: Final = 6_000
LONGEST_ARGUMENTS: Final = 2_000
LONGEST_ANSWER: Final = 4_000
LONGEST_FILE: Final = 1_500
MOST_STEPS: Final = 40
MOST_PICTURES: Final = 3
LARGEST_PICTURE: Final = 512 * 1024
"""Bytes of one image that is shown as a picture."""
INPUTS: Final = "/task"
STEPS: Final = "/trace/steps"
RESULTS: Final = "/result"
_CUT: Final = "\n[... {count} characters left out ...]\n"
_PICTURE_TYPES: Final = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "GIF": "image/gif",
    "WebP": "image/webp",
}
"""By the first word of an image's note."""


@dataclass(frozen=True, slots=True)
class Picture:
    path: str
    mime_type: str
    base64: str


def shortened(text: str, longest: int) -> str:
    """Head and tail of a text that is too long, with a note of how much is missing."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return text[:half] + _CUT.format(count=len(text) - 2 * half) + text[-half:]


def grading_material(
    task: Task, trace: Trace, checks: Sequence[CheckResult], *, run_kind: str
) -> dict[str, object]:
    """Everything a grader is shown of one task: never the skill's own words about itself."""
    steps = trace.steps if len(trace.steps) <= MOST_STEPS else trace.steps[-MOST_STEPS:]
    first = len(trace.steps) - len(steps) + 1
    made = frozenset(trace.files_made)
    return {
        "run": run_kind,
        **({"shows": trace.shows} if trace.shows else {}),
        "task": {
            "prompt": task.prompt,
            "input_files": [
                {"path": file.path, "content": shortened(_words_of(file), LONGEST_FILE)}
                for file in task.files
            ],
            "success_criterion": task.success_criterion,
        },
        "steps": [_step(number, step) for number, step in enumerate(steps, start=first)],
        "steps_left_out": first - 1,
        "bounds_hit": list(trace.bounds_hit),
        "files_made": list(trace.files_made),
        "result_files": [_result_file(file, made=file.path in made) for file in trace.produced],
        "checks": [_check(number, result) for number, result in enumerate(checks, start=1)],
        "answer": shortened(trace.answer, LONGEST_ANSWER),
    }


def readable_files(task: Task, trace: Trace) -> dict[str, str]:
    """What the grader can read beside the request, by absolute path: the same things, whole."""
    files = {f"{INPUTS}/{file.path}": _words_of(file) for file in task.files}
    files |= {
        f"{STEPS}/{number}.txt": _whole_step(step)
        for number, step in enumerate(trace.steps, start=1)
    }
    files |= {f"{RESULTS}/{file.path}": file.text for file in trace.produced if file.text}
    files["/trace/answer.txt"] = trace.answer
    # A file may be called whatever its maker likes; here it keeps to its folder.
    return {path: text for path, text in files.items() if posixpath.normpath(path) == path}


def pictures(trace: Trace) -> tuple[Picture, ...]:
    """The images that a grader who can see is shown, the first of many."""
    found = (
        Picture(file.path, _PICTURE_TYPES[kind], file.picture)
        for file in trace.produced
        if file.picture and file.size <= LARGEST_PICTURE
        if (kind := file.note.partition(",")[0]) in _PICTURE_TYPES
    )
    return tuple(found)[:MOST_PICTURES]


def _words_of(file: TaskFile) -> str:
    if file.encoding == "text":
        return file.content
    return f"[{len(file.to_bytes())} bytes that are no text]"


def how_it_ended(step: TraceStep) -> str:
    """One word for it: a command by its exit code, any other tool by whether it refused."""
    if step.exit_code is not None:
        return f"exit code {step.exit_code}"
    return "refused" if step.failed else "done"


def _step(number: int, step: TraceStep) -> dict[str, object]:
    return {
        "step": number,
        "tool": step.tool,
        "arguments": shortened(step.arguments, LONGEST_ARGUMENTS),
        "ended": how_it_ended(step),
        "output": shortened(without_skill_words(step), LONGEST_OUTPUT),
    }


def _whole_step(step: TraceStep) -> str:
    return (
        f"tool: {step.tool}\nended: {how_it_ended(step)}\n\n"
        f"{_arguments(step)}\n\noutput:\n{without_skill_words(step)}"
    )


def _arguments(step: TraceStep) -> str:
    try:
        given = json.loads(step.arguments)
    except ValueError:
        given = None
    if not isinstance(given, Mapping):
        return f"arguments:\n{step.arguments}"
    return "\n\n".join(f"{name}:\n{value}" for name, value in given.items())


def _result_file(file: ProducedFile, *, made: bool) -> dict[str, object]:
    return {
        "path": file.path,
        "made_or_changed": made,
        "kind": file.kind,
        "structure": file.note,
        "bytes": file.size,
        "text_is_cut": file.cut,
        "text": file.text,
    }


def _check(number: int, result: CheckResult) -> dict[str, object]:
    return {
        "check": number,
        "what": result.check.model_dump(),
        "passed": result.passed,
        "passed_before_the_work_too": result.passed_before,
        "passes_on_a_right_result": result.passed_on_reference,
        "detail": result.detail,
    }
