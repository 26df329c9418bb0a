"""A verdict as an in-toto statement, which is signed and travels with the bundle it is about."""

from typing import Final, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from assay_contracts.base import Model, Role
from assay_contracts.runs import Package
from assay_contracts.scores import Scores
from assay_contracts.skills import Sha256
from assay_contracts.validations import ValidationKind, Verdict

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:assay:verdict:v1"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
"""Of the DSSE envelope that a statement is signed in."""


class BundleDigest(Model):
    sha256: Sha256


class AttestedBundle(Model):
    """The bytes that the verdict is about."""

    name: str
    digest: BundleDigest


class AttestedModel(Model):
    role: Role
    model: str
    prompt_version: str


class AttestedEnvironment(Model):
    """Where the skill was tried: the runtime version, and what it added to that."""

    runtime_version: str
    packages_added: tuple[Package, ...]


class AttestedVerdict(Model):
    verdict: Verdict
    reason: str
    scores: Scores | None
    validation_id: UUID
    kind: ValidationKind
    revision: int
    rubric_version: str
    models: tuple[AttestedModel, ...]
    environment: AttestedEnvironment
    completed_at: AwareDatetime


class VerdictStatement(Model):
    """What Assay says of one bundle."""

    type: Literal["https://in-toto.io/Statement/v1"] = Field(
        default=STATEMENT_TYPE, serialization_alias="_type", validation_alias="_type"
    )
    subject: tuple[AttestedBundle, ...] = Field(min_length=1, max_length=1)
    predicate_type: Literal["urn:assay:verdict:v1"] = Field(
        default=PREDICATE_TYPE,
        serialization_alias="predicateType",
        validation_alias="predicateType",
    )
    predicate: AttestedVerdict

    @property
    def bundle(self) -> AttestedBundle:
        return self.subject[0]
