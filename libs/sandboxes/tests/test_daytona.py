"""What is asked of Daytona, and what is believed of it."""

import os
import shutil
import time
from pathlib import Path

import pytest

from assay_sandboxes.conformance.under_test import MADE_UP, REAL_SHELL, ProviderUnderTest, python
from assay_sandboxes.egress import EgressRules
from assay_sandboxes.port import NotOffline, SandboxUnavailable
from assay_sandboxes.remote.lease_owner import LeaseOwner
from assay_testkit.daytona.double import DaytonaDouble
from assay_testkit.daytona.provider import provider_for
from assay_testkit.waiting import until


async def test_a_sandbox_is_asked_for_on_terms_that_end_it(
    double: DaytonaDouble, daytona: ProviderUnderTest
) -> None:
    async with daytona.open("blocked", name="One Run.1"):
        (held,) = double.sandboxes.values()
    assert held.name.startswith("assay-one-run-1-")
    assert held.params["networkBlockAll"] is True
    assert held.params["autoDeleteInterval"] == 0
    assert held.params["ttlMinutes"] == held.params["autoStopInterval"] == 60
    assert held.labels["assay-namespace"] == "assay"
    assert LeaseOwner.parse(held.labels["assay-owner"]) == LeaseOwner.this()
    assert float(held.labels["assay-expires"]) > time.time()


async def test_an_open_network_is_asked_for_as_such(
    double: DaytonaDouble, daytona: ProviderUnderTest
) -> None:
    async with daytona.open("open"):
        (held,) = double.sandboxes.values()
    assert held.params["networkBlockAll"] is False
    assert not held.params.get("networkAllowList")


async def test_where_only_what_is_listed_may_be_reached_daytona_is_told_the_lists(
    double: DaytonaDouble, skills: Path
) -> None:
    rules = EgressRules.parsed(
        "10.1.0.0/16, git.example, *.lab.example, fd00::/8", only_listed=True
    )
    provider = provider_for(double, egress=rules)
    subject = ProviderUnderTest(provider, REAL_SHELL, skills)
    async with subject.open("open"):
        (held,) = double.sandboxes.values()
    async with subject.open("blocked"):
        (shut,) = double.sandboxes.values()
    await provider.close()
    assert held.params["networkAllowList"] == "10.1.0.0/16"
    assert held.params["domainAllowList"] == "git.example,lab.example"
    assert shut.params["networkBlockAll"] is True
    assert not shut.params.get("networkAllowList")


async def test_skills_go_there_in_one_transfer(
    double: DaytonaDouble, daytona: ProviderUnderTest
) -> None:
    (daytona.skills / "greeter" / "manual.txt").write_bytes(os.urandom(500_000))
    async with daytona.open():
        (only,) = double.uploaded
    assert only > 500_000


async def test_an_environment_is_laid_in_once_and_again_when_its_snapshot_is_gone(
    double: DaytonaDouble, daytona: ProviderUnderTest
) -> None:
    environment = await daytona.environment()
    for _ in range(2):
        async with daytona.open(environment=environment) as sandbox:
            assert MADE_UP in await sandbox.packages()
    (kept,) = double.snapshots.values()
    assert kept.name == f"assay-env-{environment.digest}"
    assert [path.name for path in (kept.files.path / "workspace").iterdir()] == ["skills"]
    assert list((kept.files.path / "tmp").iterdir()) == []
    double.snapshots.clear()
    async with daytona.open(environment=environment) as sandbox:
        assert MADE_UP in await sandbox.packages()


async def test_commands_cannot_gain_rights(daytona: ProviderUnderTest) -> None:
    async with daytona.open("open") as sandbox:
        status = (await sandbox.execute("cat /proc/self/status")).stdout
        assert "NoNewPrivs:\t1" in status
        assert (await sandbox.execute("chmod u+w skills/greeter/SKILL.md")).exit_code != 0 or (
            "rights alone" in sandbox.proof().proof
        )


async def test_a_server_left_running_serves_the_next_command(daytona: ProviderUnderTest) -> None:
    async with daytona.open() as sandbox:
        await sandbox.upload([("/workspace/page.txt", b"served")])
        await sandbox.execute("python3 -m http.server 8000 >/dev/null 2>&1 &")
        fetch = (
            "import time, urllib.request\n"
            "for attempt in range(100):\n"
            "    try: print(urllib.request.urlopen('http://127.0.0.1:8000/page.txt').read())\n"
            "    except OSError: time.sleep(0.1)\n"
            "    else: break"
        )
        assert (await sandbox.execute(python(fetch))).stdout == "b'served'\n"
        assert await sandbox.network_calls() == []


async def test_a_long_command_does_not_have_to_fit_into_a_command_line(
    daytona: ProviderUnderTest,
) -> None:
    async with daytona.open() as sandbox:
        result = await sandbox.execute(f": {'x' * 100_000}; echo done")
    assert result.stdout == "done\n"


async def test_a_block_that_is_ignored_is_found_out(
    double: DaytonaDouble, daytona: ProviderUnderTest
) -> None:
    double.faults.block_ignored = 1.0
    with pytest.raises(NotOffline, match=r"look up canary\.example: resolved"):
        async with daytona.open("blocked"):
            pytest.fail("it was opened")
    await until(lambda: not double.sandboxes, why="every sandbox is destroyed")


async def test_the_proof_says_what_was_tried_and_how_calls_are_observed(
    daytona: ProviderUnderTest,
) -> None:
    async with daytona.open("blocked") as sandbox:
        proof = sandbox.proof()
    assert "connect to 1.1.1.1 port 53: ENETUNREACH" in proof.proof
    assert "system call filter" in proof.observation


async def test_what_is_not_measured_is_not_zero(
    daytona: ProviderUnderTest, double: DaytonaDouble
) -> None:
    async with daytona.open("blocked") as sandbox:
        await sandbox.execute("echo quiet")
        assert await sandbox.network_calls() == []
        (held,) = double.sandboxes.values()
        for log in (held.machine.files.path / "opt" / "assay" / "runs").glob("*/calls"):
            log.unlink()
        with pytest.raises(SandboxUnavailable, match="not measured"):
            await sandbox.network_calls()


async def test_where_the_kernel_gives_no_listener_strace_watches(
    daytona: ProviderUnderTest, double: DaytonaDouble
) -> None:
    if shutil.which("strace") is None:
        pytest.skip("this machine has no strace")
    double.lacks.add("seccomp")
    async with daytona.open("blocked") as sandbox:
        assert "strace" in sandbox.proof().observation
        attempts = (
            "import socket\n"
            "for call in (lambda: socket.getaddrinfo('a.example', 80),\n"
            "             lambda: socket.create_connection(('192.0.2.1', 443), 1),\n"
            "             lambda: socket.create_connection(('127.0.0.1', 9), 1)):\n"
            "    try: call()\n"
            "    except OSError: pass"
        )
        assert (await sandbox.execute(python(attempts))).exit_code == 0
        calls = await sandbox.network_calls()
    assert [call.destination for call in calls] == ["a.example", "192.0.2.1:443"]


async def test_where_nothing_can_watch_there_is_no_run(
    daytona: ProviderUnderTest, double: DaytonaDouble
) -> None:
    double.lacks |= {"seccomp", "strace"}
    with pytest.raises(SandboxUnavailable, match="cannot be counted"):
        async with daytona.open("blocked"):
            pytest.fail("it was opened")
    async with daytona.open("open") as sandbox:
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"
