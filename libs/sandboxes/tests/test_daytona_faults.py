"""What the Daytona provider does when Daytona does what it does."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from assay_contracts.runs import NetworkMode
from assay_sandboxes.conformance.under_test import LIMITS, ProviderUnderTest
from assay_sandboxes.daytona.provider import DaytonaProvider
from assay_sandboxes.port import Environment, NotOffline, SandboxUnavailable
from assay_sandboxes.remote.retries import RetryPolicy
from assay_testkit.daytona.double import DaytonaDouble
from assay_testkit.daytona.provider import providing
from assay_testkit.daytona.resources import Faults
from assay_testkit.waiting import until


async def test_an_answer_lost_after_a_command_does_not_run_it_twice(
    double: DaytonaDouble, daytona: ProviderUnderTest
) -> None:
    async with daytona.open() as sandbox:
        double.faults = Faults(exec_answer_lost=0.5, exec_fails=0.2)
        for number in range(10):
            await sandbox.execute(f"echo {number} >> log.txt")
        await sandbox.upload([("/workspace/in.txt", b"in")])
        (content,) = await sandbox.download(["/workspace/log.txt"])
        double.faults = Faults()
    assert content == b"".join(b"%d\n" % number for number in range(10))


async def test_a_rate_limit_is_waited_out(
    double: DaytonaDouble, daytona: ProviderUnderTest
) -> None:
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
    double: DaytonaDouble, daytona: ProviderUnderTest
) -> None:
    environment = await daytona.environment()
    double.faults.snapshot_never_active = 1.0
    policy = RetryPolicy(first_pause=0.02, snapshot_patience=0.5)
    async with providing(double, policy=policy) as provider:
        with pytest.raises(SandboxUnavailable, match="still snapshotting"):
            async with provider.open(
                name="one", skills=daytona.skills, network="open", environment=environment
            ):
                pytest.fail("it was opened")
    assert double.snapshots == {}


async def test_a_snapshot_that_went_to_sleep_is_woken(
    double: DaytonaDouble, daytona: ProviderUnderTest
) -> None:
    environment = await daytona.environment()
    async with daytona.open(environment=environment):
        (kept,) = double.snapshots.values()
    kept.state = "inactive"
    async with daytona.open(environment=environment) as sandbox:
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
    double: DaytonaDouble, daytona: ProviderUnderTest
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


async def test_a_sweep_takes_snapshots_past_their_time(
    double: DaytonaDouble, daytona: ProviderUnderTest
) -> None:
    environment = await daytona.environment()
    async with providing(double, snapshot_ttl=timedelta(0)) as provider:
        async with provider.open(
            name="one", skills=daytona.skills, network="open", environment=environment
        ):
            pass
        assert await provider.sweep() == [f"env-{environment.digest}"]
    assert double.snapshots == {}


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
            await one.execute("sleep 60")
    await asyncio.gather(*(use(number) for number in range(6)))

asyncio.run(main(*sys.argv[1:]))
"""


async def one_run(provider: DaytonaProvider, base: Environment, skills: Path, number: int) -> str:
    """A small run, some of them in an environment; says how it ended."""
    network: NetworkMode = "open" if number % 2 else "blocked"
    environment = replace(base, digest=f"{number:064}") if number % 10 == 1 else None
    try:
        async with provider.open(
            name=f"run-{number}",
            skills=skills,
            network=network,
            environment=environment,
            limits=LIMITS,
        ) as sandbox:
            assert network == "open" or "Blocked by Daytona" in sandbox.proof().proof
            result = await sandbox.execute(f"echo {number} >> out; cat out")
            assert result.stdout == f"{number}\n"
            calls = await sandbox.network_calls()
            assert calls == []
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
    double: DaytonaDouble, daytona: ProviderUnderTest
) -> None:
    environment, skills = await daytona.environment(), daytona.skills
    chance = random.Random(7)  # noqa: S311 - the same moments each time
    async with providing(double, most=16, snapshot_ttl=timedelta(0)) as provider:
        await killed_runner(double, skills)
        assert double.sandboxes
        double.faults = EVERYTHING
        ended: Counter[str] = Counter()
        slots = asyncio.Semaphore(24)

        async def carry_out(number: int) -> None:
            async with slots:
                task = asyncio.create_task(one_run(provider, environment, skills, number))
                patience = chance.uniform(0.0, 2.0) if number % 7 == 0 else None
                await asyncio.wait([task], timeout=patience)
                task.cancel()
                ended[await task] += 1

        await asyncio.gather(*(carry_out(number) for number in range(RUNS)))
        double.faults = Faults()
        while await provider.sweep():
            pass
        await until(lambda: not double.sandboxes, why="every sandbox is destroyed")
    assert ended.total() == RUNS
    assert ended["finished"] > RUNS / 2
    assert ended["not offline"] > 0
    assert ended["cancelled"] > 0
    assert double.snapshots == {}
