"""What planners ask of the workbench, in real sandboxes."""

import asyncio

import pytest

from assay_contracts.rpc import ProblemError
from assay_contracts.tasks import CommandCheck, FileCheck, ProgramCheck, TaskFile
from assay_contracts.workbench import Reference, RunOnWorkbench, TryChecks
from assay_sandbox_runner.adapters.patterns import find_pattern
from assay_sandbox_runner.use_cases.check_task import CheckTask
from assay_sandbox_runner.use_cases.try_on_workbench import RunWorkbenchCommand, TryTaskChecks
from assay_sandboxes.fake.provider import FakeProvider
from assay_testkit.runner import Runner

MAKE_SHEET = """python3 - <<'X'
import openpyxl
book = openpyxl.Workbook()
book.active.append(["total", 42])
book.save("/workspace/task/sheet.xlsx")
X
rm old.txt; head -c 600000 /dev/urandom > large.bin
pwd; getent hosts example.com || echo offline"""
READ_SHEET = ProgramCheck(
    source="import openpyxl; assert openpyxl.load_workbook('sheet.xlsx').active['B1'].value == 42"
)


def commands(runner: Runner) -> RunWorkbenchCommand:
    return RunWorkbenchCommand(
        clean_sandboxes=runner.clean_sandboxes(), places=asyncio.Semaphore(2)
    )


async def test_a_command_makes_documents_offline_and_leaves_only_its_files(runner: Runner) -> None:
    old = TaskFile(path="old.txt", content="old")

    ran = await commands(runner)(RunOnWorkbench(files=(old,), command=MAKE_SHEET))

    assert (ran.exit_code, ran.output.split()) == (0, ["/workspace/task", "offline"])
    assert [file.path for file in ran.files] == ["sheet.xlsx"]
    assert (ran.deleted, ran.left_behind) == (("old.txt",), ("large.bin",))
    assert not list(runner.folder.parent.glob("**/sandboxes/workbench-*"))


async def test_checks_are_tried_without_and_with_a_right_result(runner: Runner) -> None:
    (sheet,) = (await commands(runner)(RunOnWorkbench(command=MAKE_SHEET))).files
    try_checks = TryTaskChecks(
        clean_sandboxes=runner.clean_sandboxes(),
        check=CheckTask(find_pattern=find_pattern, seconds=20.0),
        places=asyncio.Semaphore(2),
    )
    checks = (FileCheck(path="sheet.xlsx"), READ_SHEET, CommandCheck(command="true"))

    tried = await try_checks(TryChecks(checks=checks, reference=Reference(files=(sheet,))))

    assert [result.passed for result in tried.on_inputs] == [False, False, True]
    assert [result.passed for result in tried.on_reference] == [True, True, True]


@pytest.mark.parametrize("path", ["../x", "/etc/x", ".."])
async def test_no_file_leaves_its_folder(path: str, runner: Runner) -> None:
    with pytest.raises(ProblemError, match="plain relative path"):
        await commands(runner)(
            RunOnWorkbench(files=(TaskFile(path=path, content="x"),), command="true")
        )


async def test_no_sandbox_is_said_so_that_another_runner_can_be_asked(runner: Runner) -> None:
    away = Runner(FakeProvider(unavailable="User namespaces are switched off."), runner.folder)

    with pytest.raises(ProblemError, match="User namespaces") as refused:
        await commands(away)(RunOnWorkbench(command="true"))

    assert refused.value.problem.code == "SERVICE_UNAVAILABLE"
