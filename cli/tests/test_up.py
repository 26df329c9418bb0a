"""The embedded stack as a person runs it: stopped, killed, interrupted, started again."""

import io
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay_cli.embedded.nats import SERVICES
from assay_cli.embedded.ports import free_ports
from assay_cli.packing import pack
from assay_contracts.reports import Report
from assay_testkit.servers import private_folder

EXAMPLE = Path(__file__).parents[2] / "examples/skills/csv-analyzer"
TOKEN = "a-token-of-our-own"
ASSAY = str(Path(sys.executable).parent / "assay")

pytestmark = pytest.mark.timeout(240)


class Up:
    """A running `assay up` and what it has printed."""

    def __init__(self, data: Path, port: int, **environment: str) -> None:
        self.port = port
        self.printed = ""
        self.process = subprocess.Popen(
            [ASSAY, "up", "--port", str(port), "--data", str(data)],
            env={"PATH": os.environ["PATH"], "HOME": str(data), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def read_until(self, expected: str) -> str:
        """Its output up to and with the line in which `expected` stands."""
        assert self.process.stdout is not None
        lines: list[str] = []
        while line := self.process.stdout.readline():
            lines.append(line)
            self.printed += line
            if expected in line:
                return "".join(lines)
        raise AssertionError(f"never said {expected!r}: {self.printed}")

    def get(self, path: str, token: str = TOKEN) -> dict[str, object]:
        return ask(f"http://127.0.0.1:{self.port}{path}", token)

    def pid_of(self, name: str) -> int:
        """Of one of its processes."""
        for pid in descendants(self.process.pid)[1:]:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            program = Path(words[0]).name.removesuffix("-server")
            if name == program or f"assay_{name}" in words:
                return pid
        raise AssertionError(f"no {name} among its processes")


def descendants(pid: int) -> list[int]:
    """The process and all that came of it."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def ask(url: str, token: str, body: bytes | None = None, kind: str = "") -> dict[str, object]:
    headers = {"Authorization": f"Bearer {token}"} | ({"Content-Type": kind} if kind else {})
    request = urllib.request.Request(url, body, headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        parsed: dict[str, object] = json.load(answer)
        return parsed


@contextmanager
def up(data: Path, **environment: str) -> Iterator[Up]:
    running = Up(data, free_ports(1)[0], **environment)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()
        assert running.process.stdout is not None
        running.process.stdout.close()


@contextmanager
def ended_after(pids: list[int]) -> Iterator[None]:
    """Every one of these processes has ended soon after the body."""
    descriptors = [os.pidfd_open(pid) for pid in pids]
    yield
    deadline = time.monotonic() + 20
    for descriptor in descriptors:
        left = max(0.0, deadline - time.monotonic())
        assert select.select([descriptor], [], [], left)[0], "a process was left running"
        os.close(descriptor)


def upload(running: Up) -> str:
    boundary = "xxBOUNDARYxx"
    archive = io.BytesIO()
    pack(EXAMPLE, archive)
    answer = ask(
        f"http://127.0.0.1:{running.port}/api/admin/skills/upload",
        TOKEN,
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="s.zip"'.encode()
        + b"\r\n\r\n"
        + archive.getvalue()
        + f"\r\n--{boundary}--\r\n".encode(),
        f"multipart/form-data; boundary={boundary}",
    )
    return str(answer["skill_id"])


def token_for(data: Path, *options: str) -> str:
    command = [ASSAY, "token", "--data", str(data), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_stack_comes_back_with_its_data_whatever_ended_it() -> None:
    with private_folder() as data:
        with up(data, ASSAY_ADMIN_TOKEN=TOKEN) as running:
            greeting = running.read_until("Press Ctrl-C")
            assert f"http://127.0.0.1:{running.port}" in greeting
            assert TOKEN not in greeting
            assert re.search(r"nats://observer:\S+@127\.0\.0\.1:\d+", greeting)
            assert all(f"health, {name}" in greeting for name in SERVICES)
            skill_id = upload(running)
            token = token_for(data, "--ttl", "2h")
            assert running.get("/api/admin/skills", token)["total"] == 1
            with pytest.raises(urllib.error.HTTPError, match="403"):
                running.get("/api/admin/skills", token_for(data, "--role", "none"))

            second = subprocess.run(
                [ASSAY, "up", "--data", str(data)], capture_output=True, text=True, check=False
            )
            assert second.returncode == 3
            assert f"Another stack (process {running.process.pid})" in second.stderr

            with ended_after(descendants(running.process.pid)):
                running.process.send_signal(signal.SIGTERM)
                running.read_until("Stopped.")
                assert running.process.wait() == 0

        with up(data, ASSAY_ADMIN_TOKEN=TOKEN) as running:
            running.read_until("Press Ctrl-C")
            assert running.get(f"/api/admin/skills/{skill_id}")["name"] == "csv-analyzer"
            assert running.get("/api/admin/skills", token)["total"] == 1
            with ended_after(descendants(running.process.pid)):
                running.process.kill()


def test_what_dies_is_started_again_and_said_so() -> None:
    with private_folder() as data, up(data) as running:
        greeting = running.read_until("Press Ctrl-C")
        kept = json.loads((data / "secrets.json").read_text())["admin_token"]
        assert kept in greeting
        for name in ("ingest", "nats", "postgres"):
            os.kill(running.pid_of(name), signal.SIGKILL)
            running.read_until(f"{name} died: ended with signal SIGKILL")
            running.read_until(f"{name} is back")
        for line in greeting.splitlines():
            if "/readyz" in line:
                # Services that lost the bus or the database find it again by themselves.
                wait_until_ready(line.split()[-1])
        running.process.send_signal(signal.SIGINT)
        running.read_until("Stopped.")
        assert running.process.wait() == 0


def wait_until_ready(url: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            assert ask(url, "")["ready"]
        except urllib.error.URLError:
            assert time.monotonic() < deadline, f"{url} did not recover"
            time.sleep(0.1)
        else:
            return


def test_a_port_in_use_is_told_in_one_line() -> None:
    with private_folder() as data, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [ASSAY, "up", "--port", str(port), "--data", str(data)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 3
    assert done.stderr == (
        f"assay: Port {port} is in use: stop what listens there, or name another one with --port.\n"
    )


def test_a_token_that_can_be_guessed_is_refused_in_one_line() -> None:
    with private_folder() as data:
        done = subprocess.run(
            [ASSAY, "up", "--data", str(data)],
            env={"PATH": os.environ["PATH"], "ASSAY_ADMIN_TOKEN": "secret"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert list(data.iterdir()) == []
    assert done.returncode == 2
    assert done.stderr.startswith("assay: ASSAY_ADMIN_TOKEN needs at least 16 characters")


def test_a_data_folder_too_deep_for_a_socket_works_all_the_same() -> None:
    with private_folder() as short:
        data = short.joinpath(*["deeper"] * 15)
        with up(data, ASSAY_ADMIN_TOKEN=TOKEN) as running:
            running.read_until("Press Ctrl-C")
            assert running.get("/api/admin/skills")["total"] == 0
            before = set(Path("/tmp").glob("assay-*/.s.PGSQL.5432"))
            running.process.send_signal(signal.SIGTERM)
            assert running.process.wait() == 0
            assert len(before - set(Path("/tmp").glob("assay-*/.s.PGSQL.5432"))) == 1


def validating(temporary: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [ASSAY, "validate", str(EXAMPLE), *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(temporary), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_private_validation_cleans_up_after_itself() -> None:
    with private_folder() as temporary, validating(temporary, "--json") as process:
        output, progress = process.communicate()
        assert process.returncode == 0, progress
        assert Report.model_validate_json(output).verdict == "passed"
        assert "offline run: done in" in progress
        assert list(temporary.iterdir()) == []


def test_an_interrupted_validation_leaves_nothing_behind() -> None:
    with private_folder() as temporary, validating(temporary) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "online run" in line:
                break
        with ended_after(descendants(process.pid)[1:]):
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 128 + signal.SIGTERM
        assert list(temporary.iterdir()) == []


def test_the_logs_of_a_stack_that_could_not_start_are_kept() -> None:
    with private_folder() as temporary:
        environment = {"PATH": os.environ["PATH"], "TMPDIR": str(temporary)}
        done = subprocess.run(
            [ASSAY, "validate", str(EXAMPLE)],
            # No service starts with a log level that there is not.
            env={**environment, "ASSAY_LOG_LEVEL": "shouting"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 3
        (folder,) = temporary.iterdir()
        assert [path.name for path in folder.iterdir()] == ["logs"]
        assert f"The logs are in {folder / 'logs'}." in done.stderr
        assert "The private stack failed" in done.stderr
