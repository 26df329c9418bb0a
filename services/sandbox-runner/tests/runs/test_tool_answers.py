"""What agents hear from their tools, through a provider's real client and a real sandbox."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pydantic import SecretStr

from assay_agentkit.models import ModelSettings, open_provider_model
from assay_rehearsal.conversation import Reply, ToolUse, Turn
from assay_rehearsal.model import RehearsalModel
from assay_sandbox_runner.adapters.deepagents_backend import OUTPUT_BYTES
from assay_sandbox_runner.adapters.executor import DeepAgentsForRun
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandbox_runner.domain.work_done import WorkDone
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.port import Limits, Sandbox
from assay_testkit.documents import office, pdf, png
from assay_testkit.models import (
    Answer,
    ModelServer,
    calls_tool,
    running_model_server,
    says,
    tool_results,
)
from assay_testkit.runner import a_task

pytestmark = pytest.mark.asyncio(loop_scope="module")

FOLDER = "/workspace/tasks/t1"
MINUTES = (
    '<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>Ann pays.</w:t></w:r></w:p></w:body>'
    "</w:document>"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox(provider: BubblewrapProvider, skills: Path) -> AsyncIterator[Sandbox]:
    async with provider.open(
        name="test", skills=skills, network="blocked", limits=Limits(output_bytes=OUTPUT_BYTES)
    ) as sandbox:
        await sandbox.execute(f"mkdir -p {FOLDER}")
        yield sandbox


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with running_model_server() as server:
        yield server


async def worked(agents: DeepAgentsForRun, sandbox: Sandbox) -> WorkDone:
    return await agents(Stopwatch()).work_on(
        a_task(), sandbox=sandbox, folder=FOLDER, skills=(), seconds=60, tokens=None
    )


@pytest.mark.parametrize(
    ("name", "content", "heard"),
    [
        ("a.pdf", pdf("The mean is 4.2"), ("[pdf: 1 page, ", "The mean is 4.2")),
        ("no-suffix", png(640, 480), ("[image: PNG, 640 × 480 pixels",)),
        ("a.docx", office({"word/document.xml": MINUTES}), ("[docx: 1 paragraphs", "Ann pays.")),
        ("a.png", png(640, 480), ("[image: PNG, 640 × 480 pixels", "there is no text to show]")),
        ("a.bin", bytes(range(256)), ("[binary: no text (bin), 256 bytes",)),
        ("big.png", png(64, 48) + b"\0" * 600_000, ("[image: PNG, 64 × 48 pixels",)),
        ("huge.pdf", pdf("x") + b"\0" * 21 * 1024**2, ("too large to be read here",)),
        ("empty.pdf", b"", ("empty contents",)),
    ],
)
async def test_no_file_and_no_image_ever_goes_into_a_tools_answer(
    name: str,
    content: bytes,
    heard: tuple[str, ...],
    sandbox: Sandbox,
    model_server: ModelServer,
) -> None:
    await sandbox.upload([(f"{FOLDER}/{name}", content)])

    def reads(request: dict[str, Any]) -> Answer:
        if not tool_results(request):
            return calls_tool("read_file", {"file_path": f"{FOLDER}/{name}"})
        return says("Read.")

    model_server.script = reads
    settings = ModelSettings(
        model_base_url=model_server.url, model_api_key=SecretStr("x"), model_max_retries=0
    )
    model = open_provider_model("openai:test-model", settings=settings)
    work = await worked(DeepAgentsForRun(model=model, label="m", model_calls=5), sandbox)

    assert work.answer == "Read."
    (step,) = work.steps
    for words in heard:
        assert words in step.output
        assert words in tool_results(model_server.requests[-1])[0]
    (read_file,) = (
        tool["function"]
        for tool in model_server.requests[0]["tools"]
        if tool["function"]["name"] == "read_file"
    )
    assert "multimodal" not in read_file["description"]


async def test_the_calls_of_one_turn_are_carried_out_in_their_order(sandbox: Sandbox) -> None:
    path = f"{FOLDER}/made.txt"

    def policy(turn: Turn) -> Reply:
        if turn.number:
            return Reply("Done.")
        return Reply(
            calls=(
                ToolUse("execute", {"command": "rm -f *.txt; sleep 0.3; echo one > made.txt"}),
                ToolUse("read_file", {"file_path": path}),
                ToolUse("edit_file", {"file_path": path, "old_string": "one", "new_string": "two"}),
                ToolUse("execute", {"command": "cat made.txt; sleep 0.1; echo three > b.txt"}),
                ToolUse("read_file", {"file_path": f"{FOLDER}/b.txt"}),
            )
        )

    model = RehearsalModel(policy=policy)
    for _ in range(5):
        work = await worked(DeepAgentsForRun(model=model, label="m", model_calls=5), sandbox)
        assert [step.failed for step in work.steps] == [False] * 5
        assert "one" in work.steps[1].output
        assert work.steps[3].output.startswith("two")
        assert "three" in work.steps[4].output
    begun = [step.at for step in work.steps]
    assert begun == sorted(begun)


async def test_a_file_is_created_once_and_then_updated(sandbox: Sandbox) -> None:
    path = f"{FOLDER}/new.txt"

    def policy(turn: Turn) -> Reply:
        places = (path, path, "/proc/new.txt")
        if turn.number == len(places):
            return Reply("Done.")
        where = {"file_path": places[turn.number], "content": "x"}
        return Reply(calls=(ToolUse("write_file", where),))

    agents = DeepAgentsForRun(model=RehearsalModel(policy=policy), label="m", model_calls=5)
    created, updated, refused = (await worked(agents, sandbox)).steps
    assert created.output == f"Created file {path}"
    assert updated.output == f"Updated file {path}"
    assert refused.failed


async def test_tasks_of_one_run_do_not_wait_for_each_other(sandbox: Sandbox) -> None:
    def policy(turn: Turn) -> Reply:
        return Reply("Done.") if turn.number else Reply(calls=(waiting,))

    both_here = "[ $(ls here-* | wc -l) -ge 2 ] && exit 0"
    command = f"touch here-$$; for i in 1 2 3 4 5 6 7 8 9; do {both_here}; sleep 0.3; done; exit 1"
    waiting = ToolUse("execute", {"command": command})
    agents = DeepAgentsForRun(model=RehearsalModel(policy=policy), label="m", model_calls=5)
    both = await asyncio.gather(worked(agents, sandbox), worked(agents, sandbox))
    assert [work.steps[0].exit_code for work in both] == [0, 0]
