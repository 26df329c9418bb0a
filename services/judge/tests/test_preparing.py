"""Tasks are tried before they are given to anybody: by their planner, and then by code."""

from collections.abc import Mapping

import pytest

from assay_agentkit.failures import AgentFailed
from assay_contracts.rpc import Problem, ProblemCode, ProblemError
from assay_contracts.tasks import FileCheck, TaskFile
from assay_contracts.validations import ValidationPlanned
from assay_contracts.workbench import CommandRan, RunOnWorkbench, TryChecks
from assay_judge.adapters.work_files import MOST_COMMANDS, WorkFiles
from assay_judge.adapters.workbench import WorkbenchOnBus
from assay_rehearsal.conversation import Policy, Reply, ToolUse, Turn
from assay_testkit.judge import (
    WORD_COUNTER,
    JudgeTracesInMemory,
    WorkbenchInMemory,
    judge_agents,
    plan_tasks,
    planner_answering,
    planning_of,
)

BINARY = b"PK\x03\x04\x00\xff"
DRAFT: dict[str, object] = {
    "prompt": "How long is the speech in `speech.docx`? Put the figures in `figures.txt`.",
    "files": [{"path": "speech.docx", "made": "/workspace/task/speech.docx"}],
    "success_criterion": "figures.txt says 3 words.",
    "checks": [
        {"kind": "file", "path": "figures.txt"},
        {"kind": "pattern", "pattern": "\\b3\\b", "path": "figures.txt"},
    ],
    "reference": {"files": [{"path": "figures.txt", "content": "3 words"}], "answer": "3 words"},
}
SPEECH = CommandRan(exit_code=0, output="made", files=(TaskFile.of("speech.docx", BINARY),))
AWAY = AgentFailed("sandbox", "The planner's sandbox is not to be had: no runner answers.")


def preparing(*drafts: Mapping[str, object]) -> Policy:
    """Makes the speech first, then hands in one draft after the other."""

    def policy(turn: Turn) -> Reply:
        if "TaskDraft" not in turn.tools:
            return planner_answering(DRAFT)(turn)
        if turn.result_of("execute") is None:
            write = {"file_path": "/workspace/task/make.py", "content": "print('made')"}
            run = {"command": "python3 make.py"}
            return Reply(calls=(ToolUse("write_file", write), ToolUse("execute", run)))
        asked = sum(message.type == "human" for message in turn.messages)
        return Reply(calls=(ToolUse("TaskDraft", drafts[min(asked, len(drafts)) - 1]),))

    return policy


async def planned(
    policy: Policy, workbench: WorkbenchInMemory, traces: JudgeTracesInMemory | None = None
) -> ValidationPlanned:
    bundles, request = planning_of("word-counter", dict(WORD_COUNTER), 1)
    agents = judge_agents(planner=policy, workbench=workbench)
    plan = plan_tasks(bundles, agents, traces, needs_references=True)
    result = await plan(request)
    assert isinstance(result, ValidationPlanned)
    return result


async def test_what_a_planner_makes_in_the_sandbox_becomes_an_input_file() -> None:
    workbench, traces = WorkbenchInMemory(answers=[SPEECH]), JudgeTracesInMemory()

    result = await planned(preparing(DRAFT), workbench, traces)

    assert result.failure is None
    (task,) = result.tasks
    assert task.files[0].to_bytes() == BINARY
    assert [trial.passes_on_inputs for trial in task.trials] == [False, False]
    assert [trial.passes_on_reference for trial in task.trials] == [True, True]
    # Both calls were made in one turn; the command saw what the other had written.
    assert [file.path for file in workbench.asked[0].files] == ["make.py"]
    assert result.judge_trace is not None
    preparer = next(a for a in traces.kept[result.judge_trace].agents if a.agent != "judge")
    assert [step.tool for step in preparer.steps] == ["write_file", "execute"]


WRONG = {"kind": "pattern", "pattern": "three", "path": "figures.txt"}
IDLE = {"kind": "file", "path": "speech.docx"}


