"""What bubblewrap sandboxes keep in, keep out and leave behind."""

import asyncio
import gc
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from assay_contracts.runs import NetworkMode, Package
from assay_sandboxes.bubblewrap.host import layout
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.conformance.under_test import LIMITS, Kit, python
from assay_sandboxes.network_probe import Probe
from assay_sandboxes.port import FileError, NotOffline, Sandbox, SandboxUnavailable


@pytest.fixture(params=["open", "blocked"])
async def any_sandbox(request: pytest.FixtureRequest, bubblewrap: Kit) -> AsyncIterator[Sandbox]:
    network: NetworkMode = request.param
    async with bubblewrap.open(network) as sandbox:
        yield sandbox


HAS_DPKG = Path("/var/lib/dpkg/status").exists()


def processes_with(marker: str) -> list[int]:
    """The machine's processes that have `marker` in their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and marker.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def children_of(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]


def open_descriptors(pid: int | None = None) -> int:
    gc.collect()  # what other tests let go of
    return len(list(Path(f"/proc/{pid or os.getpid()}/fd").iterdir()))


def left_in(state: Path) -> list[str]:
    return sorted(path.name for path in (state / "sandboxes").iterdir())


async def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(0.01)


# What it cannot see ------------------------------------------------------------------------------


async def test_the_machines_files_are_not_there(any_sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2")
    for path in (str(secret), str(Path(__file__)), "/root", "/etc/shadow", "/var/lib", "/sys"):
        result = await any_sandbox.execute(f"ls {path}")
        assert result.exit_code != 0, path
        assert "No such file" in result.stderr


async def test_its_root_holds_nothing_but_the_usual(blocked_sandbox: Sandbox) -> None:
    names = set((await blocked_sandbox.execute("ls /")).stdout.split())
    usual = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "dev", "etc", "home", "proc"}
    assert names - usual <= {"run", "tmp", "usr", "var", "workspace"}
    assert (await blocked_sandbox.execute("ls /home /run /var")).stdout.split() == [
        *("/home:", "agent"),
        *("/run:", "bin", "sandbox"),
        *("/var:", "tmp"),
    ]


async def test_a_link_to_a_file_of_the_machine_leads_nowhere(
    blocked_sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("hunter2")
    await blocked_sandbox.execute(f"ln -s {tmp_path}/secret.txt a; ln -s {tmp_path} b")
    paths = ["/workspace/a", "/workspace/b/secret.txt"]
    assert await blocked_sandbox.download(paths) == [
        FileError(path, "file_not_found") for path in paths
    ]
    (answer,) = await blocked_sandbox.upload([("/workspace/a", b"overwritten")])
    assert answer is not None
    assert (tmp_path / "secret.txt").read_text() == "hunter2"


async def test_the_runners_environment_does_not_show(
    bubblewrap: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    async with bubblewrap.open() as sandbox:
        result = await sandbox.execute("env; cat /proc/*/environ")
    assert "HOME=/home/agent" in result.stdout
    assert "hunter2" not in result.output


async def test_the_machines_processes_do_not_show(any_sandbox: Sandbox) -> None:
    listed = await any_sandbox.execute("cd /proc && echo [0-9]*")
    assert len(listed.stdout.split()) <= 4
    assert (await any_sandbox.execute(f"kill -0 {os.getpid()}")).exit_code != 0


async def test_the_machines_unix_sockets_are_out_of_reach(
    any_sandbox: Sandbox, tmp_path: Path
) -> None:
    path, abstract = str(tmp_path / "bus.sock"), f"\0{tmp_path}"
    for name in (path, abstract):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name)
            server.listen()
            program = f"import socket\nsocket.socket(socket.AF_UNIX).connect({name!r})"
            result = await any_sandbox.execute(python(program))
            assert result.exit_code == 1
            assert re.search("FileNotFoundError|ConnectionRefusedError", result.stderr)


async def test_the_machines_loopback_is_out_of_reach(any_sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = f"import socket\nsocket.create_connection(('127.0.0.1', {port}))"
        result = await any_sandbox.execute(python(program))
    assert "ConnectionRefusedError" in result.stderr


# What it cannot do -------------------------------------------------------------------------------


async def test_only_its_own_places_can_be_written(any_sandbox: Sandbox) -> None:
    for place in ("/new", "/usr/new", "/etc/new", "/run/new", "/dev/new", "/workspace/skills/new"):
        result = await any_sandbox.execute(f"echo x > {place}")
        assert result.exit_code != 0, place
    for place in ("/workspace/new", "/home/agent/new", "/tmp/new", "/var/tmp/new", "/dev/shm/new"):
        assert (await any_sandbox.execute(f"echo x > {place}")).exit_code == 0, place


async def test_the_skills_cannot_be_moved_or_covered(blocked_sandbox: Sandbox) -> None:
    assert (await blocked_sandbox.execute("mv skills elsewhere")).exit_code != 0
    assert (await blocked_sandbox.execute("rm -rf skills")).exit_code != 0
    assert (await blocked_sandbox.execute("cat skills/greeter/SKILL.md")).stdout == "# Greeter\n"


async def test_it_has_no_privileges_and_can_gain_none(any_sandbox: Sandbox) -> None:
    status = (await any_sandbox.execute("cat /proc/self/status")).stdout
    for capability in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert re.search(rf"^{capability}:\t0+$", status, re.MULTILINE), capability
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status
    unshared = await any_sandbox.execute(
        python(
            "import ctypes, sys\nlibc = ctypes.CDLL(None)\n"
            "sys.exit(0 if any(libc.unshare(flag) == 0 for flag in (0x10000000, 0x20000)) else 3)"
        )
    )
    assert unshared.exit_code == 3


async def test_doors_that_a_network_namespace_leaves_open_are_shut(any_sandbox: Sandbox) -> None:
    result = await any_sandbox.execute(
        python(
            "import ctypes, errno, socket\n"
            "for family in (socket.AF_VSOCK, socket.AF_PACKET):\n"
            "    try: socket.socket(family, socket.SOCK_STREAM)\n"
            "    except OSError as error: print(errno.errorcode[error.errno])\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "libc.syscall(425, 1, None)\n"
            "print(errno.errorcode[ctypes.get_errno()])"
        )
    )
    assert result.stdout.split() == ["EAFNOSUPPORT", "EAFNOSUPPORT", "ENOSYS"]


async def test_the_supervisor_cannot_be_looked_into_or_ended(any_sandbox: Sandbox) -> None:
    result = await any_sandbox.execute("cat /proc/1/environ; ls /proc/1/fd; head -c 1 /proc/1/mem")
    assert result.stdout == ""
    assert result.stderr.count("Permission denied") == 3
    await any_sandbox.execute("kill -9 1; kill -INT 1; kill -STOP 1; kill -TERM 1")
    assert (await any_sandbox.execute("echo alive")).stdout == "alive\n"


async def test_killing_everything_ends_the_command_but_not_the_sandbox(
    any_sandbox: Sandbox,
) -> None:
    assert (await any_sandbox.execute("kill -9 -1; sleep 15")).exit_code == 137
    assert (await any_sandbox.execute("echo alive")).stdout == "alive\n"


async def test_a_fork_bomb_fizzles_out(any_sandbox: Sandbox) -> None:
    bomb = python(
        "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(1)"
    )
    assert (await any_sandbox.execute(bomb, timeout_s=1.0)).timed_out
    assert (await any_sandbox.execute("echo alive | cat")).stdout == "alive\n"
    listed = await any_sandbox.execute("cd /proc && echo [0-9]*")
    assert len(listed.stdout.split()) <= 4


async def test_a_command_cannot_have_more_memory_than_it_may(any_sandbox: Sandbox) -> None:
    result = await any_sandbox.execute(python(f"x = b'x' * {LIMITS.memory_bytes + 1}"))
    assert result.exit_code != 0
    assert (await any_sandbox.execute("echo alive")).stdout == "alive\n"


async def test_processes_together_cannot_have_more_memory_than_they_may(
    blocked_sandbox: Sandbox,
) -> None:
    if "for all its processes together" not in blocked_sandbox.proof().proof:
        pytest.skip("this user may not make control groups")
    share = LIMITS.memory_bytes // 3
    hogs = " & ".join([f"python3 -c 'import time; x = b\"x\" * {share}; time.sleep(2)'"] * 4)
    result = await blocked_sandbox.execute(f"{hogs} & wait; wait -n; echo survived")
    assert "Killed" in result.stderr
    assert (await blocked_sandbox.execute("echo alive")).stdout == "alive\n"


async def test_a_file_cannot_be_larger_than_it_may(blocked_sandbox: Sandbox) -> None:
    result = await blocked_sandbox.execute(
        f"head -c {LIMITS.file_bytes + 1} /dev/zero > /home/agent/large"
    )
    assert result.exit_code != 0
    size = await blocked_sandbox.execute("stat -c %s /home/agent/large")
    assert int(size.stdout) == LIMITS.file_bytes


async def test_the_workspace_cannot_hold_more_than_it_may(blocked_sandbox: Sandbox) -> None:
    fill = "for i in 1 2 3 4 5 6; do head -c 4000000 /dev/zero > part$i || exit 9; done"
    result = await blocked_sandbox.execute(fill)
    assert result.exit_code == 9
    assert "No space left" in result.stderr
    (answer,) = await blocked_sandbox.upload([("/workspace/more", bytes(4_000_000))])
    assert answer == FileError("/workspace/more", "too_large")


async def test_an_endless_flood_is_cut_and_stopped(any_sandbox: Sandbox) -> None:
    result = await any_sandbox.execute("yes & yes >&2", timeout_s=0.5)
    assert result.timed_out
    assert result.truncated
    assert len(result.stdout) < LIMITS.output_bytes + 100
    assert len(result.stderr) < LIMITS.output_bytes + 100


# Commands ----------------------------------------------------------------------------------------


async def test_a_command_gets_nothing_on_its_input(blocked_sandbox: Sandbox) -> None:
    result = await blocked_sandbox.execute("cat; echo done")
    assert (result.stdout, result.exit_code) == ("done\n", 0)


async def test_a_command_killed_by_a_signal_says_so(blocked_sandbox: Sandbox) -> None:
    assert (await blocked_sandbox.execute("kill -TERM $$")).exit_code == 128 + signal.SIGTERM


async def test_a_command_that_cannot_be_started_fails_by_itself(blocked_sandbox: Sandbox) -> None:
    no_folder = await blocked_sandbox.execute("true", cwd="/workspace/none")
    assert (no_folder.exit_code, no_folder.stdout) == (126, "")
    assert "No such file" in no_folder.stderr
    too_long = await blocked_sandbox.execute("#" * 3_000_000)
    assert too_long.exit_code == 126
    assert "Argument list too long" in too_long.stderr
    zero = await blocked_sandbox.execute("echo a\0b")
    assert zero.exit_code == 126
    assert (await blocked_sandbox.execute("echo alive")).stdout == "alive\n"


async def test_both_names_of_python_work(blocked_sandbox: Sandbox) -> None:
    result = await blocked_sandbox.execute("python -c 'print(1)' && python3 -c 'print(2)'")
    assert result.stdout == "1\n2\n"


async def test_a_machine_without_python_of_its_own_shares_the_runners(
    bubblewrap: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    shared = layout.Interpreter(path, sys.base_prefix)
    monkeypatch.setattr(layout, "interpreter", lambda: shared)
    async with bubblewrap.open() as sandbox:
        result = await sandbox.execute("python3 -c 'import sys; print(sys.base_prefix)'")
        assert result.stdout == f"{sys.base_prefix}\n"
        assert (await sandbox.execute(f"touch {sys.base_prefix}/new")).exit_code != 0
        assert await sandbox.packages()


TREE = """
import os, subprocess, time
subprocess.Popen(["setsid", "sleep", "MARK"])
subprocess.Popen(["nohup", "sleep", "MARK"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "MARK"])
    os._exit(0)
