"""What a grader sees of the work on a task: shortened, and nothing a skill says of itself."""

import re
from collections.abc import Sequence
from typing import Final

from assay_contracts.runs import Trace, TraceStep
from assay_contracts.tasks import CheckResult, Task

LONGEST_OUTPUT: Final = 6_000
LONGEST_ARGUMENTS: Final = 2_000
LONGEST_ANSWER: Final = 4_000
LONGEST_FILE: Final = 1_500
MOST_STEPS: Final = 40
_READS_TEXT: Final = re.compile(
    r"\b(?:cat|head|tail|less|more|nl|sed|awk|grep|rg|strings|cp|tee|pandoc)\b[^;&|]*"
    r"(?:\.(?:md|txt|rst|html?)\b|/\*)"
)
"""A command that shows a text, as far as its words tell."""
_CUT: Final = "\n[... {count} characters left out ...]\n"


def shortened(text: str, longest: int) -> str:
    """Head and tail of a text that is too long, with a note of how much is missing."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return text[:half] + _CUT.format(count=len(text) - 2 * half) + text[-half:]


def grading_material(
    task: Task, trace: Trace, checks: Sequence[CheckResult], *, run_kind: str
) -> dict[str, object]:
    """Everything a grader may see of one task: never the skill's own words about itself."""
    steps = trace.steps if len(trace.steps) <= MOST_STEPS else trace.steps[-MOST_STEPS:]
    first = len(trace.steps) - len(steps) + 1
    return {
        "run": run_kind,
        "task": {
            "prompt": task.prompt,
            "input_files": [
                {"path": file.path, "content": shortened(file.content, LONGEST_FILE)}
                for file in task.files
            ],
            "success_criterion": task.success_criterion,
        },
        "steps": [
            {
                "step": number,
                "tool": step.tool,
                "arguments": shortened(step.arguments, LONGEST_ARGUMENTS),
                "exit_code": step.exit_code,
                "failed": step.failed,
                "output": shortened(shown_output(step), LONGEST_OUTPUT),
            }
            for number, step in enumerate(steps, start=first)
        ],
        "steps_left_out": first - 1,
        "bounds_hit": list(trace.bounds_hit),
        "files_made": list(trace.files_made),
        "checks": [
            {
                "check": number,
                "what": result.check.model_dump(),
                "passed": result.passed,
                "passed_before_the_work_too": result.passed_before,
                "detail": result.detail,
            }
            for number, result in enumerate(checks, start=1)
        ],
        "answer": shortened(trace.answer, LONGEST_ANSWER),
    }


def shown_output(step: TraceStep) -> str:
    """What came of a step, but for what a skill says of itself: its claims are no work done."""
    if _reads_a_skill(step):
        return "[what the agent read in a skill's files is not part of the material]"
    return step.output


def _reads_a_skill(step: TraceStep) -> bool:
    if step.tool == "execute":
        return "skills/" in step.arguments and _READS_TEXT.search(step.arguments) is not None
    return "skills/" in step.arguments
