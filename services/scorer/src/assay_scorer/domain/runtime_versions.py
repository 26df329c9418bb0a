"""Runtime versions: which skills each was made with, and whose environments are kept."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from assay_contracts.base import Model
from assay_contracts.runtime import RuntimeVersion
from assay_contracts.skills import SkillStatus
from assay_scorer.domain.environment import version_label
from assay_scorer.domain.validation import Validation

KEPT_VERSIONS: Final = 5
ASK_AGAIN_AFTER: Final = timedelta(seconds=60)
DOUBLED: Final = 3
"""Times that the wait before asking again doubles: eight minutes are within the margin that an
approval leaves of a candidate's life."""

SkillRevision = tuple[UUID, int]
"""A skill's id and the number of one of its revisions."""


class Version(Model):
    """The environment that one approval left; number 0 is the base, which no skill made."""

    number: int
    built_on: int | None
    snapshot: str | None
    validation_id: UUID | None
    skill_id: UUID | None
    skill_name: str | None
    skill_revision: int | None
    created_at: datetime
    created_by: str
    current: bool
    available: bool
    kept: bool
    """The sandboxes have said that its snapshot will not expire."""
    keep_attempt: int
    keep_asked_at: datetime

    def view(self) -> RuntimeVersion:
        return RuntimeVersion(
            version=version_label(self.number),
            built_on=None if self.built_on is None else version_label(self.built_on),
            skill_id=self.skill_id,
            skill_name=self.skill_name,
            created_at=self.created_at,
            created_by=self.created_by,
            is_current=self.current,
            is_available=self.available,
        )


def current(versions: Sequence[Version]) -> Version:
    return next(version for version in versions if version.current)


def next_version(
    versions: Sequence[Version], validation: Validation, actor: str, now: datetime
) -> Version:
    """What the candidate of a passed validation becomes."""
    return Version(
        number=max(version.number for version in versions) + 1,
        built_on=current(versions).number,
        snapshot=validation.candidate,
        validation_id=validation.validation_id,
        skill_id=validation.skill_id,
        skill_name=validation.skill_name,
        skill_revision=validation.revision,
        created_at=now,
        created_by=actor,
        current=True,
        available=True,
        kept=False,
        keep_attempt=1,
        keep_asked_at=now,
    )


def made_with(versions: Sequence[Version], number: int) -> frozenset[SkillRevision]:
    """The skills, by revision, whose approvals led to this version."""
    return frozenset(
        (version.skill_id, version.skill_revision)
        for version in _leading_to(versions, number)
        if version.skill_id is not None and version.skill_revision is not None
    )


def _leading_to(versions: Sequence[Version], number: int) -> Iterator[Version]:
    """A version, the one it was built on, and so on down to the base."""
    by_number: Mapping[int, Version] = {version.number: version for version in versions}
    step: int | None = number
    while step is not None:
        yield by_number[step]
        step = by_number[step].built_on


def gone(versions: Sequence[Version], number: int, approved: Collection[str]) -> tuple[str, ...]:
    """The skills that led to a version and are approved no more, as after a deletion."""
    led = {each.skill_name for each in _leading_to(versions, number) if each.skill_name}
    return tuple(sorted(led - set(approved)))


class PlacedSkill(Model):
    """A skill that is in a runtime version, or was until a rollback hid it."""

    skill_id: UUID
    name: str
    status: SkillStatus
    revision: int


def changed_by_rollback(
    skills: Iterable[PlacedSkill], made: frozenset[SkillRevision]
) -> tuple[dict[UUID, str], dict[UUID, str]]:
    """The names of skills that a version made with these revisions hides, and that it restores.

    It hides what is approved and not in it, and restores what is hidden and in it.
    """
    hidden: dict[UUID, str] = {}
    restored: dict[UUID, str] = {}
    for skill in skills:
        is_in = (skill.skill_id, skill.revision) in made
        if skill.status == "approved" and not is_in:
            hidden[skill.skill_id] = skill.name
        elif skill.status == "rollback_pending" and is_in:
            restored[skill.skill_id] = skill.name
    return hidden, restored


def was_superseded(versions: Sequence[Version], version: Version) -> bool:
    """Whether newer versions took the place of one that is unavailable; else it is lost."""
    others = [each for each in versions if each.number != version.number]
    there = version.model_copy(update={"available": True})
    return there in superseded([there, *others])


def superseded(versions: Sequence[Version], under_test: int | None = None) -> tuple[Version, ...]:
    """The versions whose snapshots are to go: all but the newest few and the current one.

    One that a full test is carried out on stays too; it goes with the next approval after that.
    """
    promoted = sorted(
        (version for version in versions if version.snapshot is not None),
        key=lambda version: version.number,
        reverse=True,
    )
    return tuple(
        version
        for version in promoted[KEPT_VERSIONS:]
        if version.available and not version.current and version.number != under_test
    )


def is_to_be_asked_for(version: Version, now: datetime) -> bool:
    """Whether it is time to ask once more that its snapshot be kept."""
    pause = ASK_AGAIN_AFTER * 2 ** min(version.keep_attempt - 1, DOUBLED)
    return version.available and not version.kept and version.keep_asked_at < now - pause
