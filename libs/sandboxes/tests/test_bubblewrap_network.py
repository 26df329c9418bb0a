"""Calls attempted without a network are counted exactly, with where they went."""

import asyncio
import struct
from collections.abc import Callable

import pytest

from assay_contracts.runs import NetworkMode
from assay_sandboxes.bubblewrap.warden.call_ledger import CallLedger
from assay_sandboxes.bubblewrap.warden.calling_processes import CallingProcess
from assay_sandboxes.bubblewrap.warden.dns_answers import addresses_in
from assay_sandboxes.conformance.under_test import ProviderUnderTest, python
from assay_sandboxes.guest.dns_questions import first_question
from assay_sandboxes.guest.socket_addresses import parse_address
from assay_sandboxes.own_names import is_own_name
from assay_sandboxes.port import Sandbox


def attempt(*calls: str) -> str:
    """A command that makes calls one after another, whatever comes of each."""
    tries = "\n".join(f"try: {call}\nexcept OSError: pass" for call in calls)
    return python(
        "import asyncio, socket, urllib.request\n"
        "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "tcp = socket.socket()\n"
        f"{tries}"
    )


async def destinations(sandbox: Sandbox, command: str) -> list[str]:
    """Where each attempt went."""
    assert (await sandbox.execute(command)).exit_code == 0
    return [
        call.destination for call in await sandbox.network_calls() for _ in range(call.attempts)
    ]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (["socket.getaddrinfo('a.example', 80)"], ["a.example"]),
        (["socket.gethostbyname('a.example')"], ["a.example"]),
        (["socket.gethostbyname('A.Example.')"], ["a.example"]),
        (["urllib.request.urlopen('http://a.example/')"] * 3, ["a.example"] * 3),
        (["urllib.request.urlopen('https://b.example:8443/')"], ["b.example"]),
        (["urllib.request.urlopen('http://192.0.2.1/')"] * 3, ["192.0.2.1:80"] * 3),
        (["asyncio.run(asyncio.open_connection('a.example', 80))"], ["a.example"]),
        (["asyncio.run(asyncio.open_connection('192.0.2.1', 80))"], ["192.0.2.1:80"]),
        (["socket.create_connection(('2001:db8::1', 443))"], ["[2001:db8::1]:443"]),
        (["socket.create_connection(('::ffff:192.0.2.1', 443))"], ["192.0.2.1:443"]),
        (["udp.sendto(b'x', ('192.0.2.1', 123))"], ["192.0.2.1:123"]),
        (["udp.sendmsg([b'x'], [], 0, ('192.0.2.1', 123))"], ["192.0.2.1:123"]),
        (["udp.connect(('192.0.2.1', 123))", "udp.send(b'x')"], ["192.0.2.1:123"]),
        (["udp.sendto(b'x', ('224.0.0.251', 5353))"], ["224.0.0.251:5353"]),
        (["tcp.sendto(b'x', 0x20000000, ('192.0.2.1', 80))"], ["192.0.2.1:80"]),
        (
            ["socket.gethostbyname('a.example')", "socket.create_connection(('192.0.2.1', 80))"],
            ["a.example", "192.0.2.1:80"],
        ),
    ],
)
async def test_each_attempt_is_counted_once(
    blocked_sandbox: Sandbox, calls: list[str], expected: list[str]
) -> None:
    assert await destinations(blocked_sandbox, attempt(*calls)) == expected


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param(["None"], id="nothing"),
        pytest.param(["socket.create_connection(('127.0.0.1', 9))"], id="closed port"),
        pytest.param(["socket.create_connection(('127.0.0.2', 9))"], id="all of 127"),
        pytest.param(["socket.create_connection(('0.0.0.0', 9))"], id="unspecified"),
        pytest.param(["socket.create_connection(('::1', 9))"], id="IPv6"),
        pytest.param(["socket.create_connection(('::ffff:127.0.0.1', 9))"], id="mapped"),
        pytest.param(["socket.create_connection(('localhost', 9))"], id="localhost"),
        pytest.param(["socket.gethostbyname('app.localhost')"], id="below localhost"),
        pytest.param(["socket.gethostbyname(socket.gethostname())"], id="own name"),
        pytest.param(["socket.gethostbyaddr('127.0.0.9')"], id="reverse"),
        pytest.param(["udp.sendto(b'x', ('127.0.0.1', 9))"], id="datagram"),
        pytest.param(["socket.socket(socket.AF_UNIX).connect('/tmp/none')"], id="unix"),
        pytest.param(["tcp.connect(('127.0.0.53', 53))"], id="name server"),
    ],
)
async def test_its_own_loopback_does_not_count(blocked_sandbox: Sandbox, calls: list[str]) -> None:
    assert await destinations(blocked_sandbox, attempt(*calls)) == []


