"""The Idempotency-Key header: what a client sends again has its first effect and answer."""

from hashlib import sha256
from typing import Annotated, TypedDict

from fastapi import Depends, Header

from assay_gateway.adapters.http.admin import Admin


class ActorAndKey(TypedDict):
    """What every question with an effect says of who asks it."""

    actor: str
    idempotency_key: str | None
    """As the records know it: callers do not see each other's keys."""


async def _actor_and_key(
    caller: Admin,
    header: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            min_length=1,
            max_length=200,
            pattern=r"^[\x21-\x7e]+$",
            description="Chosen by the client, new for each request that is not a repetition: "
            "within a day, the same request with the same key is carried out once and answered "
            "alike.",
            examples=["5f0a8a3e-4a4c-4f0e-9f53-9b6f5f9a2f10"],
        ),
    ] = None,
) -> ActorAndKey:
    key = None if header is None else sha256(f"{caller.name}\0{header}".encode()).hexdigest()
    return ActorAndKey(actor=caller.name, idempotency_key=key)


AskedBy = Annotated[ActorAndKey, Depends(_actor_and_key)]
"""The parameter of a route that changes something."""
