"""The planner alone: what it reads, what it proposes, and that it keeps to its rules."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

from assay_agentkit.fencing import fenced
from assay_contracts.tasks import Task
from assay_rehearsal.conversation import Policy, ToolUse, Turn
from assay_rehearsal.planner.policy import planner_policy
from assay_rehearsal.planner.tasks import NO_COMMAND_CRITERION

MANUAL = """---
name: word-counter
description: Counts the words and lines of a text.
---
# Counting

Count words and lines of a text:

```bash
python3 scripts/count.py notes.txt --output report.txt
```
"""
SCRIPT = '"""Words and lines of a text."""\n'
FILES = {"SKILL.md": MANUAL, "scripts/count.py": SCRIPT}


@dataclass(frozen=True)
class Rules:
    """Refuses what it is told to refuse."""

    refuses: Callable[[str], bool]

    def leaks(self, text: str) -> Sequence[str]:
        return ["it gives the skill away"] if self.refuses(text) else []

    def problems(
        self, tasks: Sequence[Task], *, task_count: int, known: Sequence[Task]
    ) -> Sequence[str]:
        assert len(tasks) == task_count
        prompts = [task.prompt for task in (*known, *tasks)]
        return [] if len(set(prompts)) == len(prompts) else ["a task is there already"]


def planner(refuses: Callable[[str], bool] = lambda _: False) -> Policy:
    return planner_policy(lambda **_: Rules(refuses))


def asked(
    *known: str,
    texts: Mapping[str, str] = MappingProxyType({}),
    files: Mapping[str, str] = MappingProxyType(FILES),
) -> HumanMessage:
    brief = {
        "skill_name": "word-counter",
        "task_count": 2,
        "files": list(files),
        "texts": dict(texts),
        "known_tasks": list(known),
    }
    return HumanMessage(f"Plan.\n{fenced(brief, nonce='0')}\n")


def read(path: str, content: str) -> tuple[BaseMessage, BaseMessage]:
    call = ToolCall(name="read_file", args={"file_path": f"/skill/{path}"}, id=path)
    shown = f"@@ lines 1-9 of 9 @@\n{content}"
    return AIMessage("", tool_calls=[call]), ToolMessage(shown, tool_call_id=path)


def outlines_of(policy: Policy, *known: str, files: Mapping[str, str]) -> int:
    request = asked(*known, texts=files, files=files)
    (answer,) = policy(Turn(messages=(request,), tools=("TaskOutlines",))).calls
    assert answer.name == "TaskOutlines"
    assert isinstance(answer.arguments["outlines"], list)
    return len(answer.arguments["outlines"])


def tasks_of(
    policy: Policy, *known: str, files: Mapping[str, str] = MappingProxyType(FILES)
) -> list[Mapping[str, object]]:
    """What each agent answers with that prepares one of the tasks."""
    drafts = []
    for number in range(1, outlines_of(policy, *known, files=files) + 1):
        assignment = HumanMessage(f'<assignment>{{"number": {number}}}</assignment>')
        request = asked(*known, texts=files, files=files)
        asked_for = Turn(messages=(request, assignment), tools=("TaskDraft",))
        (answer,) = policy(asked_for).calls
        assert answer.name == "TaskDraft"
        drafts.append(answer.arguments)
    return drafts


def test_it_reads_the_manual_and_then_the_scripts_that_its_request_does_not_show() -> None:
    first = planner()(Turn(messages=(asked(),), tools=()))
    assert first.calls[-1] == ToolUse("read_file", {"file_path": "/skill/SKILL.md", "limit": 5000})

    then = planner()(Turn(messages=(asked(), *read("SKILL.md", MANUAL)), tools=()))
    assert [call.arguments["file_path"] for call in then.calls] == ["/skill/scripts/count.py"]


def test_it_proposes_as_many_tasks_as_asked_for_each_with_checks_of_its_result() -> None:
    tasks = tasks_of(planner())

    assert len(tasks) == 2
    for task in tasks:
        assert "`notes.txt`" in str(task["prompt"])
        assert "Please count the words and lines of a text." in str(task["prompt"])
        assert task["checks"] == [{"kind": "file", "path": "report.txt"}]


def test_it_says_nothing_that_the_rules_call_a_leak() -> None:
    tasks = tasks_of(planner(lambda text: "words and lines" in text.lower()))

    assert all("words and lines" not in str(task["prompt"]).lower() for task in tasks)


def test_a_skill_of_words_gives_tasks_that_say_so() -> None:
    tasks = tasks_of(planner(), files={"SKILL.md": MANUAL.partition("```")[0]})

    assert all(str(task["success_criterion"]).startswith(NO_COMMAND_CRITERION) for task in tasks)


def test_what_an_exercise_is_given_is_made_whatever_its_kind() -> None:
    kinds = ("a.pdf", "b.xlsx", "c.png", "d.wav", "e.docx", "f.db")
    commands = "\n".join(f"python3 scripts/count.py {name}" for name in kinds)
    manual = MANUAL.replace("python3 scripts/count.py notes.txt --output report.txt", commands)

    (task, _) = tasks_of(planner(), files={**FILES, "SKILL.md": manual})

    files = task["files"]
    assert isinstance(files, list)
    begins = {
        file["path"]: base64.b64decode(file["content"])[:4]
        for file in files
        if file["encoding"] == "base64"
    }
    assert begins == {
        "a.pdf": b"%PDF",
        "b.xlsx": b"PK\x03\x04",
        "c.png": b"\x89PNG",
        "d.wav": b"RIFF",
        "e.docx": b"PK\x03\x04",
        "f.db": b"SQLi",
    }


def test_tasks_there_are_already_are_not_proposed_again() -> None:
    before = [str(task["prompt"]) for task in tasks_of(planner())]
    after = [str(task["prompt"]) for task in tasks_of(planner(), *before)]

    assert not set(before) & set(after)