ASK_OVER_A_CONNECTION = """
import socket, struct
def ask(there, name):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    question = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, 1, 1)
    there.sendall(struct.pack(">H", len(question)) + question)
    return there.recv(2 + 512)[2 + 3] & 15
with socket.create_connection(("127.0.0.53", 53)) as there:
    print([ask(there, name) for name in ("a.example", "b.example", "a.example", "localhost")])
socket.setdefaulttimeout(5)
try: socket.gethostbyname("c.example")
except OSError: pass
"""


@pytest.mark.parametrize("network", ["open", "blocked"])
async def test_look_ups_over_a_connection_count_like_any_other(
    bubblewrap: ProviderUnderTest, network: NetworkMode
) -> None:
    async with bubblewrap.open(network) as sandbox:
        asked = await sandbox.execute(python(ASK_OVER_A_CONNECTION))
        assert asked.exit_code == 0, asked.stderr
        calls = await sandbox.network_calls()
    found = [(call.destination, call.attempts) for call in calls]
    assert found == [("a.example", 2), ("b.example", 1), ("c.example", 1)]
    assert len({call.process for call in calls}) == 1
    assert network == "open" or asked.stdout == "[3, 3, 3, 3]\n"


async def test_a_server_and_its_client_inside_do_not_count(blocked_sandbox: Sandbox) -> None:
    served = python(
        "import http.server, threading, urllib.request\n"
        "server = http.server.HTTPServer(('', 0), http.server.SimpleHTTPRequestHandler)\n"
        "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
        "for host in ('127.0.0.1', 'localhost'):\n"
        "    urllib.request.urlopen(f'http://{host}:{server.server_port}/').read()"
    )
    assert await destinations(blocked_sandbox, served) == []


async def test_a_call_fails_at_once_instead_of_running_into_a_time_limit(
    blocked_sandbox: Sandbox,
) -> None:
    result = await blocked_sandbox.execute(
        attempt(
            *["urllib.request.urlopen('http://a.example/')", "tcp.connect(('192.0.2.1', 80))"] * 5
        )
    )
    # Each that waited for an answer would take two seconds or more.
    assert result.seconds < 9


async def test_a_daemon_is_watched_and_its_command_named(blocked_sandbox: Sandbox) -> None:
    daemon = python(
        "import os, socket, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "while not os.path.exists('/workspace/go'): time.sleep(0.01)\n"
        "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for number in (1, 2):\n"
        "    try: udp.sendto(b'x', ('192.0.2.1', number))\n"
        "    except OSError: pass\n"
        "try: socket.gethostbyname('late.example')\n"
        "except OSError: pass\n"
        "open('/workspace/done', 'w').close()"
    )
    assert (await blocked_sandbox.execute(daemon)).exit_code == 0
    assert await blocked_sandbox.network_calls() == []
    wait = "touch /workspace/go; until test -e /workspace/done; do sleep 0.01; done"
    assert (await blocked_sandbox.execute(wait)).exit_code == 0
    calls = await blocked_sandbox.network_calls()
    expected = ["192.0.2.1:1", "192.0.2.1:2", "late.example"]
    assert [call.destination for call in calls] == expected
    assert {call.command for call in calls} == {daemon[:200]}


async def test_commands_side_by_side_answer_for_their_own_calls(blocked_sandbox: Sandbox) -> None:
    commands = [
        f": {number}; " + attempt(f"socket.gethostbyname('n{number}.example')")
        for number in range(6)
    ]
    await asyncio.gather(*(blocked_sandbox.execute(command) for command in commands))
    made = {call.destination: call.command for call in await blocked_sandbox.network_calls()}
    assert made == {f"n{number}.example": commands[number][:200] for number in range(6)}


async def test_one_name_asked_by_two_commands_is_two_calls(blocked_sandbox: Sandbox) -> None:
    only = "socket.getaddrinfo('a.example', 80, socket.{})"
    await blocked_sandbox.execute(attempt(only.format("AF_INET")))
    await blocked_sandbox.execute(attempt(only.format("AF_INET6")))
    assert [call.destination for call in await blocked_sandbox.network_calls()] == ["a.example"] * 2


