"""Whatever commands do at Daytona, what they tried to reach stays written down."""

import asyncio

import pytest

from assay_sandboxes.conformance.under_test import Kit, python

CALLS = (
    "import socket\nfor port in (1, 2, 3):\n"
    "    try: socket.create_connection(('192.0.2.1', port), 1)\n    except OSError: pass"
)
SEVENTEEN = """
import ctypes, socket, struct
libc, kept = ctypes.CDLL(None), []
def message(host, port):
    address = struct.pack("<H", 2) + struct.pack(">H", port) + socket.inet_aton(host) + bytes(8)
    place, data = ctypes.create_string_buffer(address), ctypes.create_string_buffer(b"hello")
    vector = ctypes.create_string_buffer(struct.pack("<QQ", ctypes.addressof(data), 5))
    kept.extend((place, data, vector))
    return struct.pack("<QI4xQQQQI4xI4x", ctypes.addressof(place), 16, ctypes.addressof(vector),
        1, 0, 0, 0, 0)
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.bind(("127.0.0.1", 0))
own = sink.getsockname()[1]
messages = b"".join([message("127.0.0.1", own)] * 16 + [message("192.0.2.1", 7)])
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
libc.sendmmsg(sender.fileno(), ctypes.create_string_buffer(messages), 17, 0)
"""
NO_FAMILY = """
import ctypes, socket, struct
address = struct.pack("<H", 0) + struct.pack(">H", 7) + socket.inet_aton("192.0.2.1") + bytes(8)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
ctypes.CDLL(None).sendto(sender.fileno(), b"hello", 5, 0, address, 16)
"""


async def reached_for(daytona: Kit, command: str, cwd: str = "/workspace") -> list[str]:
    async with daytona.open("blocked") as sandbox:
        await sandbox.execute(command, cwd=cwd)
        return [call.destination for call in await sandbox.network_calls()]


async def test_no_command_can_write_its_own_calls_away(daytona: Kit) -> None:
    forged = 'printf \'{"method": "seccomp"}\\n\' > /tmp/.assay-trace-$SANDBOX_COMMAND'
    calls = await reached_for(daytona, f"{forged}\n{python(CALLS)}")
    assert calls == ["192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3"]


@pytest.mark.parametrize("program", [SEVENTEEN, NO_FAMILY], ids=["17th message", "no family"])
async def test_no_datagram_hides(daytona: Kit, program: str) -> None:
    assert await reached_for(daytona, python(program)) == ["192.0.2.1:7"]


async def test_a_pointer_to_nowhere_is_the_commands_own_fault(daytona: Kit) -> None:
    program = (
        "import ctypes, socket\nlibc = ctypes.CDLL(None, use_errno=True)\nsock = socket.socket()\n"
        "libc.connect(sock.fileno(), ctypes.c_void_p(2**64 - 4096), 16)\n"
        "print(ctypes.get_errno())"
    )
    async with daytona.open("blocked") as sandbox:
        assert (await sandbox.execute(python(program))).stdout == "14\n"
        assert await sandbox.network_calls() == []


async def test_a_command_in_a_folder_that_is_gone_called_nobody(daytona: Kit) -> None:
    assert await reached_for(daytona, "true", cwd="/workspace/gone") == []


async def test_a_command_cancelled_before_it_began_called_nobody(daytona: Kit) -> None:
    async with daytona.open("blocked") as sandbox:
        task = asyncio.create_task(sandbox.execute("sleep 60"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert await sandbox.network_calls() == []


async def test_daytonas_own_daemon_is_out_of_reach_inside(daytona: Kit) -> None:
    program = (
        "import socket\nserver = socket.create_server(('127.0.0.1', 2280))\n"
        "try: socket.create_connection(('127.0.0.1', 2280), 5)\n"
        "except ConnectionRefusedError: print('refused')"
    )
    async with daytona.open("blocked") as sandbox:
        assert (await sandbox.execute(python(program))).stdout == "refused\n"
