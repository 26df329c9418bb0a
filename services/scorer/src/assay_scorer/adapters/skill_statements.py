"""The statements that read skills, each built once: building one costs more than running it."""

from dataclasses import dataclass
from functools import cache

from sqlalchemy import (
    Executable,
    Integer,
    Select,
    bindparam,
    func,
    select,
    text,
)
from sqlalchemy.sql import roles

from assay_scorer.adapters.tables import RevisionRow, SkillRow, ValidationRow, table_of

_Rows = Select[*tuple[object, ...]]
_ESCAPE = "/"

_LATEST = (
    select(
        RevisionRow.number,
        RevisionRow.bundle,
        RevisionRow.uploaded_by,
        RevisionRow.manifest,
        RevisionRow.findings,
    )
    .where(RevisionRow.skill_id == SkillRow.id)
    .order_by(RevisionRow.number.desc())
    .limit(1)
    .lateral("latest")
)
"""The newest revision of each skill, looked up by index for the skills at hand."""

_NEWEST = (
    select(
        ValidationRow.id.label("validation_id"),
        ValidationRow.stage,
        ValidationRow.step,
        ValidationRow.verdict,
        ValidationRow.overall,
        ValidationRow.layer1_passed,
        ValidationRow.layer2_passed,
        ValidationRow.detail,
        ValidationRow.tasks_done,
        ValidationRow.tasks_total,
        ValidationRow.started_at,
        ValidationRow.completed_at,
        ValidationRow.document["scores"].label("scores"),
        ValidationRow.document["reason"].astext.label("reason"),
    )
    .where(
        ValidationRow.skill_id == SkillRow.id,
        ValidationRow.revision == _LATEST.c.number,
        ValidationRow.kind != "full_test",
    )
    .order_by(ValidationRow.queued_at.desc())
    .limit(1)
    .lateral("newest")
)
"""The newest validation of that revision, if it has one, full tests apart, found likewise."""


def _of_skills(*columns: roles.ColumnsClauseRole) -> _Rows:
    return (
        select(*columns)
        .select_from(SkillRow)
        .join(_LATEST, text("true"))
        .join(_NEWEST, text("true"), isouter=True)
    )


_SUMMARY = (
    *(table_of(SkillRow).c[name] for name in ("id", "name", "status", "created_at")),
    _LATEST.c.manifest["description"].astext.label("description"),
)
_THIS_ONE = SkillRow.id == bindparam("skill_id")

SKILL = _of_skills(*_SUMMARY, _LATEST, _NEWEST).where(_THIS_ONE)
"""Of `skill_id`: its newest revision and that one's newest validation."""
STATUS = _of_skills(*_SUMMARY, _NEWEST).where(_THIS_ONE)
"""Of `skill_id`: as `SKILL`, without the revision."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Both take the `status`, `stage` and `part` that are filtered by; a page its place, too."""

    count: Executable
    page: Executable
    """From `offset`, at most `size` skills, newest first."""


@cache
def listing(*, by_status: bool, by_stage: bool, by_part: bool) -> Listing:
    where = [
        *([SkillRow.status == bindparam("status")] if by_status else []),
        *([SkillRow.stage == bindparam("stage")] if by_stage else []),
        *([SkillRow.name.like(bindparam("part"), escape=_ESCAPE)] if by_part else []),
    ]
    newest_first = (SkillRow.created_at.desc(), SkillRow.id)
    # Found by an index alone: the rest is looked up for the skills of one page.
    ids = (
        select(SkillRow.id)
        .where(*where)
        .order_by(*newest_first)
        .offset(bindparam("offset", type_=Integer))
        .limit(bindparam("size", type_=Integer))
    )
    return Listing(
        count=select(func.count()).select_from(SkillRow).where(*where),
        page=_of_skills(
            *_SUMMARY,
            _NEWEST.c.stage,
            _NEWEST.c.overall,
            _NEWEST.c.layer1_passed,
            _NEWEST.c.layer2_passed,
            _NEWEST.c.completed_at,
        )
        .where(SkillRow.id.in_(ids))
        .order_by(*newest_first),
    )


def pattern_of(part: str) -> str:
    """What a name that contains `part`, letter by letter, is like."""
    for special in (_ESCAPE, "%", "_"):
        part = part.replace(special, _ESCAPE + special)
    return f"%{part}%"