@pytest.mark.parametrize(
    ("draft", "says"),
    [
        ({**DRAFT, "checks": [WRONG]}, "fails on your own reference"),
        ({**DRAFT, "checks": [{"kind": "pattern", "pattern": ""}]}, "would show nothing"),
        ({**DRAFT, "reference": None}, "There is no reference"),
        ({**DRAFT, "files": [{"path": "x", "made": "y"}]}, "no file 'y' in the sandbox's folder"),
        ({**DRAFT, "files": [{"path": "x"}]}, "by `content` or by `made`"),
        ({**DRAFT, "files": [{"path": "../x", "content": "y"}]}, "not a plain relative path"),
    ],
)
async def test_a_task_that_cannot_be_used_goes_back_with_the_reason(
    draft: Mapping[str, object], says: str
) -> None:
    traces = JudgeTracesInMemory()

    mended = await planned(preparing(draft, DRAFT), WorkbenchInMemory(answers=[SPEECH]), traces)
    never = await planned(preparing(draft), WorkbenchInMemory(answers=[SPEECH]))

    assert mended.failure is None
    refused = [why for trace in traces.kept.values() for a in trace.agents for why in a.refused]
    assert [says in why for why in refused] == [True]
    assert never.failure is not None
    assert (never.failure.category, says in never.failure.reason) == ("model", True)


async def test_a_check_that_stays_wrong_is_dropped_where_others_tell_enough() -> None:
    draft = {**DRAFT, "checks": [{"kind": "file", "path": "figures.txt"}, WRONG]}

    result = await planned(preparing(draft), WorkbenchInMemory(answers=[SPEECH]))

    assert result.failure is None
    assert result.tasks[0].checks == (FileCheck(path="figures.txt"),)
    assert len(result.tasks[0].trials) == 1


async def test_a_sandbox_that_is_not_to_be_had_makes_planning_inconclusive() -> None:
    result = await planned(preparing(DRAFT), WorkbenchInMemory(answers=[AWAY]))

    assert result.failure is not None
    assert result.failure.category == "sandbox"


async def test_commands_are_bounded_in_number_and_in_what_they_bring_along() -> None:
    nothing = CommandRan(exit_code=0, output="")
    endless: list[CommandRan | AgentFailed] = [nothing] * (MOST_COMMANDS + 1)
    workbench = WorkbenchInMemory(answers=endless)
    files = WorkFiles({}, workbench)

    await files.awrite("/workspace/task/big.txt", "x" * 500_000)
    too_large = await files.aexecute("true")
    files.made.clear()
    answers = [await files.aexecute("true") for _ in range(MOST_COMMANDS + 1)]

    assert "bytes" in too_large.output
    assert [answer.exit_code for answer in answers] == [0] * MOST_COMMANDS + [126]
    assert len(workbench.asked) == MOST_COMMANDS


async def test_nothing_is_written_outside_the_folder() -> None:
    files = WorkFiles({"/skill/SKILL.md": "# A"}, WorkbenchInMemory())

    outside = [await files.awrite(path, "x") for path in ("/skill/SKILL.md", "../x", "/etc/x")]

    assert all(result.error for result in outside)
    assert files.made == {}


class Asked:
    """A bus on which runners fail before one answers."""

    def __init__(self, *codes: ProblemCode) -> None:
        self.codes = list(codes)
        self.asked = 0

    async def __call__(self, question: RunOnWorkbench | TryChecks, *, timeout_s: float) -> object:
        self.asked += 1
        if self.codes:
            raise ProblemError(Problem(code=self.codes.pop(0), message="The runner is gone."))
        return CommandRan(exit_code=0, output="fine")


@pytest.mark.parametrize(
    ("codes", "asked", "ends"),
    [
        (("SERVICE_UNAVAILABLE",), 2, True),
        (("SERVICE_UNAVAILABLE",) * 3, 3, False),
        (("INVALID_REQUEST",), 1, False),
    ],
)
async def test_a_runner_that_dies_is_replaced_by_asking_again(
    codes: tuple[ProblemCode, ...], asked: int, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay_judge.adapters.workbench._PAUSES_S", (0.0, 0.0, 0.0))
    bus = Asked(*codes)
    workbench = WorkbenchOnBus(bus)  # type: ignore[arg-type]  # answers commands alone

    if ends:
        assert (await workbench.run("true", [], seconds=1)).output == "fine"
    else:
        with pytest.raises(AgentFailed, match="The runner is gone") as failed:
            await workbench.run("true", [], seconds=1)
        assert failed.value.category == "sandbox"
    assert bus.asked == asked
