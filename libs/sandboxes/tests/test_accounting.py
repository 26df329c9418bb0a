"""How many calls common programs make without a network: one table, for every real sandbox.

Programs that this machine does not have are skipped by name. Addresses are ones that nobody has,
so that the same is counted whether the sandbox has no route or packets are dropped.
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay_sandboxes.conformance.under_test import Kit, python

STATIC = r"""
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
int main(void) {
    struct sockaddr_in place;
    memset(&place, 0, sizeof place);
    place.sin_family = AF_INET;
    place.sin_port = htons(443);
    inet_pton(AF_INET, "192.0.2.1", &place.sin_addr);
    int caller = socket(AF_INET, SOCK_STREAM, 0);
    return connect(caller, (struct sockaddr *)&place, sizeof place) ? 0 : 1;
}
"""
QUESTION = (
    "import socket\n"
    "question = b'\\0\\7\\1\\0\\0\\1' + bytes(6) + b'\\1a\\7example\\0\\0\\1\\0\\1'\n"
    "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "try: udp.sendto(question, ('192.0.2.53', 53))\n"
    "except OSError: pass"
)
RETRIES = (
    "import urllib.request\n"
    "for attempt in range(3):\n"
    "    try: urllib.request.urlopen('http://{}/', timeout=1)\n"
    "    except OSError: pass"
)
DAEMON = (
    "import os, socket, time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "for number in (1, 2, 3):\n"
    "    try: socket.create_connection(('192.0.2.1', number), 1)\n"
    "    except OSError: pass\n"
    "open('/workspace/done', 'w').close()"
)
LOOPBACK = (
    "import http.server, threading, urllib.request\n"
    "server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
    "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
    "for host in ('127.0.0.1', 'localhost'):\n"
    "    urllib.request.urlopen(f'http://{host}:{server.server_port}/').read()"
)


@dataclass(frozen=True)
class Row:
    name: str
    command: str
    calls: tuple[str, ...]
    """Where they go, in order."""
    needs: str = "python3"


TABLE = [
    Row("curl by name", "curl -sm 3 http://a.example/", ("a.example",), "curl"),
    Row("curl by address", "curl -sm 1 http://192.0.2.1/", ("192.0.2.1:80",), "curl"),
    Row(
        "curl that retries",
        "curl -sm 9 --retry 2 --retry-delay 1 http://a.example/",
        ("a.example",) * 3,
        "curl",
    ),
    Row(
        "pip install",
        "pip3 install -q --retries 1 --timeout 1 -i https://a.example/simple nothing",
        ("a.example",) * 2,
        "pip3",
    ),
    Row("urllib with retries, by name", python(RETRIES.format("a.example")), ("a.example",) * 3),
    Row(
        "urllib with retries, by address",
        python(RETRIES.format("192.0.2.1")),
        ("192.0.2.1:80",) * 3,
    ),
    Row("look-up over UDP", python(QUESTION), ("a.example or 192.0.2.53:53",)),
    Row("look-up by the C library", "getent ahosts a.example", ("a.example",), "getent"),
    Row(
        "background daemon",
        python(DAEMON) + "\nuntil test -e /workspace/done; do sleep 0.05; done",
        tuple(f"192.0.2.1:{number}" for number in (1, 2, 3)),
    ),
    Row("Node", "node -e \"fetch('http://a.example/').catch(() => 0)\"", ("a.example",), "node"),
    Row("git", "git clone -q https://a.example/x.git", ("a.example",), "git"),
    Row("static binary", "/workspace/static", ("192.0.2.1:443",), "/workspace/static"),
    Row("IPv6", "curl -sgm 1 'http://[2001:db8::1]/'", ("[2001:db8::1]:80",), "curl"),
    Row(
        "IPv4 in IPv6",
        python(
            "import socket\n"
            "try: socket.create_connection(('::ffff:192.0.2.1', 9), 1)\n"
            "except OSError: pass"
        ),
        ("192.0.2.1:9",),
    ),
    Row("pure loopback", python(LOOPBACK), ()),
    Row("nothing", "true", ()),
]


@pytest.fixture(params=["bubblewrap", "daytona"])
def real(request: pytest.FixtureRequest) -> Kit:
    kit: Kit = request.getfixturevalue(request.param)
    return kit


@pytest.fixture(scope="session")
def static_binary(tmp_path_factory: pytest.TempPathFactory) -> bytes | None:
    """A program that shares no library with anybody; none where there is no compiler."""
    folder = tmp_path_factory.mktemp("static")
    (folder / "static.c").write_text(STATIC)
    if shutil.which("gcc") is None:
        return None
    compiled = subprocess.run(
        ["gcc", "-static", "-o", "static", "static.c"], cwd=folder, check=False, capture_output=True
    )
    return Path(folder, "static").read_bytes() if compiled.returncode == 0 else None


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
async def test_calls_are_counted_exactly(real: Kit, row: Row, static_binary: bytes | None) -> None:
    async with real.open() as sandbox:
        if static_binary is not None:
            await sandbox.upload([("/workspace/static", static_binary)])
            await sandbox.execute("chmod +x static")
        if (await sandbox.execute(f"command -v {row.needs}")).exit_code != 0:
            pytest.skip(f"this machine has no {row.needs}")
        await sandbox.execute(row.command)
        calls = await sandbox.network_calls()
    assert len(calls) == len(row.calls), calls
    for call, place in zip(calls, row.calls, strict=True):
        assert call.destination in place.split(" or ")
        assert call.command == row.command[:200]
