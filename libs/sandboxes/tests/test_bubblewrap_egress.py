"""Online sandboxes reach the outside through their wardens, and this machine in no way.

What stands for the outside is on this machine's loopback: addresses that nobody has are dialled
there, as a name server of the test's own says.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from assay_sandboxes.bubblewrap.host.outside import machines_name_servers
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.bubblewrap.host.warden_client import WardenClient
from assay_sandboxes.bubblewrap.warden import carrier
from assay_sandboxes.bubblewrap.warden.orders import Begun
from assay_sandboxes.conformance.under_test import LIMITS, python
from assay_sandboxes.port import Sandbox, SandboxUnavailable
from assay_testkit.outside import (
    FOUR,
    NAME,
    PRIVATE,
    REBOUND,
    SHUT,
    SIX,
    an_outside,
    echoing,
    policy_order,
)

MEGABYTES = 20


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[BubblewrapProvider]:
    with an_outside() as outside:
        provider = BubblewrapProvider(tmp_path / "state", outside=outside)
        yield provider
        await provider.close()


@pytest.fixture
async def online(provider: BubblewrapProvider, skills: Path) -> AsyncIterator[Sandbox]:
    async with provider.open(name="one", skills=skills, network="open", limits=LIMITS) as sandbox:
        yield sandbox


async def printed(sandbox: Sandbox, program: str) -> str:
    result = await sandbox.execute(python(program))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("host", [FOUR, SIX, f"::ffff:{FOUR}", NAME])
async def test_a_connection_is_carried_out_and_back(online: Sandbox, host: str) -> None:
    program = (
        "import socket\n"
        f"with socket.create_connection(('{host}', 80), 10) as there:\n"
        "    there.sendall(b'hello'); there.shutdown(socket.SHUT_WR)\n"
        "    print(there.makefile('rb').read())"
    )
    assert await printed(online, program) == "b'hello'\n"


@pytest.mark.parametrize(
    ("host", "destination"), [(FOUR, f"{FOUR}:80"), (SIX, f"[{SIX}]:80"), (NAME, NAME)]
)
async def test_what_is_carried_is_listed_by_the_name_that_led_there(
    online: Sandbox, host: str, destination: str
) -> None:
    await printed(
        online,
        "import socket\nfor _ in range(2):\n"
        f"    socket.create_connection(('{host}', 80), 10).close()",
    )
    (call,) = await online.network_calls()
    assert (call.destination, call.attempts) == (destination, 2)
    assert call.programs[0].command_line == "python3 -"


async def test_a_socket_that_blocks_goes_on_blocking(online: Sandbox) -> None:
    program = (
        f"import os, socket\nthere = socket.socket()\nthere.connect(('{FOUR}', 80))\n"
        "there.sendall(b'hello')\nprint(there.recv(5), os.get_blocking(there.fileno()))"
    )
    assert await printed(online, program) == "b'hello' True\n"


async def test_connections_of_one_program_go_side_by_side(online: Sandbox) -> None:
    program = (
        "import asyncio\n"
        "async def say(n):\n"
        f"    reader, writer = await asyncio.open_connection('{NAME}', 80)\n"
        "    writer.write(bytes([n])); writer.write_eof()\n"
        "    return await reader.read()\n"
        "async def main():\n"
        "    said = await asyncio.gather(*map(say, range(40)))\n"
        "    print(said == [bytes([n]) for n in range(40)])\n"
        "asyncio.run(main())"
    )
    assert await printed(online, program) == "True\n"


async def test_much_goes_both_ways_unchanged(online: Sandbox) -> None:
    program = (
        "import hashlib, os, socket, threading\n"
        f"there = socket.create_connection(('{FOUR}', 80), 60)\n"
        "chunk, sent, got = os.urandom(1 << 20), hashlib.sha256(), hashlib.sha256()\n"
        "def send():\n"
        f"    for _ in range({MEGABYTES}): there.sendall(chunk); sent.update(chunk)\n"
        "    there.shutdown(socket.SHUT_WR)\n"
        "thread = threading.Thread(target=send); thread.start(); size = 0\n"
        "while part := there.recv(1 << 16): got.update(part); size += len(part)\n"
        "thread.join(); print(size, sent.digest() == got.digest())"
    )
    assert await printed(online, program) == f"{MEGABYTES << 20} True\n"


@pytest.mark.parametrize(
    ("host", "error"),
    [
        (SHUT, "ECONNREFUSED"),
        ("169.254.169.254", "ENETUNREACH"),
        ("fe80::1", "ENETUNREACH"),
        ("224.0.0.1", "ENETUNREACH"),
    ],
)
async def test_what_cannot_be_reached_fails_as_it_would(
    online: Sandbox, host: str, error: str
) -> None:
    family = "AF_INET6" if ":" in host else "AF_INET"
    program = (
        f"import errno, socket\nthere = socket.socket(socket.{family})\n"
        f"print(errno.errorcode[there.connect_ex(('{host}', 80))])"
    )
    assert await printed(online, program) == f"{error}\n"


async def test_names_that_are_not_there_are_told_so(online: Sandbox) -> None:
    program = (
        "import socket\ntry: socket.getaddrinfo('other.example', 80)\n"
        "except socket.gaierror as error: print(error.errno == socket.EAI_NONAME)"
    )
    assert await printed(online, program) == "True\n"


async def test_datagrams_go_nowhere(online: Sandbox) -> None:
    program = (
        "import socket\nout = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        f"try: out.sendto(b'x', ('{FOUR}', 123))\n"
        "except OSError as error: print(error.strerror)"
    )
    assert await printed(online, program) == "Network is unreachable\n"


async def test_whoever_comes_to_the_gate_unasked_is_sent_away(online: Sandbox) -> None:
    program = (
        "import socket\n"
        "listening = [line.split()[1] for line in open('/proc/net/tcp')\n"
        "             if ' 0A ' in line and ' 0100007F:' in line]\n"
        "for each in listening:\n"
        "    there = socket.create_connection(('127.0.0.1', int(each.split(':')[1], 16)), 10)\n"
        "    try: there.sendall(b'hello'); print(there.recv(5))\n"
        "    except ConnectionError: print(b'')"
    )
    assert set((await printed(online, program)).splitlines()) == {"b''"}


async def test_servers_inside_are_reached_from_inside(online: Sandbox) -> None:
    await online.execute(
        "cd /tmp; echo served > page; python3 -m http.server 8000 >/dev/null 2>&1 &"
    )
    program = (
        "import time, urllib.request\n"
        "for attempt in range(100):\n"
        "    try: print(urllib.request.urlopen('http://localhost:8000/page').read()); break\n"
        "    except OSError: time.sleep(0.1)"
    )
    assert await printed(online, program) == "b'served\\n'\n"


async def test_a_connection_that_breaks_is_no_longer_watched() -> None:
    """What the event loop still watched of a closed socket would be in the way of the next."""
    (one, inside), (other, outside) = socket.socketpair(), socket.socketpair()
    for end in (one, other, inside, outside):
        end.setblocking(False)
    numbers = {one.fileno(), other.fileno()}
    carrying = asyncio.create_task(carrier.carry_between(one, other))
    await asyncio.sleep(0)
    outside.shutdown(socket.SHUT_RD)
    inside.send(b"to nobody")  # breaks the way out, while the way back still waits
    await carrying
    inside.close()
    outside.close()
    watched = set(asyncio.get_running_loop()._selector.get_map())  # type: ignore[attr-defined]
    assert not watched & numbers


async def test_nothing_of_the_machine_lies_open_afterwards(
    provider: BubblewrapProvider, skills: Path
) -> None:
    async def use() -> None:
        async with provider.open(name="one", skills=skills, network="open") as sandbox:
            held = f"exec 3<>/dev/tcp/{FOUR}/80; echo >&3; sleep 60"
            task = asyncio.create_task(sandbox.execute(f"bash -c '{held}'"))
            await sandbox.execute(f"bash -c 'exec 3<>/dev/tcp/{FOUR}/80 && echo hello >&3'")
            task.cancel()
            await asyncio.wait([task])

    await use()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        await use()
    async with asyncio.timeout(30):  # the test's own servers close their ends in their own time
        while len(os.listdir("/proc/self/fd")) > before:  # noqa: PTH208
            await asyncio.sleep(0.05)


async def test_what_a_rule_refuses_is_in_the_record_with_the_reason(
    online: Sandbox,
) -> None:
    program = (
        "import socket\n"
        f"for host in ('{PRIVATE}', '{REBOUND}', '169.254.169.254', '{FOUR}'):\n"
        "    try: socket.create_connection((host, 80), 5).close(); print('reached')\n"
        "    except OSError as error: print(error.strerror)"
    )
    no_way = "Network is unreachable"
    assert (await printed(online, program)).splitlines() == [no_way] * 3 + ["reached"]
    calls = {call.destination: call.refused for call in await online.network_calls()}
    assert calls == {
        f"{PRIVATE}:80": "an address of a private network",
        REBOUND: "an address of a private network",
        "169.254.169.254:80": "a link-local address, where clouds keep their metadata",
        f"{FOUR}:80": None,
    }


async def test_a_listed_name_and_an_index_on_this_machine_are_reached(
    tmp_path: Path, skills: Path
) -> None:
    with echoing() as index:
        rules = policy_order(names=[REBOUND], indexes=[("127.0.0.1", index)])
        with an_outside(rules) as outside:
            provider = BubblewrapProvider(tmp_path / "state", outside=outside)
            program = (
                "import socket\n"
                f"for place in (('{REBOUND}', 80), ('127.0.0.1', {index}), ('127.0.0.1', 1)):\n"
                "    try:\n"
                "        with socket.create_connection(place, 5) as there:\n"
                "            there.sendall(b'x'); print(there.recv(1))\n"
                "    except OSError as error: print(error.strerror)"
            )
            async with provider.open(name="one", skills=skills, network="open") as sandbox:
                found = (await printed(sandbox, program)).splitlines()
            async with provider.open(name="one", skills=skills, network="blocked") as sandbox:
                offline = (await printed(sandbox, program)).splitlines()
            await provider.close()
    assert found == ["b'x'", "b'x'", "Connection refused"]
    assert "b'x'" not in offline


async def test_a_machine_that_lets_no_sockets_be_shared_says_so(
    provider: BubblewrapProvider, skills: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def begin(_: WardenClient) -> Begun:
        return {"attempts": 9, "shares_sockets": False}

    monkeypatch.setattr(WardenClient, "begin", begin)
    with pytest.raises(SandboxUnavailable, match="ptrace_scope"):
        async with provider.open(name="one", skills=skills, network="open"):
            pytest.fail("it was opened")


def test_the_machines_name_servers_are_read(tmp_path: Path) -> None:
    settings = tmp_path / "resolv.conf"
    settings.write_text("# a comment\nnameserver 192.0.2.53\noptions edns0\nnameserver ::1\n")
    assert machines_name_servers(settings) == (("192.0.2.53", 53), ("::1", 53))
    assert machines_name_servers(tmp_path / "none") == ()