async def test_signals_do_not_make_a_call_count_twice(blocked_sandbox: Sandbox) -> None:
    program = python(
        "import signal, socket\n"
        "signal.signal(signal.SIGALRM, lambda *_: None)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)\n"
        "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for number in range(300):\n"
        "    try: udp.sendto(b'x', ('192.0.2.1', 9))\n"
        "    except OSError: pass\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)"
    )
    assert await destinations(blocked_sandbox, program) == ["192.0.2.1:9"] * 300


async def test_one_datagram_after_another_in_one_system_call_is_one_attempt(
    blocked_sandbox: Sandbox,
) -> None:
    program = python(
        "import ctypes, socket, struct\n"
        "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "place = struct.pack('<H', 2) + struct.pack('>H', 9) + bytes([192, 0, 2, 1]) + bytes(8)\n"
        "place = ctypes.create_string_buffer(place, 16)\n"
        "data = ctypes.create_string_buffer(b'x', 1)\n"
        "vector = ctypes.create_string_buffer(struct.pack('<QQ', ctypes.addressof(data), 1), 16)\n"
        "one = struct.pack('<QI4xQQQQi4xI4x', ctypes.addressof(place), 16,\n"
        "                  ctypes.addressof(vector), 1, 0, 0, 0, 0)\n"
        "both = ctypes.create_string_buffer(one * 2, 128)\n"
        "assert ctypes.CDLL(None).sendmmsg(udp.fileno(), both, 2, 0) == -1"
    )
    assert await destinations(blocked_sandbox, program) == ["192.0.2.1:9"]


async def test_a_flood_of_calls_neither_hangs_nor_fills_memory(blocked_sandbox: Sandbox) -> None:
    program = python(
        "import socket\n"
        "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for number in range(3000):\n"
        "    try: udp.sendto(b'x', ('192.0.2.1', 9))\n"
        "    except OSError: pass"
    )
    assert await destinations(blocked_sandbox, program) == ["192.0.2.1:9"] * 3000


async def test_a_flood_for_one_place_hides_no_other(blocked_sandbox: Sandbox) -> None:
    program = attempt(
        *["udp.sendto(b'x', ('192.0.2.1', 9))"] * 1200,
        *(f"udp.sendto(b'x', ('192.0.2.2', {port}))" for port in (1, 2)),
    )
    await blocked_sandbox.execute(program)
    calls = await blocked_sandbox.network_calls()
    assert [call.destination for call in calls] == ["192.0.2.1:9", "192.0.2.2:1", "192.0.2.2:2"]


async def test_processes_of_one_command_call_each_for_itself(blocked_sandbox: Sandbox) -> None:
    once = attempt("socket.gethostbyname('a.example')")
    await blocked_sandbox.execute(f"{once}\n{once}")
    calls = await blocked_sandbox.network_calls()
    assert [call.destination for call in calls] == ["a.example"] * 2
    assert len({call.process for call in calls}) == 2


async def test_a_call_tells_who_started_its_program(blocked_sandbox: Sandbox) -> None:
    script = b"import socket\ntry: socket.gethostbyname('a.example')\nexcept OSError: pass\n"
    await blocked_sandbox.upload(
        [("/workspace/a/fetch.py", script), ("/workspace/a/run.sh", b"python3 a/fetch.py; true\n")]
    )
    await blocked_sandbox.execute("env -i sh a/run.sh; true")
    (call,) = await blocked_sandbox.network_calls()
    assert [(each.command_line, each.folder) for each in call.programs][:2] == [
        ("python3 a/fetch.py", "/workspace"),
        ("sh a/run.sh", "/workspace"),
    ]
    assert (call.command, call.cwd) == ("env -i sh a/run.sh; true", "/workspace")


async def test_an_open_network_is_watched_too(bubblewrap: ProviderUnderTest) -> None:
    command = attempt(
        "udp.sendto(b'x', ('127.0.0.1', 9))", *["udp.sendto(b'x', ('192.0.2.1', 9))"] * 2
    )
    async with bubblewrap.open("open") as sandbox:
        await sandbox.execute(command)
        (call,) = await sandbox.network_calls()
        assert sandbox.proof().is_watched
    assert (call.destination, call.attempts) == ("192.0.2.1:9", 2)
    assert (call.command, call.cwd) == (command[:200], "/workspace")
    assert call.programs[0].command_line == "python3 -"


