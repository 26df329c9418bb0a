"""Reading a skill costs at most a little more than in proportion to what it says."""

import sys
from collections.abc import Callable, Sequence

import pytest

from assay_contracts.tasks import Task
from assay_rehearsal.exercises import read_items
from assay_rehearsal.planner.tasks import SkillToPlanFor, make_plan
from assay_rehearsal.planner.wording import Wording
from assay_rehearsal.task_commands import commands_for_task
from assay_skillkit.document import parse_skill
from assay_skillkit.words import content_words

SMALL, FACTOR = 25, 4
MOST_GROWTH = 1.5
"""Times the factor: n log n from 25 to 100 is 1.43 times proportional."""


class AllAreFine:
    """Rules that refuse nothing."""

    def leaks(self, text: str) -> Sequence[str]:
        return ()

    def problems(
        self, tasks: Sequence[Task], *, task_count: int, known: Sequence[Task]
    ) -> Sequence[str]:
        return ()


def alike(count: int) -> str:
    commands = "\n".join(f"python3 scripts/a.py d-{n}.csv --out o-{n}.json" for n in range(count))
    return f"# Much alike\n\nDo it:\n\n```bash\n{commands}\n```\n"


def sections(count: int) -> str:
    return "".join(
        f"## Part {n}\n\nMake part {n}:\n\n```bash\npython3 scripts/a.py p{n}.csv > p{n}.md\n```\n"
        for n in range(count)
    )


def code(count: int) -> str:
    return "".join(f"```python\nx{n} = {n}\nprint(x{n})\n```\n\n" for n in range(count))


def plan(manual: str) -> None:
    document = parse_skill(manual)
    files = ("SKILL.md", "scripts/a.py")
    rules = AllAreFine()
    skill = SkillToPlanFor(
        name="x",
        document=document,
        rules=rules,
        scripts={},
        items=read_items(document, skill_name="x", skill_files=files),
        wording=Wording("x", "Makes parts.", content_words(document.prose), rules),
    )
    tasks = make_plan(skill, 3, known=())
    commands_for_task(tasks[0].prompt, document, skill_root="/skills/x", skill_files=files)


def lines_run(work: Callable[[], None]) -> int:
    """How many lines of our own Python are carried out: the same whatever the machine does."""
    count = 0

    def trace(frame: object, event: str, argument: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("manual", [alike, sections, code])
def test_planning_grows_no_faster_than_n_log_n(manual: Callable[[int], str]) -> None:
    plan(manual(2))  # what is computed once is computed now
    small = lines_run(lambda: plan(manual(SMALL)))
    large = lines_run(lambda: plan(manual(SMALL * FACTOR)))

    assert large <= MOST_GROWTH * FACTOR * small
