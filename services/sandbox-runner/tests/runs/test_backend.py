"""deepagents' file tools and commands on a real sandbox, with not one thread taken."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest
import pytest_asyncio
from typing_extensions import override

from assay_rehearsal.conversation import Reply, ToolUse, Turn
from assay_rehearsal.model import RehearsalModel
from assay_sandbox_runner.adapters.deepagents_backend import OUTPUT_BYTES, SandboxBackend
from assay_sandbox_runner.adapters.executor import DeepAgentsForRun
from assay_sandbox_runner.adapters.shared_installations import SharedInstallations
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.fake.provider import FakeProvider
from assay_sandboxes.port import Limits, Sandbox, SandboxUnavailable
from assay_testkit.runner import a_task

# One sandbox for all tests, which lives in one event loop with them.
pytestmark = pytest.mark.asyncio(loop_scope="module")

FOLDER = "/workspace/tasks/t1"


class NoThreads(ThreadPoolExecutor):
    """A loop's default pool that refuses every job."""

    @override
    def submit(self, *_: object, **__: object) -> NoReturn:
        raise AssertionError("a call took a thread")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_sandbox(provider: BubblewrapProvider, skills: Path) -> AsyncIterator[Sandbox]:
    async with provider.open(
        name="test", skills=skills, network="blocked", limits=Limits(output_bytes=OUTPUT_BYTES)
    ) as sandbox:
        yield sandbox


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox(shared_sandbox: Sandbox) -> Sandbox:
    """With an empty task folder."""
    await shared_sandbox.execute(f"rm -rf {FOLDER}; mkdir -p {FOLDER}")
    return shared_sandbox


@pytest_asyncio.fixture(loop_scope="module")
async def backend(sandbox: Sandbox) -> AsyncIterator[SandboxBackend]:
    loop = asyncio.get_running_loop()
    loop.set_default_executor(NoThreads())
    yield SandboxBackend(
        sandbox, folder=FOLDER, stopwatch=Stopwatch(), installations=SharedInstallations()
    )
    loop.set_default_executor(ThreadPoolExecutor())


async def test_file_tools(backend: SandboxBackend) -> None:
    path = f"{FOLDER}/notes/a.txt"

    assert (await backend.awrite(path, "one\ntwo\n")).error is None
    assert (await backend.aedit(path, "two", "three")).occurrences == 1
    read = await backend.aread(path)
    assert read.file_data is not None
    assert read.file_data["content"] == "one\nthree"
    assert [entry["path"] for entry in (await backend.als(f"{FOLDER}/notes")).entries or []] == [
        path
    ]
    assert [match["path"] for match in (await backend.aglob("*.txt")).matches or []] == [path]
    found = (await backend.agrep("three")).matches or []
    assert [(match["path"], match["line"]) for match in found] == [(path, 2)]
    assert (await backend.adelete(path)).error is None
    assert (await backend.adelete(path)).error == f"Error: '{path}' not found"
    (gone,) = await backend.adownload_files([path])
    assert gone.error == "file_not_found"


async def test_large_edit(backend: SandboxBackend) -> None:
    path = f"{FOLDER}/big.txt"
    old, new = "a" * 60_000, "b" * 60_000

    await backend.awrite(path, f"<{old}>")

    assert (await backend.aedit(path, old, new)).occurrences == 1
    (content,) = await backend.adownload_files([path])
    assert content.content == f"<{new}>".encode()


async def test_large_file_is_read_whole(backend: SandboxBackend) -> None:
    path = f"{FOLDER}/long.txt"
    lines = [f"line {number} {'x' * 80}" for number in range(2000)]
    await backend.awrite(path, "\n".join(lines))

    read = await backend.aread(path, limit=2000)

    assert read.error is None
    assert read.file_data is not None
    assert read.file_data["content"].splitlines() == lines


async def test_skills_cannot_be_changed(backend: SandboxBackend) -> None:
    path = "/workspace/skills/greeter/SKILL.md"

    assert (await backend.awrite(path, "changed")).error is not None
    read = await backend.aread(path)
    assert read.file_data is not None
    assert read.file_data["content"] == "# Greeter"


async def test_modules_in_the_task_folder_do_not_get_into_file_tools(
    backend: SandboxBackend,
) -> None:
    for module in ("json", "codecs", "fnmatch", "base64"):
        await backend.awrite(f"{FOLDER}/{module}.py", "raise SystemExit('gotcha')")
    read = await backend.aread(f"{FOLDER}/json.py")
    assert read.file_data is not None
    assert "gotcha" in read.file_data["content"]
    found = await backend.aglob("*.py")
    assert len(found.matches or ()) == 4
    listed = await backend.als(FOLDER)
    assert len(listed.entries or ()) == 4


async def test_commands_run_in_the_task_folder(backend: SandboxBackend) -> None:
    result = await backend.aexecute("pwd; echo oops >&2; exit 3")

    assert result.output == f"{FOLDER}\noops\n"
    assert result.exit_code == 3


async def test_command_that_takes_too_long_says_so(backend: SandboxBackend) -> None:
    result = await backend.aexecute_with_offload("sleep 60", "", max_inline_bytes=0, timeout=1)

    assert result.response.exit_code == 124
    assert "killed: it had not ended after 1 s" in result.response.output


async def test_lost_sandbox_is_remembered() -> None:
    provider = FakeProvider()
    async with provider.open(name="x", skills=Path(), network="blocked") as sandbox:
        backend = SandboxBackend(
            sandbox, folder=FOLDER, stopwatch=Stopwatch(), installations=SharedInstallations()
        )

        with pytest.raises(SandboxUnavailable):
            await backend.aexecute("vanish")

    assert isinstance(backend.lost, SandboxUnavailable)


async def test_blocking_calls_are_refused() -> None:
    with pytest.raises(RuntimeError, match="asynchronous"):
        SandboxBackend.execute(object.__new__(SandboxBackend), "true")


async def test_agent_has_tools_for_the_sandbox_and_no_helper(sandbox: Sandbox) -> None:
    offered: set[str] = set()

    def policy(turn: Turn) -> Reply:
        offered.update(turn.tools)
        if turn.number:
            return Reply("Done.")
        return Reply(
            calls=(
                ToolUse("write_file", {"file_path": f"{FOLDER}/a.txt", "content": "x"}),
                ToolUse("grep", {"pattern": "x"}),
                ToolUse("execute", {"command": "cat a.txt"}),
                ToolUse("no_such_tool", {}),
            )
        )

    agents = DeepAgentsForRun(model=RehearsalModel(policy=policy), label="m", model_calls=5)
    work = await agents(Stopwatch()).work_on(
        a_task(), sandbox=sandbox, folder=FOLDER, skills=(), seconds=30, tokens=None
    )

    assert work.answer == "Done."
    assert [(step.tool, step.failed) for step in work.steps] == [
        ("write_file", False),
        ("grep", False),
        ("execute", False),
        ("no_such_tool", True),
    ]
    assert "task" not in offered
    assert {"execute", "read_file", "write_file", "edit_file", "ls", "glob", "grep"} <= offered
