"""Online sandboxes reach the outside through their wardens, and this machine in no way.

What stands for the outside is on this machine's loopback: addresses that nobody has are dialled
there, as a name server of the test's own says.
"""

import asyncio
import ipaddress
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import assay_sandboxes
from assay_sandboxes.bubblewrap.host.outside import Outside, machines_name_servers
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.bubblewrap.host.sandbox import BubblewrapSandbox
from assay_sandboxes.bubblewrap.host.warden_client import WardenClient
from assay_sandboxes.bubblewrap.warden import carrier
from assay_sandboxes.bubblewrap.warden.egress_policy import EgressPolicy, is_this_machine
from assay_sandboxes.bubblewrap.warden.orders import NO_POLICY, Begun, PolicyOrder
from assay_sandboxes.conformance.under_test import LIMITS, python
from assay_sandboxes.port import Sandbox, SandboxUnavailable

FOUR, SIX, SHUT, PRIVATE = "198.51.100.7", "2001:db8::7", "198.51.100.8", "10.1.2.3"
NAME, REBOUND = "named.example", "rebound.example"
MEGABYTES = 20


def _echo(connection: socket.socket) -> None:
    with connection:
        while chunk := connection.recv(65536):
            connection.sendall(chunk)


@contextmanager
def echoing() -> Iterator[int]:
    """A server that says what it is told; its port."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:

        def serve() -> None:
            try:
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=_echo, args=(connection,), daemon=True).start()
            except OSError:
                return

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def answer_to(question: bytes) -> bytes:
    """An answer with the address of `NAME`, or of `REBOUND`; others do not exist."""
    end = question.index(b"\0", 12) + 5
    asked = question[12:end]
    address = {b"\x05named": FOUR, b"\x07reboun": PRIVATE}.get(asked[: 6 if asked[0] == 5 else 7])
    known = address is not None and asked.endswith(b"\x07example\0\0\1\0\1")
    record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + ipaddress.IPv4Address(address or 0).packed
    flags = b"\x81\x80" if address else b"\x81\x83"
    counts = b"\0\1" + (b"\0\1" if known else b"\0\0") + bytes(4)
    return question[:2] + flags + counts + asked + (record if known else b"")


@contextmanager
def naming() -> Iterator[int]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                question, asker = server.recvfrom(4096)
                if not question:
                    return
                server.sendto(answer_to(question), asker)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.sendto(b"", server.getsockname())
        thread.join()


@contextmanager
def an_outside(policy: PolicyOrder = NO_POLICY) -> Iterator[Outside]:
    """Addresses that nobody has lead to servers of the test's own."""
    with echoing() as port, naming() as names, socket.socket() as shut:
        shut.bind(("127.0.0.1", 0))
        here = dict.fromkeys((FOUR, SIX, PRIVATE), ("127.0.0.1", port))
        yield Outside(
            policy=policy,
            name_servers=(("127.0.0.1", names),),
            detours=here | {SHUT: ("127.0.0.1", shut.getsockname()[1])},
        )


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


# What may be reached ------------------------------------------------------------------------------


def policy(**given: object) -> PolicyOrder:
    return NO_POLICY | given  # type: ignore[return-value]  # the same fields, some of them given


