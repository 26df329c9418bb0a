"""`assay events`: public events as they happen, from the gateway or straight from the bus."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

import nats
import typer
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from assay_cli.commands import single_command
from assay_cli.connection import Connection, connection
from assay_cli.exit_codes import CommandError, Exit
from assay_cli.gateway_client import GatewayClient, with_client
from assay_cli.options import Json, Token, Url
from assay_cli.printing import say, say_json
from assay_cli.signals import run_until_stopped
from assay_contracts.topology import PUBLIC_FACTS
from assay_reporting.text import one_line
from assay_servicekit.kept_messages import Kept, KeptMessages

SUBJECTS: Final = tuple(fact.SUBJECT for fact in PUBLIC_FACTS)
CONNECT_WITHIN_S: Final = 5.0
SHOWN_FIELDS: Final = (
    "skill_name",
    "name",
    "status",
    "verdict",
    "version",
    "current_version",
    "reason",
)
"""Fields that say in a line what an event is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which events are asked for, and how to show them."""

    types: tuple[str, ...]
    """Subjects; none means all public ones."""
    since: str | None
    """The id of an event to go on after, or on the bus a time."""
    count: int | None
    """How many to show before it ends."""
    as_json: bool


app = single_command()


@app.command()
def events(
    *,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", "-t", help="Only these, for example validation.completed."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="Begin after the event with this id; 0 shows all there are. With --bus, also a"
            " time: 2026-01-31T12:00:00Z."
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="End after that many; by default go on for ever.")
    ] = None,
    bus: Annotated[
        str | None,
        typer.Option(help="Listen on the bus itself, at the address `assay up` prints."),
    ] = None,
    as_json: Json = False,
    url: Url = None,
    token: Token = None,
) -> Exit:
    """Follow public facts as they happen, a line each; what was missed comes after a break."""
    wanted = Wanted(types=tuple(types or ()), since=since, count=count, as_json=as_json)
    if bus is not None:
        _from_bus(bus, wanted)
    else:
        _from_gateway(connection(url, token), wanted)
    return Exit.PASSED


def _check_types(types: Sequence[str]) -> None:
    """Raises CommandError."""
    unknown = [each for each in types if each not in SUBJECTS]
    if unknown:
        raise CommandError(
            f"There are no events called {one_line(', '.join(unknown))}: there are"
            f" {', '.join(SUBJECTS)}.",
            Exit.BAD_INPUT,
        )


def _from_gateway(to: Connection, wanted: Wanted) -> None:
    """Until a signal, or `count` events. Raises CommandError or Interrupted."""
    _check_types(wanted.types)

    async def work(client: GatewayClient) -> None:
        parameters = {"types": wanted.types} if wanted.types else {}
        shown = 0
        async with aclosing(client.follow_events(parameters, wanted.since)) as stream:
            async for event in stream:
                if event.event in SUBJECTS:
                    _show(event.event, event.data, event.id, as_json=wanted.as_json)
                    shown += 1
                    if shown == wanted.count:
                        return

    with_client(to, work)


def _from_bus(url: str, wanted: Wanted) -> None:
    """As `_from_gateway`, with the observer's address of the bus."""
    _check_types(wanted.types)

    async def work() -> None:
        shown = 0
        async with aclosing(_messages(url, wanted.types or SUBJECTS, wanted.since)) as messages:
            async for message in messages:
                data = message.data.decode()
                _show(message.subject, data, str(message.sequence), as_json=wanted.as_json)
                shown += 1
                if shown == wanted.count:
                    return

    run_until_stopped(work())


async def _messages(
    url: str, subjects: Sequence[str], since: str | None
) -> AsyncGenerator[Kept, None]:
    """What was kept since then, and what is said live, each once and in order."""
    live: asyncio.Queue[Msg] = asyncio.Queue()
    try:
        async with asyncio.timeout(CONNECT_WITHIN_S):
            bus = await nats.connect(url, max_reconnect_attempts=-1, error_cb=_ignored)
    except (NatsError, OSError, TimeoutError) as error:
        raise CommandError(
            f"The bus cannot be reached ({one_line(str(error)) or type(error).__name__}): `assay"
            " up` prints the address, with the observer's password.",
            Exit.INCONCLUSIVE,
        ) from error
    try:
        for subject in subjects:
            await bus.subscribe(subject, cb=live.put)
        await bus.flush()
        kept, last = KeptMessages(lambda: bus, "FACTS"), 0
        if since is not None:
            async with aclosing(kept.after(await _sequence(kept, since))) as messages:
                async for message in messages:
                    last = message.sequence
                    if message.subject in subjects:
                        yield message
        while True:
            heard = await live.get()
            number = int((heard.headers or {}).get("Nats-Sequence", "0"))
            if number > last:
                last = number
                yield Kept(number, heard.subject, heard.data)
    except (NatsError, TimeoutError) as error:
        raise CommandError(
            f"The bus did not tell what it keeps ({one_line(str(error)) or type(error).__name__})."
            " Try again, or leave out --since.",
            Exit.INCONCLUSIVE,
        ) from error
    finally:
        await bus.close()


async def _sequence(kept: KeptMessages, since: str) -> int:
    """The id that `since` is, or that was the last before that time. Raises CommandError."""
    if since.isdecimal():
        return int(since)
    try:
        time = datetime.fromisoformat(since)
    except ValueError as error:
        raise CommandError(
            f"--since takes the id of an event, or a time such as 2026-01-31T12:00:00Z, not"
            f" {one_line(since)!r}.",
            Exit.BAD_INPUT,
        ) from error
    return await kept.sequence_before(time if time.tzinfo else time.replace(tzinfo=UTC))


async def _ignored(_: Exception) -> None:
    """The client connects again by itself; until then there is nothing to show."""


def _show(subject: str, data: str, event_id: str, *, as_json: bool) -> None:
    event: dict[str, object] = json.loads(data)
    if as_json:
        number = {"id": event_id} if event_id else {}
        say_json({"type": subject, **number, "data": event})
        return
    manifest = event.get("manifest")
    about = {**manifest, **event} if isinstance(manifest, dict) else event
    fields = [one_line(str(about[name]), 200) for name in SHOWN_FIELDS if about.get(name)]
    say(f"{str(event['occurred_at'])[:19]}Z  {subject}  {'  '.join(fields)}")
