"""Processes are kept running, told of, stopped in order, and never left behind."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay_cli.embedded.process import Child, ProcessSpec, StartFailed
from assay_cli.embedded.supervisor import ProcessEvent, Supervisor, restart_delay_s
from assay_testkit.processes import has_ended
from assay_testkit.waiting import until

WAIT_S = 20.0


class Watched:
    """A supervisor with the events it told, in a form that can be waited on."""

    def __init__(self) -> None:
        self.events: list[ProcessEvent] = []
        self._changed = asyncio.Event()
        self.supervisor = Supervisor(self._hear)

    def _hear(self, event: ProcessEvent) -> None:
        self.events.append(event)
        self._changed.set()

    async def until(self, kind: str, times: int = 1) -> ProcessEvent:
        async with asyncio.timeout(WAIT_S):
            while len(found := [event for event in self.events if event.kind == kind]) < times:
                self._changed.clear()
                await self._changed.wait()
        return found[-1]


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    watched = Watched()
    yield watched
    await watched.supervisor.stop()


SpecMaker = Callable[..., ProcessSpec]


@pytest.fixture
def shell(tmp_path: Path) -> SpecMaker:
    def make(name: str, script: str, **changes: Any) -> ProcessSpec:
        spec = ProcessSpec(
            name=name,
            command=("sh", "-c", script),
            env={"PATH": os.environ["PATH"], "HERE": str(tmp_path)},
            log=tmp_path / f"{name}.log",
            ready=lambda _pid: (tmp_path / f"{name}.ready").exists(),
            stop_within_s=5.0,
        )
        return replace(spec, **changes)

    return make


async def test_a_process_that_dies_is_started_again_and_said_so(
    watched: Watched, shell: SpecMaker
) -> None:
    await watched.supervisor.start(shell("worker", "touch $HERE/worker.ready; exec sleep 600"))
    first = watched.supervisor.pid("worker")
    os.kill(first, signal.SIGKILL)
    await watched.until("ready_again")
    second = watched.supervisor.pid("worker")
    assert second != first
    os.kill(second, 0)
    assert [(event.process, event.kind) for event in watched.events] == [
        ("worker", "ready"),
        ("worker", "died"),
        ("worker", "ready_again"),
    ]
    assert "signal SIGKILL" in (await watched.until("died")).detail


async def test_a_process_that_keeps_dying_is_tried_again_and_again(
    watched: Watched, shell: SpecMaker, tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    await watched.supervisor.start(
        shell("flaky", "touch $HERE/flaky.ready; read line < $HERE/fifo; exit 3")
    )
    for death in (1, 2, 3):
        await asyncio.to_thread(fifo.write_text, "die\n")
        assert "exit code 3" in (await watched.until("died", death)).detail
        await watched.until("ready_again", death)


def test_the_wait_before_a_restart_grows_and_is_bounded() -> None:
    delays = [restart_delay_s(deaths) for deaths in range(1, 40)]
    assert delays == sorted(delays)
    assert delays[0] == pytest.approx(0.1)
    assert delays[-1] == pytest.approx(30)


async def test_what_a_dead_process_left_behind_is_killed_before_the_restart(
    watched: Watched, shell: SpecMaker, tmp_path: Path
) -> None:
    await watched.supervisor.start(
        shell("parent", "sleep 600 & echo $! > $HERE/parent.ready; wait")
    )
    left_behind = await until(
        lambda: (tmp_path / "parent.ready").read_text().strip(), why="its child is named"
    )
    descriptor = os.pidfd_open(int(left_behind))
    os.kill(watched.supervisor.pid("parent"), signal.SIGKILL)
    await watched.until("ready_again")
    assert has_ended(descriptor, 0)
    os.close(descriptor)


async def test_stopping_ends_later_groups_first_and_leaves_nothing(
    watched: Watched, shell: SpecMaker, tmp_path: Path
) -> None:
    script = 'trap "echo {0} >> $HERE/order; exit" TERM; touch $HERE/{0}.ready; sleep 600 & wait'
    for name in ("first", "second", "third"):
        await watched.supervisor.start(shell(name, script.format(name)))
    descriptors = [
        os.pidfd_open(watched.supervisor.pid(name)) for name in ("first", "second", "third")
    ]
    await watched.supervisor.stop()
    assert (tmp_path / "order").read_text().split() == ["third", "second", "first"]
    assert all(has_ended(descriptor, 0) for descriptor in descriptors)
    assert not any(event.kind == "died" for event in watched.events)


async def test_a_process_deaf_to_its_stop_signal_is_killed_with_its_children(
    watched: Watched, shell: SpecMaker, tmp_path: Path
) -> None:
    deaf = 'trap "" TERM; sleep 600 & echo $! > $HERE/pid; touch $HERE/deaf.ready; wait'
    await watched.supervisor.start(shell("deaf", deaf, stop_within_s=0.2))
    descriptors = [
        os.pidfd_open(watched.supervisor.pid("deaf")),
        os.pidfd_open(int((tmp_path / "pid").read_text())),
    ]
    await watched.supervisor.stop()
    assert all(has_ended(descriptor) for descriptor in descriptors)


async def test_a_process_that_ends_before_it_is_ready_fails_the_start_with_its_last_words(
    watched: Watched, shell: SpecMaker
) -> None:
    with pytest.raises(StartFailed, match=r"broken ended with exit code 4 .*: no such thing\. See"):
        await watched.supervisor.start(shell("broken", "echo no such thing >&2; exit 4"))


async def test_a_start_that_fails_calls_off_its_siblings(
    watched: Watched, shell: SpecMaker
) -> None:
    slow = shell("slow", "exec sleep 600")
    with pytest.raises(StartFailed, match="broken"):
        await watched.supervisor.start(slow, shell("broken", "exit 4"))
    descriptor = os.pidfd_open(watched.supervisor.pid("slow"))
    await watched.supervisor.stop()
    assert has_ended(descriptor, 0)


async def test_a_process_that_never_gets_ready_is_given_up_and_ended(
    watched: Watched, shell: SpecMaker
) -> None:
    with pytest.raises(StartFailed, match="slow was not ready after 0 s: still thinking"):
        await watched.supervisor.start(
            shell("slow", "echo still thinking; exec sleep 600", ready_within_s=0.3)
        )


async def test_a_command_that_does_not_exist_is_named(watched: Watched, shell: SpecMaker) -> None:
    with pytest.raises(StartFailed, match=r"ghost cannot be started: .*/no/such/program"):
        await watched.supervisor.start(shell("ghost", "", command=("/no/such/program",)))


def test_killing_the_supervisor_leaves_no_child(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import asyncio, sys
        from pathlib import Path
        from assay_cli.embedded.nats import NatsServer, new_passwords
        from assay_cli.embedded.ports import free_ports
        from assay_cli.embedded.postgres import PostgresServer
        from assay_cli.embedded.process import ProcessSpec
        from assay_cli.embedded.supervisor import Supervisor

        async def main(folder):
            nats = NatsServer(
                folder=folder / "nats", port=free_ports(1)[0], passwords=new_passwords()
            )
            postgres = PostgresServer(data=folder / "pg", sockets=folder / "s")
            postgres.initialise()
            supervisor = Supervisor(lambda _: None)
            deaf = ProcessSpec(
                name="deaf", command=("sh", "-c", "trap '' TERM; while :; do sleep 1; done"),
                env={}, log=folder / "deaf.log", ready=lambda _: True,
            )
            await supervisor.start(
                nats.process(folder / "nats.log"), postgres.process(folder / "pg.log"), deaf
            )
            print(*(supervisor.pid(name) for name in ("nats", "postgres", "deaf")), flush=True)
            await asyncio.Event().wait()

        asyncio.run(main(Path(sys.argv[1])))
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as supervisor:
        assert supervisor.stdout is not None
        pids = [int(word) for word in supervisor.stdout.readline().split()]
        assert len(pids) == 3
        descriptors = [os.pidfd_open(pid) for pid in pids]
        backends = Path(f"/proc/{pids[1]}/task/{pids[1]}/children").read_text().split()
        descriptors += [os.pidfd_open(int(pid)) for pid in backends]
        supervisor.kill()
    assert all(has_ended(descriptor) for descriptor in descriptors)


def test_waiting_without_an_event_loop(shell: SpecMaker) -> None:
    child = Child(shell("plain", "touch $HERE/plain.ready; exec sleep 600"))
    child.wait_ready()
    assert child.exit_code() is None
    child.stop()
    assert child.exit_code() == -signal.SIGTERM
    with pytest.raises(StartFailed, match="exit code 7"):
        Child(shell("gone", "exit 7")).wait_ready()
