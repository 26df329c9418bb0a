"""How many calls common programs make without a network: one table, for every real sandbox.

Programs that a sandbox does not have are left out. Addresses are ones that nobody has,
so that the same is counted whether the sandbox has no route or packets are dropped.
"""

import asyncio
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from assay_sandboxes.conformance.expectations import NotApplicable
from assay_sandboxes.conformance.under_test import ProviderUnderTest, python
from assay_sandboxes.port import COMMAND_CHARS

_COMPILED: Final = "/workspace/static"
_STATIC = r"""
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
_QUESTION = (
    "import socket\n"
    "question = b'\\0\\7\\1\\0\\0\\1' + bytes(6) + b'\\1a\\7example\\0\\0\\1\\0\\1'\n"
    "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "try: udp.sendto(question, ('192.0.2.53', 53))\n"
    "except OSError: pass"
)
_RETRIES = (
    "import urllib.request\n"
    "for attempt in range(3):\n"
    "    try: urllib.request.urlopen('http://{}/', timeout=1)\n"
    "    except OSError: pass"
)
_DAEMON = (
    "import os, socket, time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "for number in (1, 2, 3):\n"
    "    try: socket.create_connection(('192.0.2.1', number), 1)\n"
    "    except OSError: pass\n"
    "open('/workspace/done', 'w').close()"
)
_LOOPBACK = (
    "import http.server, threading, urllib.request\n"
    "server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
    "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
    "for host in ('127.0.0.1', 'localhost'):\n"
    "    urllib.request.urlopen(f'http://{host}:{server.server_port}/').read()"
)


@dataclass(frozen=True, slots=True)
class Accounted:
    """A command, and the calls that it makes."""

    name: str
    command: str
    calls: tuple[str, ...]
    """Where each attempt goes, in order; those of one process for one place are one call."""
    needs: str = "python3"

    async def __call__(self, subject: ProviderUnderTest) -> None:
        """Check that these calls are counted, and no others."""
        if not subject.observes_calls:
            raise NotApplicable("network calls are not observed")
        async with subject.open("blocked") as sandbox:
            if self.needs == _COMPILED and (program := await asyncio.to_thread(_static_program)):
                await sandbox.upload([(_COMPILED, program)])
                await sandbox.execute(f"chmod +x {_COMPILED}")
            if (await sandbox.execute(f"command -v {self.needs}")).exit_code != 0:
                raise NotApplicable(f"this machine has no {self.needs}")
            await sandbox.execute(self.command)
            calls = await sandbox.network_calls()
        attempts = [call for call in calls for _ in range(call.attempts)]
        assert len(attempts) == len(self.calls), calls
        assert len(calls) == len(set(self.calls)), calls
        for call, place in zip(attempts, self.calls, strict=True):
            assert call.destination in place.split(" or ")
            assert call.command == self.command[:COMMAND_CHARS]


@cache
def _static_program() -> bytes | None:
    """A program that shares no library with anybody; none where there is no compiler."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "static.c"), Path(folder, "static")
        source.write_text(_STATIC)
        try:
            subprocess.run(
                ["gcc", "-static", "-o", str(program), str(source)], check=True, capture_output=True
            )
        except (FileNotFoundError, subprocess.CalledProcessError):
            return None
        return program.read_bytes()


ACCOUNTED: Final = (
    Accounted("curl by name", "curl -sm 3 http://a.example/", ("a.example",), "curl"),
    Accounted("curl by address", "curl -sm 1 http://192.0.2.1/", ("192.0.2.1:80",), "curl"),
    Accounted(
        "curl that retries",
        "curl -sm 9 --retry 2 --retry-delay 1 http://a.example/",
        ("a.example",) * 3,
        "curl",
    ),
    Accounted(
        "pip install",
        "pip3 install -q --retries 1 --timeout 1 -i https://a.example/simple nothing",
        ("a.example",) * 2,
        "pip3",
    ),
    Accounted(
        "urllib with retries, by name", python(_RETRIES.format("a.example")), ("a.example",) * 3
    ),
    Accounted(
        "urllib with retries, by address",
        python(_RETRIES.format("192.0.2.1")),
        ("192.0.2.1:80",) * 3,
    ),
    Accounted("look-up over UDP", python(_QUESTION), ("a.example or 192.0.2.53:53",)),
    Accounted("look-up by the C library", "getent ahosts a.example", ("a.example",), "getent"),
    Accounted(
        "background daemon",
        python(_DAEMON) + "\nuntil test -e /workspace/done; do sleep 0.05; done",
        tuple(f"192.0.2.1:{number}" for number in (1, 2, 3)),
    ),
    Accounted(
        "Node", "node -e \"fetch('http://a.example/').catch(() => 0)\"", ("a.example",), "node"
    ),
    Accounted("git", "git clone -q https://a.example/x.git", ("a.example",), "git"),
    Accounted("static binary", _COMPILED, ("192.0.2.1:443",), _COMPILED),
    Accounted("IPv6", "curl -sgm 1 'http://[2001:db8::1]/'", ("[2001:db8::1]:80",), "curl"),
    Accounted(
        "IPv4 in IPv6",
        python(
            "import socket\n"
            "try: socket.create_connection(('::ffff:192.0.2.1', 9), 1)\n"
            "except OSError: pass"
        ),
        ("192.0.2.1:9",),
    ),
    Accounted("pure loopback", python(_LOOPBACK), ()),
    Accounted("nothing", "true", ()),
)
