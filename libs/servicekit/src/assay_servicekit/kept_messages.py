"""Reads what a stream keeps without a consumer: nothing is left on the server, or moved by it."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from assay_contracts.topology import JETSTREAM_PREFIX

BATCH: Final = 500
BATCH_BYTES: Final = 4 * 1024 * 1024
"""What one request brings at most; the next one brings the rest."""
ANSWER_WITHIN_S: Final = 10.0

_NOTHING_THERE: Final = "404"
_END_OF_BATCH: Final = "204"


class ReadRefused(NatsError):
    """The server would not read the stream for us."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A message that a stream keeps."""

    sequence: int
    subject: str
    data: bytes


@dataclass(frozen=True, slots=True)
class KeptMessages:
    """What one stream keeps, by the server's direct reads."""

    connection: Callable[[], Client]
    stream: str

    async def after(self, sequence: int, subject: str = ">") -> AsyncGenerator[Kept]:
        """Everything there is now after that number, oldest first.

        Raises `nats.errors.Error` or TimeoutError.
        """
        while True:
            ended = True
            request = {
                "seq": sequence + 1,
                "next_by_subj": subject,
                "batch": BATCH,
                "max_bytes": BATCH_BYTES,
            }
            async with aclosing(self._batch(request)) as batch:
                async for message in batch:
                    if isinstance(message, Kept):
                        sequence = message.sequence
                        yield message
                    else:
                        ended = message == 0
            if ended:
                return

    async def last(self, subject: str) -> Kept | None:
        """The newest under that subject. Raises `nats.errors.Error` or TimeoutError."""
        answer = await self.connection().request(
            self._api, json.dumps({"last_by_subj": subject}).encode(), timeout=ANSWER_WITHIN_S
        )
        return None if _status(answer) == _NOTHING_THERE else _kept(answer)

    async def sequence_before(self, time: datetime) -> int:
        """Of the newest message that is older, or 0. Raises `nats.errors.Error` or TimeoutError."""
        async with aclosing(self._batch({"start_time": time.isoformat(), "batch": 1})) as found:
            async for message in found:
                if isinstance(message, Kept):
                    return message.sequence - 1
        info = await self.connection().request(
            f"{JETSTREAM_PREFIX}.STREAM.INFO.{self.stream}", timeout=ANSWER_WITHIN_S
        )
        return int(json.loads(info.data)["state"]["last_seq"])

    @property
    def _api(self) -> str:
        return f"{JETSTREAM_PREFIX}.DIRECT.GET.{self.stream}"

    async def _batch(self, request: Mapping[str, object]) -> AsyncGenerator[Kept | int]:
        """The messages, and then how many more there are."""
        inbox = self.connection().new_inbox()
        answers = await self.connection().subscribe(inbox)
        try:
            await self.connection().publish(self._api, json.dumps(request).encode(), reply=inbox)
            while True:
                answer = await answers.next_msg(ANSWER_WITHIN_S)
                status = _status(answer)
                if status == _NOTHING_THERE:
                    return
                if status == _END_OF_BATCH:
                    yield int((answer.headers or {}).get("Nats-Num-Pending", "0"))
                    return
                yield _kept(answer)
        finally:
            await answers.unsubscribe()


def _status(answer: Msg) -> str | None:
    return (answer.headers or {}).get("Status")


def _kept(answer: Msg) -> Kept:
    headers = answer.headers or {}
    if "Nats-Sequence" not in headers:
        raise ReadRefused(f"{_status(answer)} {headers.get('Description', '')}")
    return Kept(int(headers["Nats-Sequence"]), headers["Nats-Subject"], answer.data)
