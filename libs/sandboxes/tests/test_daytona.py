"""What the Daytona adapter does when Daytona does what it does."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from assay_contracts.runs import NetworkMode
from assay_sandboxes.conformance.under_test import LIMITS, Kit, python
from assay_sandboxes.daytona.provider import DaytonaProvider
from assay_sandboxes.port import NotOffline, SandboxUnavailable
from assay_sandboxes.remote.call_log import AskedCommand, calls_of, parse_log
from assay_sandboxes.remote.lease_owner import LeaseOwner
from assay_sandboxes.remote.retries import RetryPolicy
from assay_testkit.daytona.double import (
    DaytonaDouble,
    provider_for,
)
from assay_testkit.daytona.resources import Faults


@asynccontextmanager
async def providing(double: DaytonaDouble, **options: object) -> AsyncIterator[DaytonaProvider]:
    provider = provider_for(double, **options)  # type: ignore[arg-type]
    try:
        yield provider
    finally:
        await provider.close()


async def nothing_left(double: DaytonaDouble, seconds: float = 10.0) -> None:
    """Wait until what was asked to be destroyed is."""
    deadline = time.monotonic() + seconds
    while double.sandboxes and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    assert double.sandboxes == {}


# What is asked for -------------------------------------------------------------------------------


async def test_a_sandbox_is_asked_for_on_terms_that_end_it(
    double: DaytonaDouble, daytona: Kit
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


async def test_an_open_network_is_asked_for_as_such(double: DaytonaDouble, daytona: Kit) -> None:
    async with daytona.open("open"):
        (held,) = double.sandboxes.values()
    assert held.params["networkBlockAll"] is False


async def test_skills_go_there_in_one_transfer_and_only_if_they_are_not_there(
    double: DaytonaDouble, daytona: Kit
) -> None:
    (daytona.skills / "greeter" / "manual.txt").write_bytes(os.urandom(500_000))
    async with daytona.open() as sandbox:
        (first,) = double.uploaded
        await sandbox.snapshot("candidate")
    async with daytona.open(base="candidate"):
        second = double.uploaded[-1]
    assert first > 500_000
    assert second < 50_000


async def test_a_skill_that_was_tampered_with_in_a_snapshot_is_sent_again(
    double: DaytonaDouble, daytona: Kit
) -> None:
    async with daytona.open() as sandbox:
        await sandbox.snapshot("candidate")
    (kept,) = double.snapshots.values()
    manual = kept.files.path / "workspace" / "skills" / "greeter" / "SKILL.md"
    manual.chmod(0o644)
    manual.write_text("do evil")
    async with daytona.open(base="candidate") as sandbox:
        assert (await sandbox.execute("cat skills/greeter/SKILL.md")).stdout == "# Greeter\n"


async def test_what_a_run_left_lying_about_is_not_in_the_snapshot(
    double: DaytonaDouble, daytona: Kit
) -> None:
    async with daytona.open() as sandbox:
        await sandbox.execute("echo x > /workspace/answer; echo x > /tmp/scrap; echo x > ~/kept")
        await sandbox.snapshot("candidate")
    (kept,) = double.snapshots.values()
    assert [path.name for path in (kept.files.path / "workspace").iterdir()] == ["skills"]
    assert list((kept.files.path / "tmp").iterdir()) == []
    assert list((kept.files.path / "opt" / "assay" / "runs").iterdir()) == []
    assert (kept.files.path / "home" / "agent" / "kept").exists()


async def test_commands_cannot_gain_rights(daytona: Kit) -> None:
    async with daytona.open("open") as sandbox:
        status = (await sandbox.execute("cat /proc/self/status")).stdout
        assert "NoNewPrivs:\t1" in status
        assert (await sandbox.execute("chmod u+w skills/greeter/SKILL.md")).exit_code != 0 or (
            "rights alone" in sandbox.proof().proof
        )


async def test_a_server_left_running_serves_the_next_command(daytona: Kit) -> None:
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


async def test_a_long_command_does_not_have_to_fit_into_a_command_line(daytona: Kit) -> None:
    async with daytona.open() as sandbox:
        result = await sandbox.execute(f": {'x' * 100_000}; echo done")
    assert result.stdout == "done\n"


# Proof -------------------------------------------------------------------------------------------


async def test_a_block_that_is_ignored_is_found_out(double: DaytonaDouble, daytona: Kit) -> None:
    double.faults.block_ignored = 1.0
    with pytest.raises(NotOffline, match=r"look up canary\.example: resolved"):
        async with daytona.open("blocked"):
            pytest.fail("it was opened")
    await nothing_left(double)


async def test_the_proof_says_what_was_tried_and_how_calls_are_observed(daytona: Kit) -> None:
    async with daytona.open("blocked") as sandbox:
        proof = sandbox.proof()
    assert "connect to 1.1.1.1 port 53: ENETUNREACH" in proof.proof
    assert "system call filter" in proof.observation


async def test_what_is_not_measured_is_not_zero(daytona: Kit, double: DaytonaDouble) -> None:
    async with daytona.open("blocked") as sandbox:
        await sandbox.execute("echo quiet")
        assert await sandbox.network_calls() == []
        (held,) = double.sandboxes.values()
        for log in (held.machine.files.path / "opt" / "assay" / "runs").glob("*/calls"):
            log.unlink()
        with pytest.raises(SandboxUnavailable, match="not measured"):
            await sandbox.network_calls()


async def test_where_the_kernel_gives_no_listener_strace_watches(
    daytona: Kit, double: DaytonaDouble
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


async def test_where_nothing_can_watch_there_is_no_run(daytona: Kit, double: DaytonaDouble) -> None:
    double.lacks |= {"seccomp", "strace"}
    with pytest.raises(SandboxUnavailable, match="cannot be counted"):
        async with daytona.open("blocked"):
            pytest.fail("it was opened")
    async with daytona.open("open") as sandbox:
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"


# Faults, one by one ------------------------------------------------------------------------------


async def test_an_answer_lost_after_a_command_does_not_run_it_twice(
    double: DaytonaDouble, daytona: Kit
) -> None:
    async with daytona.open() as sandbox:
        double.faults = Faults(exec_answer_lost=0.5, exec_fails=0.2)
        for number in range(10):
            await sandbox.execute(f"echo {number} >> log.txt")
        await sandbox.upload([("/workspace/in.txt", b"in")])
        (content,) = await sandbox.download(["/workspace/log.txt"])
        double.faults = Faults()
    assert content == b"".join(b"%d\n" % number for number in range(10))


async def test_a_rate_limit_is_waited_out(double: DaytonaDouble, daytona: Kit) -> None:
    double.faults.create_rate_limited = 0.8
    async with daytona.open() as sandbox:
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"
    assert double.counts["create"] > 1


async def test_a_wrong_key_is_refused_at_once(double: DaytonaDouble, skills: Path) -> None:
    async with providing(double) as provider:
        provider._account = provider._account.__class__(api_key="wrong", api_url=double.api_url)
        began = time.monotonic()
        with pytest.raises(SandboxUnavailable, match="refuses"):
            async with provider.open(name="one", skills=skills, network="open"):
                pytest.fail("it was opened")
    assert time.monotonic() - began < 5


async def test_a_quota_that_stays_full_is_given_up(double: DaytonaDouble, skills: Path) -> None:
    double.faults.create_over_quota = 1.0
    policy = RetryPolicy(first_pause=0.05, create_patience=0.5, request_patience=1.0)
    async with providing(double, policy=policy) as provider:
        with pytest.raises(SandboxUnavailable, match="CPU limit exceeded"):
            async with provider.open(name="one", skills=skills, network="open"):
                pytest.fail("it was opened")


async def test_a_snapshot_that_never_becomes_active_is_deleted(
    double: DaytonaDouble, skills: Path
) -> None:
    double.faults.snapshot_never_active = 1.0
    policy = RetryPolicy(first_pause=0.02, snapshot_patience=0.5)
    async with (
        providing(double, policy=policy) as provider,
        provider.open(name="one", skills=skills, network="open") as sandbox,
    ):
        with pytest.raises(SandboxUnavailable, match="still snapshotting"):
            await sandbox.snapshot("candidate")
    assert double.snapshots == {}


async def test_a_snapshot_that_went_to_sleep_is_woken(double: DaytonaDouble, daytona: Kit) -> None:
    async with daytona.open() as sandbox:
        await sandbox.snapshot("candidate")
    (kept,) = double.snapshots.values()
    kept.state = "inactive"
    async with daytona.open(base="candidate") as sandbox:
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"


async def test_no_more_sandboxes_exist_at_once_than_may(
    double: DaytonaDouble, skills: Path
) -> None:
    double.faults = Faults(create_fails=0.2, create_answer_lost=0.2, delete_fails=0.3)
    async with providing(double, most=3) as provider:

        async def use() -> None:
            async with provider.open(name="one", skills=skills, network="open"):
                pass

        await asyncio.gather(*(use() for _ in range(10)))
    assert double.most_at_once == 3


async def test_a_sweep_takes_what_has_expired_whoever_owns_it(
    double: DaytonaDouble, daytona: Kit
) -> None:
    async with daytona.open("open") as sandbox:
        (held,) = double.sandboxes.values()
        assert await daytona.provider.sweep() == []
        other = DaytonaDouble._make  # a sandbox made by somebody on another machine
        params = {"name": "assay-other", "labels": {**held.labels, "assay-owner": "there.1.1"}}
        stranger = await other(double, params)
        while stranger.state != "started":
            await asyncio.sleep(0.01)
        assert await daytona.provider.sweep() == []
        stranger.labels["assay-expires"] = "1"
        assert await daytona.provider.sweep() == ["assay-other"]
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"


async def test_a_sweep_takes_snapshots_past_their_time(double: DaytonaDouble, skills: Path) -> None:
    async with providing(double, snapshot_ttl=timedelta(0)) as provider:
        async with provider.open(name="one", skills=skills, network="open") as sandbox:
            await sandbox.snapshot("candidate")
        assert await provider.sweep() == ["candidate"]
    assert double.snapshots == {}


async def test_a_kept_snapshot_outlives_its_time_until_it_is_deleted(
    double: DaytonaDouble, skills: Path
) -> None:
    async with providing(double, snapshot_ttl=timedelta(0)) as provider:
        async with provider.open(name="one", skills=skills, network="open") as sandbox:
            await sandbox.snapshot("candidate")
        for _ in range(2):
            await provider.keep_snapshot("candidate")
        assert await provider.sweep() == ["candidate"]
        async with provider.open(name="two", skills=skills, network="open", base="candidate"):
            pass
        await provider.delete_snapshot("candidate")
    assert double.snapshots == {}


# Faults, all together ----------------------------------------------------------------------------

RUNS = 200
EVERYTHING = Faults(
    create_fails=0.3,
    create_answer_lost=0.05,
    create_late=0.03,
    create_rate_limited=0.1,
    create_over_quota=0.05,
    start_fails=0.05,
    exec_fails=0.05,
    exec_answer_lost=0.03,
    delete_fails=0.2,
    delete_conflicts=0.1,
    block_ignored=0.05,
    snapshot_never_active=0.1,
    snapshot_fails=0.1,
    snapshot_answer_lost=0.1,
)
HOLDER = """
import asyncio, sys
from datetime import timedelta
from pathlib import Path
from assay_sandboxes.daytona.provider import Account, DaytonaProvider
from assay_sandboxes.remote.retries import RetryPolicy
from assay_testkit.daytona.double import KEY