@pytest.mark.parametrize(
    "address",
    [
        *("10.0.0.1", "172.16.9.9", "172.31.255.255", "192.168.1.1", "100.64.0.1", "198.18.0.1"),
        *("169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "0.1.2.3"),
        *("fd00:ec2::254", "fd20:ce::254", "fd12::1", "fe80::1", "fec0::1", "ff02::1", "224.0.0.1"),
        *("255.255.255.255", "240.0.0.1", "::ffff:10.0.0.1", "::10.0.0.1", "64:ff9b::a00:1"),
        *("64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:a00:1::1", "2001:0:1::1", "::"),
    ],
)
def test_what_is_not_the_public_internet_is_not_reached_by_default(address: str) -> None:
    host = ipaddress.ip_address(address)
    assert EgressPolicy(NO_POLICY).refusal(host, 80, ()) is not None


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f::1", "172.32.0.1", "11.0.0.1"])
def test_the_public_internet_is_reached(address: str) -> None:
    host = ipaddress.ip_address(address)
    assert EgressPolicy(NO_POLICY).refusal(host, 80, ()) is None
    listed_only = EgressPolicy(policy(only_listed=True))
    assert listed_only.refusal(host, 80, ()) == "not on the list of what may be reached"


def test_lists_let_through_by_name_and_by_range_and_never_to_this_machine() -> None:
    rules = EgressPolicy(policy(names=["git.corp.example", ".lab.example"], ranges=["10.1.0.0/16"]))
    inside, elsewhere = ipaddress.ip_address("10.1.2.3"), ipaddress.ip_address("10.2.2.3")
    assert rules.refusal(inside, 80, ()) is None
    assert rules.refusal(elsewhere, 80, ()) == "an address of a private network"
    assert rules.refusal(elsewhere, 80, {"git.corp.example"}) is None
    assert rules.refusal(elsewhere, 80, {"a.b.lab.example"}) is None
    assert rules.refusal(elsewhere, 80, {"evil.example", "xlab.example"}) is not None
    everything = EgressPolicy(policy(ranges=["0.0.0.0/0", "::/0"], names=["me.example"]))
    for own in ("127.0.0.1", "127.9.9.9", "::1", "64:ff9b::7f00:1"):
        host = ipaddress.ip_address(own)
        assert everything.refusal(host, 80, {"me.example"}) == "an address of this machine"


def test_an_index_of_this_machine_is_let_through_at_its_port_alone() -> None:
    rules = EgressPolicy(policy(indexes=[("127.0.0.1", 3141), ("pkgs.corp.example", 443)]))
    here, private = ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("10.9.9.9")
    assert rules.refusal(here, 3141, ()) is None
    assert rules.refusal(here, 4222, ()) == "an address of this machine"
    assert rules.refusal(private, 443, {"pkgs.corp.example"}) is None
    assert rules.refusal(private, 22, {"pkgs.corp.example"}) is not None


def own_addresses() -> list[str]:
    """Every address of this machine, the second of an interface too."""
    four = Path("/proc/net/fib_trie").read_text().splitlines()
    listed = {
        above.split()[-1] for above, line in pairwise(four) if line.strip() == "/32 host LOCAL"
    }
    six = Path("/proc/net/if_inet6").read_text().split()[::6]
    return sorted(listed | {str(ipaddress.IPv6Address(int(each, 16))) for each in six})


def test_every_address_of_this_machine_is_known_for_one() -> None:
    addresses = own_addresses()
    assert "127.0.0.1" in addresses
    assert [each for each in addresses if not is_this_machine(ipaddress.ip_address(each))] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives an interface an address")
def test_the_second_address_of_an_interface_is_this_machine_too() -> None:
    """In a network namespace of the test's own: the kernel reaches it from the first address."""
    source = Path(assay_sandboxes.__file__).parents[1]
    program = (
        f"import ipaddress, sys\nsys.path.insert(0, {str(source)!r})\n"
        "from assay_sandboxes.bubblewrap.warden.egress_policy import is_this_machine\n"
        "print([is_this_machine(ipaddress.ip_address(each))\n"
        "       for each in ('203.0.113.5', '203.0.113.6', '198.51.100.9')])"
    )
    setup = (
        "ip link set lo up && ip addr add 203.0.113.5/24 dev lo"
        " && ip addr add 203.0.113.6/24 dev lo"
    )
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", f'{setup} && exec "$0" -c "$1"', sys.executable, program],
        capture_output=True,
        text=True,
        check=False,
    )
    if "Operation not permitted" in done.stderr or "not found" in done.stderr:
        pytest.skip(f"no network namespace to try it in: {done.stderr}")
    assert done.stdout == "[True, True, False]\n", done.stderr


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
        rules = policy(names=[REBOUND], indexes=[("127.0.0.1", index)])
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


# What a sandbox does to its own warden -----------------------------------------------------------

