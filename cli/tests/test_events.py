"""`assay events`: facts from the gateway, resumed after a break, and straight from the bus."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from subprocess import CompletedProcess
from uuid import UUID

import nats
import pytest

from assay_cli import gateway_client
from assay_cli.connection import Connection
from assay_contracts.review import SkillDeleted
from assay_testkit.gateway.scripted import JSON, ScriptedGateway
from assay_testkit.servers import RunningNats
from assay_testkit.waiting import until

Run = Callable[..., CompletedProcess[str]]


def fact(name: str) -> SkillDeleted:
    return SkillDeleted(skill_id=UUID(int=1), skill_name=name, actor="ann")


def stream(*facts: tuple[int, SkillDeleted]) -> tuple[int, str, bytes]:
    text = "".join(
        f"id: {number}\nevent: {each.SUBJECT}\ndata: {each.model_dump_json()}\n\n"
        for number, each in facts
    )
    return 200, "text/event-stream", f": hello\n\n{text}".encode()


def test_what_happens_is_told_in_lines_and_goes_on_where_it_broke_off(
    assay: Run, gateway: ScriptedGateway
) -> None:
    gateway.on(
        "GET",
        "/events?types=skill.deleted",
        stream((4, fact("one"))),
        stream((5, fact("two")), (6, fact("three"))),
    )
    done = assay(
        *("events", "--type", "skill.deleted", "--since", "3", "--count", "2"),
        ASSAY_URL=gateway.url,
        ASSAY_ADMIN_TOKEN="t",
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[1:3] for line in done.stdout.splitlines()] == [
        ["skill.deleted", "one"],
        ["skill.deleted", "two"],
    ]
    assert [request.last_event_id for request in gateway.requests] == ["3", "4"]


def test_as_json_each_fact_is_a_line(assay: Run, gateway: ScriptedGateway) -> None:
    said = fact("one")
    gateway.on("GET", "/events", stream((4, said)))
    done = assay(
        *("events", "--count", "1", "--json"), ASSAY_URL=gateway.url, ASSAY_ADMIN_TOKEN="t"
    )
    told = json.loads(done.stdout)
    assert (told["type"], told["id"]) == ("skill.deleted", "4")
    assert SkillDeleted.model_validate(told["data"]) == said


def test_an_unknown_kind_of_event_is_refused_before_asking(
    assay: Run, gateway: ScriptedGateway
) -> None:
    done = assay("events", "-t", "skill.lost", ASSAY_URL=gateway.url, ASSAY_ADMIN_TOKEN="t")
    assert done.returncode == 2
    assert "validation.completed" in done.stderr
    assert gateway.requests == []


def test_a_refusal_ends_it(assay: Run, gateway: ScriptedGateway) -> None:
    refused = b'{"code": "UNAUTHORIZED", "message": "Send a token."}'
    gateway.on("GET", "/events", (401, JSON, refused))
    done = assay("events", ASSAY_URL=gateway.url, ASSAY_ADMIN_TOKEN="t")
    assert done.returncode == 2
    assert done.stderr == "assay: UNAUTHORIZED: Send a token.\n"


class Clock:
    """Stands in for the module `time`."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


async def test_a_stream_that_was_quiet_for_long_is_taken_up_again_when_it_breaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(gateway_client, "time", clock)
    connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        # More is promised than comes, so that the client sees a break and no end.
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 999\r\n\r\n"
        writer.write(head + b": listening\n\n")
        if connections == 1:
            clock.now += 2 * gateway_client.UNREACHABLE_AFTER_S
        else:
            writer.write(b"id: 4\nevent: skill.deleted\ndata: {}\n\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    here = Connection(f"http://{host}:{port}", "t", on_this_machine=True)
    async with server, gateway_client.GatewayClient(here) as client:
        event = await anext(client.follow_events({}, None))
    assert (event.id, connections) == ("4", 2)


@pytest.mark.parametrize("since", [[], ["--since", "0"], ["--since", "2020-01-01T00:00:00Z"]])
async def test_the_bus_itself_can_be_listened_to(
    fresh_nats_server: RunningNats, since: list[str]
) -> None:
    said, later = fact("one"), fact("two")
    scorer = await nats.connect(fresh_nats_server.url("scorer"))

    async def say(each: SkillDeleted) -> None:
        await scorer.jetstream().publish(each.SUBJECT, each.model_dump_json().encode())

    await say(said)
    command = [sys.executable, "-m", "assay_cli", "events", "--json", "--count", "1", *since]
    listener = await asyncio.create_subprocess_exec(
        *(*command, "--bus", fresh_nats_server.url("observer")),
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
    )

    async def say_and_see() -> bool:
        # Nothing tells when somebody else listens: it is said until it is heard.
        await say(later)
        return listener.returncode is not None

    try:
        await until(say_and_see, why="the event is heard", timeout_s=30)
        printed, _ = await listener.communicate()
        told = json.loads(printed)
        assert SkillDeleted.model_validate(told["data"]) == (said if since else later)
        assert (told["id"] == "1") == bool(since)
        assert listener.returncode == 0
    finally:
        if listener.returncode is None:
            listener.kill()
            await listener.wait()
        await scorer.close()


def test_a_bus_that_is_not_there_is_told_so(assay: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay_cli.commands.events.CONNECT_WITHIN_S", 0.2)
    done = assay("events", "--bus", "nats://127.0.0.1:9")
    assert done.returncode == 3
    assert "The bus cannot be reached" in done.stderr
    assert done.stderr.count("\n") == 1