print("started", flush=True)
time.sleep(60)
"""


async def test_a_time_limit_ends_all_that_the_command_started(any_sandbox: Sandbox) -> None:
    mark = f"{os.getpid()}0001"
    task = asyncio.create_task(
        any_sandbox.execute(python(TREE.replace("MARK", mark)), timeout_s=1.5)
    )
    await until(lambda: len(processes_with(f"sleep\0{mark}")) == 3)
    assert (await task).timed_out
    assert processes_with(f"sleep\0{mark}") == []


async def test_cancelling_ends_all_that_the_command_started(any_sandbox: Sandbox) -> None:
    mark = f"{os.getpid()}0002"
    task = asyncio.create_task(any_sandbox.execute(python(TREE.replace("MARK", mark))))
    await until(lambda: len(processes_with(f"sleep\0{mark}")) == 3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: processes_with(f"sleep\0{mark}") == [])


async def test_what_a_command_leaves_running_serves_the_next(blocked_sandbox: Sandbox) -> None:
    await blocked_sandbox.upload([("/workspace/page.txt", b"served")])
    started = await blocked_sandbox.execute("python3 -m http.server 8000 & echo $!")
    assert started.seconds < LIMITS.command_seconds / 2
    fetch = (
        "import time, urllib.request\n"
        "for attempt in range(100):\n"
        "    try: print(urllib.request.urlopen('http://127.0.0.1:8000/page.txt').read()); break\n"
        "    except OSError: time.sleep(0.1)"
    )
    for _ in range(2):
        assert (await blocked_sandbox.execute(python(fetch))).stdout == "b'served'\n"


async def test_nothing_outlives_the_sandbox(bubblewrap: Kit, tmp_path: Path) -> None:
    mark = f"{os.getpid()}0003"
    async with bubblewrap.open() as sandbox:
        await sandbox.execute(f"setsid sleep {mark} & nohup sleep {mark} & exit 0")
        await until(lambda: len(processes_with(f"sleep\0{mark}")) == 2)
        inside = sandbox.id
        assert left_in(tmp_path / "state") == [inside]
    assert processes_with(f"sleep\0{mark}") == []
    assert left_in(tmp_path / "state") == []


async def test_special_files_do_not_hold_a_transfer_up(blocked_sandbox: Sandbox) -> None:
    await blocked_sandbox.execute("mkfifo pipe; ln -s loop loop")
    paths = ["/workspace/pipe", "/dev/zero", "/workspace/loop", "/workspace/a\0b"]
    async with asyncio.timeout(30):
        downloaded = await blocked_sandbox.download(paths)
        uploaded = await blocked_sandbox.upload(
            [(path, b"x") for path in paths if path != "/dev/zero"]
        )
    assert downloaded == [FileError(path, "invalid_path") for path in paths]
    assert [answer and answer.problem for answer in uploaded] == ["invalid_path"] * 3


async def test_no_thread_is_taken_by_commands_and_transfers(blocked_sandbox: Sandbox) -> None:
    before = threading.active_count()
    running = [asyncio.create_task(blocked_sandbox.execute("sleep 1")) for _ in range(20)]
    await asyncio.gather(*(blocked_sandbox.download(["/workspace/none"]) for _ in range(20)))
    assert threading.active_count() <= before + 1  # one looks at what is on disk
    await asyncio.gather(*running)


# Installing and snapshots ------------------------------------------------------------------------


def make_wheel(folder: Path) -> Path:
    wheel = folder / "made_up-1.2.3-py3-none-any.whl"
    information = "made_up-1.2.3.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("made_up.py", "def main():\n    print('it works')\n")
        archive.writestr(
            f"{information}/METADATA", "Metadata-Version: 2.1\nName: made-up\nVersion: 1.2.3\n"
        )
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{information}/entry_points.txt", "[console_scripts]\nmu=made_up:main\n")
        archive.writestr(f"{information}/RECORD", "")
    return wheel


async def test_what_pip_installs_online_is_there_offline(bubblewrap: Kit, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    async with bubblewrap.open("open") as sandbox:
        if (await sandbox.execute("python3 -m pip --version")).exit_code != 0:
            pytest.skip("this machine's Python has no pip")
        await sandbox.upload([(f"/workspace/{wheel.name}", wheel.read_bytes())])
        installed = await sandbox.execute(f"python3 -m pip install --no-index ./{wheel.name}")
        assert installed.exit_code == 0, installed.output
        await sandbox.snapshot("candidate")
    async with bubblewrap.open("blocked", base="candidate") as sandbox:
        assert (await sandbox.execute("mu")).stdout == "it works\n"
        package = Package(ecosystem="pip", name="made-up", version="1.2.3")
        assert package in await sandbox.packages()
        assert await sandbox.network_calls() == []


async def test_packages_of_node_and_of_the_system_are_listed(blocked_sandbox: Sandbox) -> None:
    modules = "/home/agent/.local/lib/node_modules"
    await blocked_sandbox.upload(
        [
            (
                f"{modules}/plain/package.json",
                b'{"name": "plain", "version": "1.0.0", "dependencies": {"inner": "^3.0"}}',
            ),
            (
                f"{modules}/plain/node_modules/inner/package.json",
                b'{"name": "inner", "version": "3.1.0"}',
            ),
            (f"{modules}/@scope/deep/package.json", b'{"name": "@scope/deep", "version": "2.0"}'),
            (f"{modules}/broken/package.json", b"{"),
        ]
    )
    packages = await blocked_sandbox.packages()
    needs = ("inner@^3.0",)
    assert Package(ecosystem="npm", name="plain", version="1.0.0", requires=needs) in packages
    assert Package(ecosystem="npm", name="inner", version="3.1.0") in packages
    assert Package(ecosystem="npm", name="@scope/deep", version="2.0") in packages
    if HAS_DPKG:
        assert "dpkg" in {package.name for package in packages if package.ecosystem == "system"}


async def test_packages_cannot_run_code_while_they_are_listed(blocked_sandbox: Sandbox) -> None:
    trap = python(
        "import os, site\nos.makedirs(site.getusersitepackages())\n"
        "open(site.getusersitepackages() + '/trap.pth', 'w').write("
        "\"import os; os.system('touch /workspace/sprung')\")"
    )
    await blocked_sandbox.execute(trap)
    await blocked_sandbox.packages()
    assert (await blocked_sandbox.execute("test -e /workspace/sprung; echo $?")).stdout == "1\n"


async def test_a_snapshot_ends_what_runs_and_copes_with_closed_files(bubblewrap: Kit) -> None:
    async with bubblewrap.open() as sandbox:
        await sandbox.execute(
            "cd; mkdir shut; echo kept > shut/file; chmod 0 shut/file shut; mkfifo pipe; sleep 60 &"
        )
        await sandbox.snapshot("candidate")
        listed = await sandbox.execute("cat /proc/*/comm")
        assert "sleep" not in listed.stdout.split()
    async with bubblewrap.open(base="candidate") as sandbox:
        assert (await sandbox.execute("cat ~/shut/file")).stdout == "kept\n"


async def test_folders_that_are_shut_are_removed_all_the_same(
    bubblewrap: Kit, tmp_path: Path
) -> None:
    async with bubblewrap.open() as sandbox:
        await sandbox.execute("mkdir -p ~/a/b; touch ~/a/b/c; chmod 0 ~/a/b ~/a")
    assert left_in(tmp_path / "state") == []


async def test_names_that_would_leave_the_folder_are_refused(bubblewrap: Kit) -> None:
    for name in ("../up", "", "a/b", ".hidden", "x" * 200):
        with pytest.raises(ValueError, match="cannot name"):
            await bubblewrap.provider.delete_snapshot(name)


# Proof -------------------------------------------------------------------------------------------


async def test_the_proof_tells_what_the_probe_did_and_saw(bubblewrap: Kit) -> None:
    async with bubblewrap.open("blocked") as sandbox:
        blocked = sandbox.proof()
    assert "connect to 1.1.1.1 port 53: ENETUNREACH" in blocked.proof
    assert "look up example.com: not resolved" in blocked.proof
    assert "kernel" in blocked.observation
    async with bubblewrap.open("open") as sandbox:
        carried = sandbox.proof()
    assert "carries connections" in carried.proof
    assert "but not to this machine" in carried.proof
    assert "Not observed" in carried.observation


@pytest.mark.parametrize(
    "probe",
    [
        # Somebody answers, if only to refuse.
        pytest.param(Probe(addresses=(("127.0.0.1", 9),), names=()), id="by address"),
        pytest.param(Probe(addresses=(), names=("localhost",)), id="by name"),
    ],
)
async def test_a_sandbox_that_gets_out_is_destroyed_unused(
    probe: Probe, tmp_path: Path, skills: Path
) -> None:
    provider = BubblewrapProvider(tmp_path / "state", probe=probe)
    with pytest.raises(NotOffline, match="a probe from inside saw"):
        async with provider.open(name="leaky", skills=skills, network="blocked"):
            pytest.fail("it was opened")
    assert left_in(tmp_path / "state") == []


# Ending badly ------------------------------------------------------------------------------------


async def test_a_sandbox_that_cannot_start_says_why_and_leaves_nothing(
    tmp_path: Path, skills: Path
) -> None:
    provider = BubblewrapProvider(tmp_path / "state")
    with pytest.raises(SandboxUnavailable, match="No such file"):
        async with provider.open(name="none", skills=skills / "none", network="blocked"):
            pytest.fail("it was opened")
    assert left_in(tmp_path / "state") == []


async def test_a_sandbox_ended_from_outside_is_lost_at_once(bubblewrap: Kit) -> None:
    async with bubblewrap.open() as sandbox:
        mark = f"{os.getpid()}0004"
        task = asyncio.create_task(sandbox.execute(f"sleep {mark} || true"))
        await until(lambda: bool(processes_with(f"sleep\0{mark}")))
        assert isinstance(bubblewrap.provider, BubblewrapProvider)
        launcher = bubblewrap.provider._launcher.pid
        assert launcher is not None
        (above_process_1,) = (pid for pid in children_of(launcher) if children_of(pid))
        os.kill(above_process_1, signal.SIGKILL)
        with pytest.raises(SandboxUnavailable):
            await task
        with pytest.raises(SandboxUnavailable):
            await sandbox.execute("true")


async def test_being_cancelled_at_any_moment_leaves_nothing(
    bubblewrap: Kit, tmp_path: Path
) -> None:
    mark = f"{os.getpid()}0005"

    async def use() -> None:
        async with bubblewrap.open() as sandbox:
            await sandbox.execute(f"sleep {mark} & sleep {mark}")

    async with bubblewrap.open():
        pass  # what all sandboxes share is open from here on
    held = open_descriptors()
    for step in range(24):
        task = asyncio.create_task(use())
        await asyncio.wait([task], timeout=step * 0.008)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert processes_with(f"sleep\0{mark}") == []
    assert left_in(tmp_path / "state") == []
    assert open_descriptors() == held


async def test_sandboxes_side_by_side_leave_nothing_open_in_the_launcher(bubblewrap: Kit) -> None:
    async def use() -> None:
        async with bubblewrap.open():
            pass

    await use()
    assert isinstance(bubblewrap.provider, BubblewrapProvider)
    launcher = bubblewrap.provider._launcher.pid
    held = open_descriptors(launcher)
    for _ in range(3):
        await asyncio.gather(*(use() for _ in range(4)))
    await until(lambda: open_descriptors(launcher) == held)


HOLDER = """
import asyncio, sys
from pathlib import Path
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider

