"""The embedded stack as a person runs it: stopped, killed, interrupted, started again."""

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from assay_cli.embedded.ports import free_ports
from assay_cli.packing import pack
from assay_contracts.topology import SERVICES
from assay_testkit.processes import descendants, ended_after
from assay_testkit.servers import private_folder
from assay_testkit.waiting import until_sync

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

    def client(self, token: str = TOKEN) -> httpx.Client:
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
            trust_env=False,
        )

    def get(self, path: str, token: str = TOKEN) -> dict[str, object]:
        with self.client(token) as client:
            answer = client.get(path)
        answer.raise_for_status()
        parsed: dict[str, object] = answer.json()
        return parsed

    def pid_of(self, name: str) -> int:
        """Of one of its processes."""
        for pid in descendants(self.process.pid)[1:]:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            program = Path(words[0]).name.removesuffix("-server")
            if name == program or f"assay_{name}" in words:
                return pid
        raise AssertionError(f"no {name} among its processes")


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


def upload(running: Up) -> str:
    archive = io.BytesIO()
    pack(EXAMPLE, archive)
    with running.client() as client:
        answer = client.post(
            "/api/admin/skills/upload", files={"file": ("s.zip", archive.getvalue())}
        )
    answer.raise_for_status()
    return str(answer.json()["skill_id"])


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
            with pytest.raises(httpx.HTTPStatusError, match="403"):
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


def test_what_dies_is_started_again_and_said_so_however_deep_its_data_folder_lies() -> None:
    with private_folder() as short, up(data := short.joinpath(*["deeper"] * 15)) as running:
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
                until_sync(
                    partial(is_ready, line.split()[-1]),
                    why=f"{line.split()[-1]} says that it is ready again",
                    timeout_s=30,
                    ignoring=httpx.TransportError,
                )
        # The path of a socket is bounded: the database's lies elsewhere, and goes with the stack.
        assert running.get("/api/admin/skills", kept)["total"] == 0
        before = set(Path("/tmp").glob("assay-*/.s.PGSQL.5432"))
        running.process.send_signal(signal.SIGINT)
        running.read_until("Stopped.")
        assert running.process.wait() == 0
        assert len(before - set(Path("/tmp").glob("assay-*/.s.PGSQL.5432"))) == 1


def is_ready(url: str) -> bool:
    answer = httpx.get(url, trust_env=False)
    return answer.is_success and bool(answer.json()["ready"])


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
