"""`assay events`: public facts as they happen, from the gateway or straight from the bus."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import nats
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from assay_cli.client import AssayClient, with_client
from assay_cli.config import Connection
from assay_cli.outcome import CommandError, Exit
from assay_cli.output import say
from assay_cli.running import run_until_stopped
from assay_contracts.topology import PUBLIC_FACTS
from assay_reporting.text import one_line

SUBJECTS: Final = tuple(fact.SUBJECT for fact in PUBLIC_FACTS)
CONNECT_WITHIN_S: Final = 5.0
TOLD: Final = ("skill_name", "name", "status", "verdict", "version", "current_version", "reason")
"""Fields that say in a line what a fact is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    types: tuple[str, ...]
    """Subjects; none means all public ones."""
    since: str | None
    """The id of an event to go on after."""
    count: int | None
    """How many to show before it ends."""
    as_json: bool


def check_types(types: Sequence[str]) -> None:
    """Raises CommandError."""
    unknown = [each for each in types if each not in SUBJECTS]
    if unknown:
        raise CommandError(
            f"There are no events called {one_line(', '.join(unknown))}: there are"
            f" {', '.join(SUBJECTS)}.",
            Exit.BAD_INPUT,
        )


def follow_gateway(to: Connection, asked: Following) -> Exit:
    """Until a signal, or `count` events. Raises CommandError or Interrupted."""
    check_types(asked.types)

    async def work(client: AssayClient) -> None:
        parameters = {"types": asked.types} if asked.types else {}
        shown = 0
        async with aclosing(client.events(parameters, asked.since)) as events:
            async for event in events:
                if event.event in SUBJECTS:
                    _show(event.event, event.data, event.id, as_json=asked.as_json)
                    shown += 1
                    if shown == asked.count:
                        return

    with_client(to, work)
    return Exit.PASSED


def follow_bus(url: str, asked: Following) -> Exit:
    """As `follow_gateway`, with the observer's address of the bus; from now on only."""
    check_types(asked.types)
    if asked.since is not None:
        raise CommandError(
            "The bus tells what happens from now on: leave out --since, or leave out --bus.",
            Exit.BAD_INPUT,
        )

    async def work() -> None:
        shown = 0
        async with aclosing(_said(url, asked.types or SUBJECTS)) as said:
            async for message in said:
                _show(message.subject, message.data.decode(), "", as_json=asked.as_json)
                shown += 1
                if shown == asked.count:
                    return

    run_until_stopped(work())
    return Exit.PASSED


async def _said(url: str, subjects: Sequence[str]) -> AsyncGenerator[Msg, None]:
    heard: asyncio.Queue[Msg] = asyncio.Queue()
    try:
        async with asyncio.timeout(CONNECT_WITHIN_S):
            connection = await nats.connect(url, max_reconnect_attempts=-1, error_cb=_ignored)
    except (NatsError, OSError, TimeoutError) as error:
        raise CommandError(
            f"The bus cannot be reached ({one_line(str(error)) or type(error).__name__}): `assay"
            " up` prints the address, with the observer's password.",
            Exit.INCONCLUSIVE,
        ) from error
    try:
        for subject in subjects:
            await connection.subscribe(subject, cb=heard.put)
        await connection.flush()
        while True:
            yield await heard.get()
    finally:
        await connection.close()


async def _ignored(_: Exception) -> None:
    """The client connects again by itself; until then there is nothing to show."""


def _show(subject: str, data: str, event_id: str, *, as_json: bool) -> None:
    fact: dict[str, object] = json.loads(data)
    if as_json:
        number = {"id": event_id} if event_id else {}
        say(json.dumps({"type": subject, **number, "data": fact}, ensure_ascii=False))
        return
    manifest = fact.get("manifest")
    about = {**manifest, **fact} if isinstance(manifest, dict) else fact
    told = [one_line(str(about[name]), 200) for name in TOLD if about.get(name)]
    say(f"{str(fact['occurred_at'])[:19]}Z  {subject}  {'  '.join(told)}")
