"""Validations as they are stored: a document each, and the environments they share, once each."""

from collections import OrderedDict
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Final

from sqlalchemy import Select, Text, bindparam, cast, delete, exists, func, select
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay_scorer.adapters.tables import EnvironmentRow, ValidationRow
from assay_scorer.domain.environment import Environment
from assay_scorer.domain.validation import Validation

Stored = Select[dict[str, object], str | None]
BARE: Final = Environment()
"""The base without approved skills: there is nothing to store of it."""

STORED: Final = select(ValidationRow.document, ValidationRow.environment_id)
"""What a statement selects for `Environments.one` and `Environments.each`."""

_CONTENT = bindparam("content", type_=JSONB)
_DIGEST = func.encode(func.sha256(func.convert_to(cast(_CONTENT, Text), "UTF8")), "hex")
_INSERT = insert(EnvironmentRow).from_select(
    ["id", "document", "used_at"], select(_DIGEST, _CONTENT, bindparam("now"))
)
# Touching the row also holds it: nobody removes it before it is referred to.
_KEEP = _INSERT.on_conflict_do_update(
    index_elements=["id"], set_={"used_at": _INSERT.excluded.used_at}
).returning(EnvironmentRow.id)
_REMOVE = delete(EnvironmentRow).where(
    # Asked first: for a row that was touched meanwhile it is asked again, the other is not.
    EnvironmentRow.used_at < bindparam("before"),
    ~exists().where(ValidationRow.environment_id == EnvironmentRow.id),
)
_READ = select(EnvironmentRow.document).where(EnvironmentRow.id == bindparam("digest"))


class Environments:
    """Gives each environment an id that is the digest of its content.

    What a digest stands for never changes, so the few read last are remembered.
    """

    def __init__(self, remembered: int = 8) -> None:
        self._remembered = remembered
        self._known: OrderedDict[str, Environment] = OrderedDict()

    async def one(self, connection: AsyncConnection, statement: Stored) -> Validation | None:
        """The validation that `statement`, which begins with `STORED`, finds."""
        row = (await connection.execute(statement)).one_or_none()
        return None if row is None else await self._whole(connection, *row)

    async def each(
        self, connection: AsyncConnection, statement: Stored
    ) -> AsyncIterator[Validation]:
        """The validations that `statement`, which begins with `STORED`, finds."""
        for document, environment_id in (await connection.execute(statement)).all():
            yield await self._whole(connection, document, environment_id)

    async def _whole(
        self, connection: AsyncConnection, document: dict[str, object], digest: str | None
    ) -> Validation:
        environment = BARE if digest is None else await self._read(connection, digest)
        return from_document(document, environment)

    async def _read(self, connection: AsyncConnection, digest: str) -> Environment:
        if digest not in self._known:
            document = await connection.scalar(_READ, {"digest": digest})
            self._known[digest] = Environment.model_validate(document)
        self._known.move_to_end(digest)
        while len(self._known) > self._remembered:
            self._known.popitem(last=False)
        return self._known[digest]

    async def id_of(
        self, connection: AsyncConnection, environment: Environment, now: datetime
    ) -> str | None:
        """The id to refer to it by; it is stored if it was not. None for the bare base."""
        if environment == BARE:
            return None
        for digest, known in self._known.items():
            # Read from a row, by a validation that still refers to it.
            if known is environment:
                return digest
        content = environment.model_dump(mode="json")
        found: str = (
            await connection.execute(_KEEP, {"content": content, "now": now})
        ).scalar_one()
        return found


async def remove_unused(connection: AsyncConnection, before: datetime) -> int:
    """Remove environments that no validation refers to nor started from since `before`."""
    return (await connection.execute(_REMOVE, {"before": before})).rowcount


def as_document(validation: Validation) -> dict[str, object]:
    """What is stored of the validation itself; of approved skills, only the names."""
    document = validation.model_dump(
        mode="json",
        exclude={
            "environment": True,
            "known_results": True,
            "regressions": {"__all__": {"skill"}},
        },
    )
    for stored, regression in zip(document["regressions"], validation.regressions, strict=True):
        stored["skill"] = regression.skill.name
    return document


def from_document(document: dict[str, object], environment: Environment) -> Validation:
    """The validation that was stored, in the environment that it refers to."""
    regressions = document.get("regressions")
    if not isinstance(regressions, list) or not regressions:
        return Validation.model_validate({**document, "environment": environment})
    skills = {skill.name: skill for skill in environment.approved}
    return Validation.model_validate(
        {
            **document,
            "environment": environment,
            "regressions": [{**each, "skill": skills[each["skill"]]} for each in regressions],
        }
    )
