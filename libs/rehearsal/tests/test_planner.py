"""The planner alone: what it reads, what it proposes, and that it keeps to its rules."""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

from assay_contracts.tasks import Task
from assay_rehearsal.conversation import Policy, Reply, ToolUse, Turn
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


def asked(*known: str, files: Sequence[str] = tuple(FILES)) -> HumanMessage:
    brief = {
        "skill_name": "word-counter",
        "task_count": 2,
        "files": list(files),
        "known_tasks": list(known),
    }
    return HumanMessage(f"Write tasks.\n<brief>{json.dumps(brief)}</brief>")


def read(path: str, content: str) -> tuple[BaseMessage, BaseMessage]:
    call = ToolCall(name="read_file", args={"file_path": f"/skill/{path}"}, id=path)
    shown = f"@@ lines 1-9 of 9 @@\n{content}"
    return AIMessage("", tool_calls=[call]), ToolMessage(shown, tool_call_id=path)


def having_read(*known: str) -> Turn:
    pages = [message for path, content in FILES.items() for message in read(path, content)]
    return Turn(messages=(asked(*known), *pages), tools=())


def tasks_in(reply: Reply) -> list[dict[str, object]]:
    (answer,) = reply.calls
    assert answer.name == "TaskPlan"
    tasks = answer.arguments["tasks"]
    assert isinstance(tasks, list)
    return tasks


def test_it_reads_the_manual_and_then_the_scripts_that_its_commands_use() -> None:
    first = planner()(Turn(messages=(asked(),), tools=()))
    assert first.calls[-1] == ToolUse("read_file", {"file_path": "/skill/SKILL.md", "limit": 5000})

    then = planner()(Turn(messages=(asked(), *read("SKILL.md", MANUAL)), tools=()))
    assert [call.arguments["file_path"] for call in then.calls] == ["/skill/scripts/count.py"]


def test_it_proposes_as_many_tasks_as_asked_for_each_with_checks_of_its_result() -> None:
    tasks = tasks_in(planner()(having_read()))

    assert len(tasks) == 2
    assert all("task_id" not in task for task in tasks)
    for task in tasks:
        assert "`notes.txt`" in str(task["prompt"])
        assert "Please count the words and lines of a text." in str(task["prompt"])
        assert task["checks"] == [{"kind": "file", "path": "report.txt"}]


def test_it_says_nothing_that_the_rules_call_a_leak() -> None:
    tasks = tasks_in(planner(lambda text: "words and lines" in text.lower())(having_read()))

    assert all("words and lines" not in str(task["prompt"]).lower() for task in tasks)


def test_a_skill_of_words_gives_tasks_that_say_so() -> None:
    words = MANUAL.partition("```")[0]
    turn = Turn(messages=(asked(files=["SKILL.md"]), *read("SKILL.md", words)), tools=())

    tasks = tasks_in(planner()(turn))

    assert all(str(task["success_criterion"]).startswith(NO_COMMAND_CRITERION) for task in tasks)


def test_what_an_exercise_is_given_is_made_whatever_its_kind() -> None:
    kinds = ("a.pdf", "b.xlsx", "c.png", "d.wav", "e.docx", "f.db")
    commands = "\n".join(f"python3 scripts/count.py {name}" for name in kinds)
    manual = MANUAL.replace("python3 scripts/count.py notes.txt --output report.txt", commands)
    turn = Turn(
        messages=(asked(), *read("SKILL.md", manual), *read("scripts/count.py", SCRIPT)), tools=()
    )

    (task, _) = tasks_in(planner()(turn))

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
    before = [str(task["prompt"]) for task in tasks_in(planner()(having_read()))]
    after = [str(task["prompt"]) for task in tasks_in(planner()(having_read(*before)))]

    assert not set(before) & set(after)
