"""A skill, its bundle, and what the format check says about it."""

from collections.abc import Iterable
from typing import ClassVar, Final, Literal
from uuid import UUID

from pydantic import Field

from assay_contracts.base import Message, Model

Severity = Literal["error", "warning", "note"]
Sha256 = str

SkillStatus = Literal["pending", "validating", "approved", "rejected", "rollback_pending"]
ValidationStage = Literal["queued", "layer1", "layer2", "completed", "failed", "inconclusive"]
ENDED_STAGES: Final[frozenset[ValidationStage]] = frozenset({"completed", "failed", "inconclusive"})
"""Nothing of the validation is under way or to come."""


class Finding(Model):
    """One thing the format check noticed."""

    code: str
    severity: Severity
    message: str
    """What is wrong and why it matters."""
    fix: str
    """What to do about it."""
    path: str | None = None
    line: int | None = Field(default=None, ge=1)


def messages_of(findings: Iterable[Finding], severity: Severity) -> tuple[str, ...]:
    return tuple(finding.message for finding in findings if finding.severity == severity)


class BundleRef(Model):
    """Where the canonical zip of one revision lies in the `bundles` bucket."""

    key: str
    sha256: Sha256 = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)


class FileEntry(Model):
    path: str
    size: int = Field(ge=0)


class Dependencies(Model):
    """Package requirements as the skill declares them, as written."""

    pip: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    shown_pip: tuple[str, ...] = ()
    """What its documents show how to install with pip, and it declares nowhere."""
    shown_npm: tuple[str, ...] = ()
    declared_in: dict[str, str] = Field(default_factory=dict)
    """For each of them, the file that says so first; not known in older data."""

    @property
    def are_installed(self) -> bool:
        """Whether there is anything that is installed before tasks."""
        return bool(self.pip or self.npm or self.shown_pip or self.shown_npm)


class SkillManifest(Model):
    """What was read from a bundle, kept for the later steps. The body stays in the bundle."""

    name: str
    description: str
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: str | None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    other_fields: dict[str, str] = Field(default_factory=dict)
    """Frontmatter that the specification does not know: text as it is, the rest as JSON."""
    dependencies: Dependencies = Dependencies()
    files: tuple[FileEntry, ...] = ()
    commands: tuple[str, ...] = ()
    """Shell commands that the SKILL.md documents, in order."""
    body_lines: int = Field(default=0, ge=0)
    size: int = Field(default=0, ge=0)
    """Of all files together, in bytes."""


class SkillUploaded(Message):
    """A revision passed the format check and its bundle is stored. Public."""

    SUBJECT: ClassVar[str] = "skill.uploaded"

    skill_id: UUID
    revision: int = Field(ge=1)
    bundle: BundleRef
    manifest: SkillManifest
    findings: tuple[Finding, ...] = ()

    def dedup_key(self) -> str:
        return f"{self.SUBJECT}:{self.skill_id}:{self.revision}"
