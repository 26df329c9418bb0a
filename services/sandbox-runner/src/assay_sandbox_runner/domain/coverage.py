"""How much of what a skill documents its tasks tried, read from the bundle and the traces. Pure.

An item is known again in a trace by what it runs: a program of the skill or a command of that name,
with the same subcommand and options. The built-in model follows the document word by word, so for
it every other word has to be there too.
"""

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.coverage import (
    MOST_ITEMS,
    Coverage,
    CoveredItem,
    ItemState,
    TaskShows,
)
from assay_contracts.runs import Trace, TraceStep
from assay_contracts.tasks import Task, TaskId
from assay_sandbox_runner.domain.attribution import errors_are_results
from assay_sandbox_runner.domain.program_runs import command_of, programs_ran
from assay_sandbox_runner.domain.tries import Shown, Try, judge
from assay_skillkit.document import SkillDocument, parse_skill
from assay_skillkit.documented_items import DocumentedItem, documented_items, signature_of
from assay_skillkit.file_names import FILE_NAME
from assay_skillkit.shell.lexer import fragments
from assay_skillkit.shell.purpose import programs_of

_LONGEST_WHAT: Final = 200
_CODE_SHARE: Final = 0.6
"""Of a block's lines that somebody has to run for the block to be tried."""
_MOST_EXPECTED: Final = 4
_SHORT_LINE: Final = 2
"""Characters of a line that says nothing by itself, such as a bracket."""
_VARIES: Final = re.compile(r"\.\.\.|…|\d{4}-\d\d-\d\d|\d\d:\d\d|[<>]|\b\d+(?:\.\d+)?\s*m?s\b|/")
_DOES_WITHOUT: Final = re.compile(
    r"\bfalls? back\b|\bfallback\b"
    r"|\b(?:works?|does) (?:also )?without (?:an? |the )?(?:answer|network|internet)"
    r"|\bwhen (?:not|off)\s?(?:online|line)\b|离线",
    re.IGNORECASE,
)
_ORDER: Final[Mapping[ItemState, int]] = {
    "failed": 0,
    "blocked": 1,
    "unclear": 2,
    "worked": 3,
    "not_tried": 3,
}
_BEYOND: Final = "more is documented than is tried at once"
_NOT_CHOSEN: Final = "no task led an agent to it"
_ONLY_READ: Final = "only a language model takes in what it says"
_NEVER_SHOWN: Final = "SKILL.md shows no way to run it"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUnderTest:
    """A skill as it lies in a sandbox."""

    name: str
    manual: str
    files: Collection[str]
    texts: Mapping[str, str]
    """What its text files say, by their paths in it."""
    root: str
    """Folder that holds the skills' folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """A task and what was done for it."""

    task: Task
    trace: Trace
    folder: str
    """Where commands ran."""
    obstacles: Mapping[int, str]
    """What stood in the way, by the number of the step, from 0."""


def coverage_of(
    skill: SkillUnderTest, tasks: Sequence[Worked], *, rehearsed: bool
) -> tuple[Coverage, Mapping[TaskId, TaskShows]]:
    """What of the documented was tried, and what each task shows of it.

    Args:
        skill: The skill that the tasks are about.
        tasks: All of the run.
        rehearsed: The built-in model did them, by the document and nothing else.
    """
    document = parse_skill(skill.manual)
    reader = _Reader(skill, document, rehearsed=rehearsed)
    tries: dict[int, list[tuple[TaskId, Shown, bool]]] = defaultdict(list)
    shows: dict[TaskId, TaskShows] = {}
    for worked in tasks:
        found = list(reader.tries(worked))
        for number, shown, as_documented in found:
            tries[number].append((worked.task.task_id, shown, as_documented))
        shows[worked.task.task_id] = _task_shows(reader.items, found)
    covered = [reader.covered(number, tries[number]) for number in range(len(reader.items))]
    return _summary(reader.items, covered), shows if rehearsed else {}


class _Reader:
    """Knows the documented items again in what was run."""

    def __init__(self, skill: SkillUnderTest, document: SkillDocument, *, rehearsed: bool) -> None:
        self.items = documented_items(document, skill_name=skill.name, files=skill.files)
        self._skill = skill
        self._document = document
        self._rehearsed = rehearsed
        self._errors_are_results = errors_are_results(skill.manual)
        self._does_without = _DOES_WITHOUT.search(skill.manual) is not None
        self._declared = "\n".join(
            text
            for path, text in skill.texts.items()
            if not path.endswith((".js", ".sh"))
            if _declares(path, text)
        )
        self._first_line = skill.manual.count("\n", 0, max(skill.manual.rfind(document.body), 0))
        self._by_program: dict[str, list[int]] = defaultdict(list)
        for number, item in enumerate(self.items):
            self._by_program[item.program].append(number)
        self._to_be_tried = [
            number
            for number, item in enumerate(self.items)
            if item.is_to_be_tried and not item.optional
        ]
        self._words = [_literal_words(item) for item in self.items]
        self._code = [
            (number, _code_lines(item.code.text))
            for number, item in enumerate(self.items)
            if item.code is not None
        ]

    def tries(self, worked: Worked) -> Iterator[tuple[int, Shown, bool]]:
        """Each item that the task tried, by its number, with what that shows."""
        own = defaultdict(set)
        for ran in programs_ran(
            worked.trace.steps,
            skill=self._skill.name,
            files=self._skill.files,
            root=self._skill.root,
            folder=worked.folder,
        ):
            own[ran.step].add(ran.program)
        after_failure = False
        seen: set[int] = set()
        for place, step in enumerate(worked.trace.steps):
            command = command_of(step)
            numbers = [*self._read_in(step), *self._run_by(command, own[place])]
            for number in dict.fromkeys(numbers):
                item = self.items[number]
                seen.add(number)
                whole = all(each in seen for each in self._tried_before(number))
                documented = whole and self._as_documented(item, worked.task)
                tried = Try(
                    exit_code=step.exit_code,
                    output=step.output,
                    obstacle=worked.obstacles.get(place, ""),
                    command=command,
                    as_documented=documented and self._rehearsed,
                    is_own=self._is_own(item),
                    errors_are_results=self._errors_are_results,
                    after_failure=after_failure,
                    does_without=self._does_without,
                    left_files=bool(worked.trace.files_made),
                    expected=_expected(item),
                    expected_keys=_expected_keys(item) if self._rehearsed else (),
                )
                shown = self._shown(item, tried)
                after_failure = after_failure or shown.state in ("failed", "blocked", "unclear")
                yield number, shown, documented

    def _tried_before(self, number: int) -> Sequence[int]:
        """What stands above it in the document and may be what it builds on."""
        return self._to_be_tried[: bisect_left(self._to_be_tried, number)]

    def _read_in(self, step: TraceStep) -> Iterator[int]:
        for number, item in enumerate(self.items):
            path = f"{self._skill.name}/{item.what}"
            if item.kind == "reference" and path in step.arguments and not step.failed:
                yield number

    def _run_by(self, command: str, own: Collection[str]) -> Iterator[int]:
        if not command:
            return
        words = _words(command)
        lines = _code_lines(command)
        for number, code in self._code:
            tried = code and len(code & lines) >= _CODE_SHARE * len(code)
            if tried and self.items[number].is_to_be_tried:
                yield number
        for program in (*sorted(own), *dict.fromkeys(programs_of(command)), *_modules(words)):
            for number in self._by_program.get(program, ()):
                if self._fits(self.items[number], number, command, words):
                    yield number

    def _fits(
        self, item: DocumentedItem, number: int, command: str, words: Collection[str]
    ) -> bool:
        if item.kind == "script":
            return True
        if item.kind != "command" or item.shape is None:
            return False
        if not item.is_to_be_tried and not item.shape.is_setup:
            return False
        if self._rehearsed:
            return self._words[number] <= frozenset(words)
        wanted = signature_of(item.what, own=item.program if "/" in item.program else "")
        options = signature_of(command).options
        return wanted.options <= options and (not wanted.subcommand or wanted.subcommand in words)

    def _as_documented(self, item: DocumentedItem, task: Task) -> bool:
        """Whether it was given what the document itself shows, and nothing was made up for it."""
        if item.shape is not None and item.shape.values:
            return False
        given = {file.path: file.content for file in task.files}
        samples = {sample.path: sample.content for sample in self._document.samples}
        return all(
            name not in given or given[name] == samples.get(name) for name in item.inputs
        ) and not (set(item.inputs) - set(given) and task.files)

    def _is_own(self, item: DocumentedItem) -> bool:
        return "/" in item.program or item.program in self._skill.files or item.kind == "code"

    def _shown(self, item: DocumentedItem, tried: Try) -> Shown:
        if item.kind == "reference":
            return Shown("worked")
        shown = judge(tried, declared=self._declared)
        if item.kind == "code" and shown.state == "failed":
            return _code_failed(shown, tried.output)
        only_help = item.kind == "script" and " --help" in tried.command
        if only_help and shown.state == "worked":
            return Shown("unclear", f"{_NEVER_SHOWN}; it starts and tells its options")
        return shown

    def covered(self, number: int, tries: Sequence[tuple[TaskId, Shown, bool]]) -> CoveredItem:
        item = self.items[number]
        shown = _together(tries) if tries else Shown("not_tried", self._why_not(item))
        return CoveredItem(
            kind=item.kind,
            what=item.what[:_LONGEST_WHAT],
            line=item.line + self._first_line if item.line else None,
            program=item.program[:_LONGEST_WHAT],
            optional=item.optional,
            state=shown.state,
            reason=shown.reason,
            tasks=tuple(dict.fromkeys(task_id for task_id, _, _ in tries)),
        )

    def _why_not(self, item: DocumentedItem) -> str:
        if item.not_run:
            return item.not_run
        if item.kind == "reference":
            return _ONLY_READ if self._rehearsed else _NOT_CHOSEN
        if item.kind == "script":
            return _NEVER_SHOWN
        return _BEYOND if self._rehearsed else _NOT_CHOSEN


def _code_failed(shown: Shown, output: str) -> Shown:
    """Code in a document is often part of something larger.

    Only what no surroundings could mend counts against it.
    """
    if re.search(r"AttributeError: module |cannot import name", output) or shown.reason.startswith(
        "it does not print"
    ):
        return shown
    return Shown("unclear", f"by itself it does not run: {shown.reason}")


def _together(tries: Sequence[tuple[TaskId, Shown, bool]]) -> Shown:
    """A failure on what the document shows decides; else one success does; else the worst."""
    broken = (shown for _, shown, documented in tries if documented and shown.state == "failed")
    worked = (shown for _, shown, _ in tries if shown.state == "worked")
    rest = sorted((shown for _, shown, _ in tries), key=lambda shown: _ORDER[shown.state])
    return next(broken, None) or next(worked, None) or rest[0]


def _task_shows(
    items: Sequence[DocumentedItem], found: Sequence[tuple[int, Shown, bool]]
) -> TaskShows:
    states = {shown.state for number, shown, _ in found if not items[number].optional}
    if "failed" in states:
        return "failed"
    did = {shown.state for number, shown, _ in found if items[number].is_to_be_tried}
    return "worked" if "worked" in did else "nothing"


def _summary(items: Sequence[DocumentedItem], covered: Sequence[CoveredItem]) -> Coverage:
    groups: dict[str, list[CoveredItem]] = defaultdict(list)
    for item, each in zip(items, covered, strict=True):
        if _is_work(item) and not item.optional:
            groups[item.program].append(each)
    listed = sorted(covered, key=lambda each: _ORDER[each.state])
    return Coverage(
        items=tuple(listed[:MOST_ITEMS]),
        total=len(covered),
        exercised=sum(each.exercised for each in covered),
        worked=sum(each.state == "worked" for each in covered),
        programs=len(groups),
        programs_worked=sum(map(_program_worked, groups.values())),
    )


def _is_work(item: DocumentedItem) -> bool:
    """Whether it is something that the skill is for, whether or not it can be tried here."""
    if item.command is not None and item.command.is_bad_example:
        return False
    if item.shape is not None:
        return item.shape.is_work
    if item.code is not None:
        return not item.not_run.startswith("it shows what not to do")
    return item.kind == "script"


def _program_worked(items: Sequence[CoveredItem]) -> bool:
    """One success shows that a program works; of code, half of what is shown has to run."""
    worked = sum(item.state == "worked" for item in items)
    needed = len(items) if all(item.kind == "code" for item in items) else 1
    return worked > 0 and 2 * worked >= needed


def _expected(item: DocumentedItem) -> tuple[str, ...]:
    if item.command is None:
        return ()
    rows = [row for row in item.command.expected_output.splitlines() if row.strip()]
    fixed = [row for row in rows if not _VARIES.search(row) and not FILE_NAME.search(row)]
    return tuple(fixed[:_MOST_EXPECTED])


def _expected_keys(item: DocumentedItem) -> tuple[str, ...]:
    shown = item.command.expected_output.strip() if item.command else ""
    try:
        value = json.loads(shown) if shown.startswith("{") else None
    except (ValueError, RecursionError):
        value = None
    return tuple(map(json.dumps, list(value)[:_MOST_EXPECTED])) if isinstance(value, dict) else ()


def _literal_words(item: DocumentedItem) -> frozenset[str]:
    if item.shape is None:
        return frozenset()
    plain = " ".join(word.text for word in item.shape.words if word.kind == "literal")
    return frozenset(_words(plain)) - {"cd"}


def _words(command: str) -> frozenset[str]:
    values = (each.value for each in fragments(command) if each.kind in ("bare", "quoted"))
    pieces = (piece for value in values for piece in re.split(r"[\s=]+", value))
    return frozenset(piece for piece in pieces if re.search(r"\w", piece))


def _modules(words: Collection[str]) -> Iterator[str]:
    """Names that `-m`, `npx` and their like run."""
    return (word for word in words if re.fullmatch(r"[a-z][\w.-]+", word))


def _code_lines(text: str) -> frozenset[str]:
    rows = (row.strip() for row in text.splitlines())
    return frozenset(
        row for row in rows if len(row) > _SHORT_LINE and not row.startswith(("#", "//"))
    )


def _declares(path: str, text: str) -> bool:
    name = path.rpartition("/")[2]
    if name.startswith(("requirements", "pyproject", "package", "environment")):
        return True
    return name == "SKILL.md" or "# /// script" in text