async def main(url, skills):
    account, policy = Account(api_key=KEY, api_url=url), RetryPolicy(first_pause=0.05)
    provider = DaytonaProvider(account, most=8, policy=policy)
    async def use(number):
        name = f"killed-{number}"
        async with provider.open(name=name, skills=Path(skills), network="open") as one:
            print("opened", flush=True)
            if number % 2:
                await one.snapshot(f"killed-{number}")
            await one.execute("sleep 60")
    await asyncio.gather(*(use(number) for number in range(6)))

asyncio.run(main(*sys.argv[1:]))
"""


async def one_run(provider: DaytonaProvider, skills: Path, number: int) -> str:
    """A small run; says how it ended."""
    network: NetworkMode = "open" if number % 2 else "blocked"
    try:
        async with provider.open(
            name=f"run-{number}", skills=skills, network=network, limits=LIMITS
        ) as sandbox:
            assert network == "open" or "Blocked by Daytona" in sandbox.proof().proof
            result = await sandbox.execute(f"echo {number} >> out; cat out")
            assert result.stdout == f"{number}\n"
            calls = await sandbox.network_calls()
            assert calls == []
            if number % 10 == 1:
                await sandbox.snapshot(f"run-{number}")
    except NotOffline:
        return "not offline"
    except SandboxUnavailable:
        return "inconclusive"
    except asyncio.CancelledError:
        return "cancelled"
    return "finished"


async def killed_runner(double: DaytonaDouble, skills: Path) -> None:
    """A runner of its own that is killed while its sandboxes are at every stage."""
    holder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLDER, double.api_url, str(skills)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert holder.stdout is not None
    await asyncio.wait_for(holder.stdout.readline(), 30)
    holder.send_signal(signal.SIGKILL)
    await holder.wait()


@pytest.mark.timeout(240)
async def test_whatever_fails_nothing_is_left_and_nothing_is_taken_for_proven(
    double: DaytonaDouble, skills: Path
) -> None:
    chance = random.Random(7)  # noqa: S311 - the same moments each time
    async with providing(double, most=16, snapshot_ttl=timedelta(0)) as provider:
        await killed_runner(double, skills)
        assert double.sandboxes
        double.faults = EVERYTHING
        ended: Counter[str] = Counter()
        slots = asyncio.Semaphore(24)

        async def carry_out(number: int) -> None:
            async with slots:
                task = asyncio.create_task(one_run(provider, skills, number))
                patience = chance.uniform(0.0, 2.0) if number % 7 == 0 else None
                await asyncio.wait([task], timeout=patience)
                task.cancel()
                ended[await task] += 1

        await asyncio.gather(*(carry_out(number) for number in range(RUNS)))
        double.faults = Faults()
        while await provider.sweep():
            pass
        await nothing_left(double)
    assert ended.total() == RUNS
    assert ended["finished"] > RUNS / 2
    assert ended["not offline"] > 0
    assert ended["cancelled"] > 0
    assert double.snapshots == {}


# Without a sandbox -------------------------------------------------------------------------------

COMMAND = AskedCommand("a command", "/workspace")


def log_of(*events: str) -> str:
    return "\n".join(('{"method": "seccomp"}', *events))


def destinations(*events: str) -> list[str]:
    return [call.destination for call in calls_of(parse_log(log_of(*events)), COMMAND, "here")]


def test_a_look_up_is_one_call_however_often_its_questions_are_sent() -> None:
    ask = '{"t": 1, "pid": 7, "fd": 3, "ask": "a.example", "kind": %d, "id": %d}'
    connect = '{"t": 1, "pid": 7, "fd": 3, "to": "10.0.0.2:53"}'
    assert destinations(connect, ask % (1, 5), ask % (28, 6)) == ["a.example"]
    assert destinations(connect, ask % (1, 5), ask % (28, 6), ask % (1, 5)) == ["a.example"]
    assert destinations(ask % (1, 5), ask % (1, 9)) == ["a.example"] * 2


def test_a_name_server_that_is_asked_nothing_is_a_place_like_any_other() -> None:
    assert destinations('{"t": 1, "pid": 7, "fd": 3, "to": "1.1.1.1:53"}') == ["1.1.1.1:53"]
    assert destinations('{"t": 1, "pid": 7, "fd": 3, "to": "127.0.0.11:53"}') == []


@pytest.mark.parametrize("text", ["", '{"t": 1}', log_of('{"lost": "no right to look"}')])
def test_a_log_that_is_not_whole_says_nothing(text: str) -> None:
    with pytest.raises(SandboxUnavailable, match="not measured"):
        parse_log(text)


def test_an_owner_is_dead_only_if_it_is_certain() -> None:
    this = LeaseOwner.this()
    assert LeaseOwner.parse(str(this)) == this
    assert not this.is_known_dead()
    assert LeaseOwner(this.place, this.pid, this.started + 1).is_known_dead()
    assert not LeaseOwner("elsewhere", this.pid, 1).is_known_dead()
    assert LeaseOwner.parse("nonsense") is None