async def main(state, skills, mark):
    provider = BubblewrapProvider(Path(state))
    async with provider.open(name="held", skills=Path(skills), network="blocked") as sandbox:
        await sandbox.execute(f"setsid sleep {mark} &")
        print(sandbox.id, flush=True)
        await sandbox.execute(f"sleep {mark}")

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_killed_runner_takes_its_sandboxes_along_and_a_sweep_tidies_up(
    bubblewrap: Kit, tmp_path: Path
) -> None:
    mark, state = f"{os.getpid()}0006", tmp_path / "state"
    holder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLDER, str(state), str(bubblewrap.skills), mark),
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    identity = (await holder.stdout.readline()).decode().strip()
    await until(lambda: len(processes_with(f"sleep\0{mark}")) == 2)
    assert await bubblewrap.provider.sweep() == []
    holder.kill()
    await holder.wait()
    await until(lambda: processes_with(f"sleep\0{mark}") == [])
    assert left_in(state) == [identity]
    assert await bubblewrap.provider.sweep() == [identity]
    assert left_in(state) == []
    assert await bubblewrap.provider.sweep() == []


async def test_a_sweep_removes_snapshots_past_their_time(tmp_path: Path, skills: Path) -> None:
    provider = BubblewrapProvider(tmp_path / "state", snapshot_ttl=timedelta(0))
    async with provider.open(name="one", skills=skills, network="open") as sandbox:
        await sandbox.snapshot("candidate")
    assert await provider.sweep() == ["candidate"]
    assert list((tmp_path / "state" / "snapshots").iterdir()) == []


async def test_a_kept_snapshot_outlives_its_time_until_it_is_deleted(
    tmp_path: Path, skills: Path
) -> None:
    provider = BubblewrapProvider(tmp_path / "state", snapshot_ttl=timedelta(0))
    async with provider.open(name="one", skills=skills, network="open") as sandbox:
        await sandbox.snapshot("candidate")
    await provider.keep_snapshot("candidate")
    assert await provider.sweep() == []
    async with provider.open(name="two", skills=skills, network="open", base="candidate"):
        pass
    await provider.delete_snapshot("candidate")
    assert list((tmp_path / "state" / "snapshots").iterdir()) == []
