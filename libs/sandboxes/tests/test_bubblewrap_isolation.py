"""What bubblewrap sandboxes cannot see and cannot do."""

import os
import re
import socket
from pathlib import Path

import pytest

from assay_sandboxes.conformance.under_test import LIMITS, ProviderUnderTest, python
from assay_sandboxes.port import FileError, Sandbox


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
    bubblewrap: ProviderUnderTest, monkeypatch: pytest.MonkeyPatch
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
