"""The `assay` command against a running stack: a skill from upload to its end, as one types it."""

import asyncio
import json
import os
import sys
import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import pytest_asyncio

from assay_cli.embedded.data import Running
from assay_cli.embedded.stack import Stack
from assay_testkit.servers import private_folder

pytestmark = pytest.mark.asyncio(loop_scope="module")

EXAMPLES = Path(__file__).parents[2] / "examples/skills"
ASSAY = Path(sys.executable).parent / "assay"


class Shell:
    """A user on the machine that the stack runs on."""

    def __init__(self, home: Path) -> None:
        self.home = home

    async def __call__(self, *words: str | Path, expect: int = 0) -> CompletedProcess[str]:
        process = await asyncio.create_subprocess_exec(
            ASSAY,
            *map(str, words),
            cwd=self.home,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode is not None
        done = CompletedProcess(words, process.returncode, out.decode(), err.decode())
        assert done.returncode == expect, f"{words}: {done.stdout}{done.stderr}"
        return done


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def assay() -> AsyncIterator[Shell]:
    with private_folder() as folder:
        home = folder / "home"
        home.mkdir()
        async with Stack(home / ".local/share/assay") as stack:
            stack.data.announce(Running(stack.url, stack.admin_token))
            yield Shell(home)


@pytest.mark.timeout(400)  # two dozen commands, each a process, on a machine that may be busy
async def test_a_skill_from_upload_to_its_end(assay: Shell) -> None:
    running = json.loads((assay.home / ".local/share/assay/running.json").read_text())
    await assay("config", "set", "url", running["url"])
    await assay("config", "set", "token", running["token"])
    await assay(
        *("validate", EXAMPLES / "csv-analyzer", "--junit", "junit.xml", "--summary", "page.md")
    )
    assert "csv\\-analyzer: passed" in (assay.home / "page.md").read_text()
    suites = ET.parse(assay.home / "junit.xml").getroot()  # noqa: S314  # our own
    assert len(list(suites.iter("testcase"))) >= 3
    assert not list(suites.iter("failure"))

    # From here on the stack on this machine is found without being told.
    await assay("config", "unset", "url")
    listed = (await assay("skills", "list", "--status", "pending")).stdout
    assert "csv-analyzer" in listed
    assert "passed" in (await assay("skills", "show", "csv-analyzer")).stdout
    assert "PASSED" in (await assay("report", "csv-analyzer")).stdout
    assert (await assay("report", "csv-analyzer", "-f", "markdown")).stdout.startswith("# ")
    assert "<html" in (await assay("report", "csv-analyzer", "-f", "html")).stdout

    await assay("skills", "approve", "csv-analyzer")
    refused = await assay("skills", "approve", "csv-analyzer", expect=2)
    assert refused.stderr.startswith("assay: INVALID_STATUS_TRANSITION: ")

    tested = await assay("full-test", "start", "--wait", "--json")
    (skill,) = json.loads(tested.stdout)["skills"]
    assert (skill["skill_name"], skill["tasks"], skill["verdict"]) == ("csv-analyzer", 5, "passed")

    unsure = await assay("images", "rollback", "v1.0", expect=2)
    assert "Hidden from agents: csv-analyzer" in unsure.stderr
    await assay("images", "rollback", "v1.0", "--yes")
    assert "rollback_pending" in (await assay("skills", "list")).stdout
    await assay("skills", "revalidate", "csv-analyzer", "--wait")
    await assay("skills", "reject", "csv-analyzer", "--reason", "No longer wanted.")
    await assay("skills", "delete", "csv-analyzer", "--yes")
    assert "csv-analyzer" not in (await assay("skills", "list")).stdout

    kinds = [
        "skill.uploaded",
        "validation.completed",
        "skill.approved",
        "runtime.promoted",
        "validation.completed",
        "full-test.completed",
        "runtime.rolled-back",
        "validation.completed",
        "skill.rejected",
        "skill.deleted",
    ]
    events = await assay("events", "--since", "0", "--count", str(len(kinds)), "--json")
    told = [json.loads(line) for line in events.stdout.splitlines()]
    assert sorted(each["type"] for each in told) == sorted(kinds)
    assert [each["id"] for each in told] == sorted((each["id"] for each in told), key=int)


async def test_a_bad_skill_is_refused_with_every_reason(assay: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "Bad_Name"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: Bad_Name\n---\n")
    url = json.loads((assay.home / ".local/share/assay/running.json").read_text())
    refused = await assay(
        *("validate", folder, "--url", url["url"], "--token", url["token"]), expect=2
    )
    assert refused.stderr.count("\nerror: ") >= 2
