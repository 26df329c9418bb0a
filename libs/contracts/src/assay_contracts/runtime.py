"""Runtime versions: the environments that agents work in, one for each approval."""

from typing import ClassVar, Final
from uuid import UUID

from pydantic import AwareDatetime, Field

from assay_contracts.base import Message, Model
from assay_contracts.rpc import Repeatable, Rpc

VERSION_PATTERN: Final = r"^v1\.(0|[1-9][0-9]{0,8})$"


class RuntimeVersion(Model):
    version: str = Field(pattern=VERSION_PATTERN)
    """`v1.0` is the base environment."""
    built_on: str | None
    """The version it adds one skill to; none for the base."""
    skill_id: UUID | None
    skill_name: str | None
    created_at: AwareDatetime
    created_by: str
    is_current: bool
    is_available: bool
    """Its environment is still there, so that it can be made current."""


class RuntimeVersions(Model):
    versions: tuple[RuntimeVersion, ...]
    """Newest first."""
    current_version: str
    total: int


class ListVersions(Rpc[RuntimeVersions]):
    SUBJECT: ClassVar[str] = "records.list-versions"
    REPLY = RuntimeVersions


class RollbackReply(Model):
    previous_version: str
    current_version: str
    hidden_skills: tuple[str, ...]
    """Now `rollback_pending`: the current version was made without them."""
    restored_skills: tuple[str, ...]
    """Approved again: the current version was made with them."""


class RollbackRuntime(Repeatable, Rpc[RollbackReply]):
    """Make another version current, older or, while its environment exists, newer.

    Refused with `IMAGE_NOT_FOUND`, or `INVALID_STATUS_TRANSITION` if it is current already.
    """

    SUBJECT: ClassVar[str] = "records.rollback"
    REPLY = RollbackReply

    target_version: str = Field(pattern=VERSION_PATTERN)
    actor: str = Field(min_length=1)
    dry_run: bool = False
    """Answer what it would do, and do nothing."""


class RuntimePromoted(Message):
    """An approval made a new runtime version, which is now current. Public."""

    SUBJECT: ClassVar[str] = "runtime.promoted"

    version: str
    built_on: str
    snapshot: str
    skill_id: UUID
    skill_name: str
    actor: str

    def dedup_key(self) -> str:
        return f"{self.SUBJECT}:{self.version}"


class RuntimeRolledBack(Message):
    """Another runtime version was made current. Public."""

    SUBJECT: ClassVar[str] = "runtime.rolled-back"

    previous_version: str
    current_version: str
    hidden_skills: tuple[str, ...]
    restored_skills: tuple[str, ...]
    actor: str


QUESTIONS: Final[tuple[type[Message], ...]] = (
    ListVersions,
    RollbackRuntime,
)
"""What the gateway asks of the records here."""