@pytest.mark.parametrize(
    ("program", "command", "expected"),
    [
        ("curl", "curl -s http://a.example/", ["a.example"]),
        ("curl", "curl -s http://192.0.2.1/", ["192.0.2.1:80"]),
        ("curl", "curl -sg 'http://[2001:db8::1]/'", ["[2001:db8::1]:80"]),
        ("curl", "curl -s http://a.example/ & sleep 0.3; wait", ["a.example"]),
        ("getent", "getent ahosts a.example", ["a.example"]),
        ("node", "node -e \"fetch('http://a.example/').catch(() => 0)\"", ["a.example"]),
        ("git", "git clone -q https://a.example/x.git", ["a.example"]),
        (
            "pip3",
            "pip3 install -q --retries 1 -i https://a.example/simple nothing",
            ["a.example"] * 2,
        ),
    ],
)
async def test_common_programs_are_counted_exactly(
    bubblewrap: ProviderUnderTest, program: str, command: str, expected: list[str]
) -> None:
    async with bubblewrap.open() as sandbox:
        if (await sandbox.execute(f"{program} --version")).exit_code != 0:
            pytest.skip(f"this machine has no {program}")
        await sandbox.execute(command)
        calls = await sandbox.network_calls()
    assert [call.destination for call in calls for _ in range(call.attempts)] == expected


# Without a sandbox -------------------------------------------------------------------------------


def test_what_only_the_kernel_saw_is_listed_as_unknown() -> None:
    count = 5
    ledger = CallLedger(lambda: count)
    ledger.address("192.0.2.1:80", CallingProcess(command=1), let_go_on=True)
    count = 8
    calls = ledger.listed()
    assert [call["destination"] for call in calls] == ["192.0.2.1:80", "unknown", "unknown"]
    assert ledger.listed() == calls
    assert ledger.forget() == 3
    assert ledger.listed() == []


def test_what_the_kernel_never_acted_on_is_counted_all_the_same() -> None:
    ledger = CallLedger(lambda: 0)
    ledger.address("192.0.2.1:80", None)
    assert [call["destination"] for call in ledger.listed()] == ["192.0.2.1:80"]


def test_a_name_asked_for_in_a_search_domain_is_the_name_that_was_meant() -> None:
    ledger = CallLedger(search=("corp.example",))
    caller = CallingProcess(command=1, process="7-1")
    for name in ("a.example", "a.example.corp.example"):
        ledger.lookup(name, 1, caller)
        ledger.lookup(name, 28, caller)
    (call,) = ledger.listed()
    assert (call["destination"], call["attempts"]) == ("a.example", 1)


def test_where_the_process_is_not_known_the_command_and_the_place_tell_calls_apart() -> None:
    ledger = CallLedger()
    for number, place in ((1, "192.0.2.1:80"), (1, "192.0.2.1:80"), (2, "192.0.2.1:80")):
        ledger.address(place, CallingProcess(command=number))
    assert [(call["command"], call["attempts"]) for call in ledger.listed()] == [(1, 2), (2, 1)]


def test_an_answer_tells_what_addresses_a_name_led_to() -> None:
    asked = query("www.example.com")
    alias = b"\xc0\x0c" + struct.pack(">HHIH", 5, 1, 60, 2) + b"\xc0\x10"
    found = b"\xc0\x10" + struct.pack(">HHIH", 1, 1, 60, 4) + bytes([192, 0, 2, 9])
    answer = asked[:6] + struct.pack(">H", 2) + asked[8:] + alias + found
    assert addresses_in(answer) == ("www.example.com", ["192.0.2.9"])
    assert addresses_in(answer[:-2]) == ("www.example.com", [])
    assert addresses_in(b"") == ("", [])


def query(name: str) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">6H", 1, 0x100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, 28, 1)


def test_a_question_is_read() -> None:
    packet = query("WWW.example.com")
    assert first_question(packet) == ("www.example.com", 28, len(packet))


@pytest.mark.parametrize(
    "damage", [lambda p: p[:12], lambda p: p[:-3], lambda _: b"", lambda p: p[:12] + b"\xff" * 40]
)
def test_a_damaged_question_is_no_question(damage: Callable[[bytes], bytes]) -> None:
    assert first_question(damage(query("www.example.com"))) is None


def test_only_names_of_the_sandbox_itself_are_its_own() -> None:
    own = ("localhost", "sandbox", "a.localhost", "1.0.0.127.in-addr.arpa")
    others = ("example.com", "notlocalhost", "1.2.0.192.in-addr.arpa", "sandbox.example")
    assert all(map(is_own_name, own))
    assert not any(map(is_own_name, others))


def test_an_address_of_another_family_is_no_place() -> None:
    assert parse_address(struct.pack("<H", 1) + b"/run/socket") is None
    assert parse_address(b"") is None
    assert parse_address(struct.pack("<H", 10) + bytes(10)) is None