MANY_SOCKETS = """
import os, socket, time
for _ in range(9):
    if os.fork() == 0:
        held = []
        for _ in range(1000):
            held.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            held[-1].bind(("127.0.0.1", 0))
        os.mkdir(f"/tmp/holding-{os.getpid()}"); time.sleep(60)
while len(os.listdir("/tmp")) < 9: time.sleep(0.01)
for number in range(20):
    try: socket.gethostbyname(f"n{number}.other.example")
    except OSError: pass
"""
SLOW_TO_CONNECT = """
import fcntl, socket, struct, threading
caller = socket.socket()
key = struct.pack("<H2s4s", 2, bytes(2), bytes([127, 0, 0, 1])) + bytes(120)
caller.setsockopt(6, 14, key + struct.pack("<BBHI", 0, 0, 4, 0) + b"seal" + bytes(76))
def block():
    while True: fcntl.fcntl(caller.fileno(), fcntl.F_SETFL, 0)
threading.Thread(target=block, daemon=True).start()
try: caller.connect((HOST, 80)); print("connected")
except OSError as error: print(error.strerror)
"""
NEVER_ARRIVING = """
import socket
reached = 0
for _ in range(600):
    caller = socket.socket()
    caller.setsockopt(6, 30, 1), caller.setsockopt(6, 34, 1)
    try: caller.connect((HOST, 80)); reached += 1
    except BlockingIOError: pass
    caller.close()
print(reached)
"""


async def longest_stand_still(until: asyncio.Task[str]) -> float:
    """Seconds for which this event loop did nothing else."""
    worst = 0.0
    while not until.done():
        began = time.monotonic()
        await asyncio.sleep(0.01)
        worst = max(worst, time.monotonic() - began)
    return worst


@pytest.mark.parametrize(
    ("attack", "came_of_it"),
    [
        pytest.param(MANY_SOCKETS, "", id="many sockets and look-ups"),
        pytest.param(SLOW_TO_CONNECT, "Connection timed out\n", id="a socket that never connects"),
        pytest.param(NEVER_ARRIVING, "256\n", id="sockets that never arrive"),
    ],
)
async def test_nobody_else_is_held_up_by_what_a_sandbox_does_to_its_network(
    provider: BubblewrapProvider, skills: Path, attack: str, came_of_it: str
) -> None:
    roomy = replace(LIMITS, processes=64)
    async with (
        provider.open(name="one", skills=skills, network="open", limits=roomy) as hostile,
        provider.open(name="two", skills=skills, network="open", limits=LIMITS) as honest,
    ):
        await printed(honest, f"import socket; socket.create_connection(('{FOUR}', 80), 5)")
        descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        attacking = asyncio.create_task(printed(hostile, f"HOST = '{FOUR}'\n{attack}"))
        watching = asyncio.create_task(longest_stand_still(attacking))
        await printed(honest, f"import socket; socket.create_connection(('{FOUR}', 80), 5)")
        assert await attacking == came_of_it
        assert await watching < 2.0
        # The test's own server has its ends of those that were carried.
        assert len(os.listdir("/proc/self/fd")) <= descriptors + 256 + 8  # noqa: PTH208
        assert await hostile.network_calls()


async def test_a_sandbox_whose_warden_ends_is_lost_and_its_calls_are_not_taken_for_none(
    provider: BubblewrapProvider, skills: Path
) -> None:
    async with provider.open(name="one", skills=skills, network="blocked") as sandbox:
        assert isinstance(sandbox, BubblewrapSandbox)
        launched = sandbox._processes._launched_processes
        assert launched is not None
        launched.warden.kill()
        await launched.warden.wait()
        with pytest.raises(SandboxUnavailable, match="warden"):
            await sandbox.network_calls()
        with pytest.raises(SandboxUnavailable, match="warden"):
            await sandbox.execute("true")


async def test_a_warden_has_limits_of_its_own_and_no_rights_of_root(online: Sandbox) -> None:
    assert isinstance(online, BubblewrapSandbox)
    launched = online._processes._launched_processes
    assert launched is not None
    folder = Path("/proc", str(launched.warden.pid))
    status = dict(
        line.split(":\t", 1)
        for line in (folder / "status").read_text().splitlines()
        if ":\t" in line
    )
    assert "0" not in status["Uid"].split()
    assert int(status["CapEff"], 16) == 0
    limits = (folder / "limits").read_text()
    assert re.search(r"Max open files +1024 +1024", limits)
    assert re.search(rf"Max data size +{256 * 1024**2} ", limits)
    assert re.search(r"Max cpu time +\d+ ", limits)


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
