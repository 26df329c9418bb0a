"""The public facts: a row for each, which is an example of it as Assay says it.

The bus, its permissions, the AsyncAPI document, the gateway and the command all go by this table.
"""

from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from assay_contracts.base import Message
from assay_contracts.full_tests import FullTestCompleted, FullTestCounts, FullTestOutcome
from assay_contracts.review import SkillApproved, SkillDeleted, SkillRejected
from assay_contracts.runtime import RuntimePromoted, RuntimeRolledBack
from assay_contracts.scores import Scores
from assay_contracts.skills import (
    BundleRef,
    Dependencies,
    FileEntry,
    Finding,
    SkillManifest,
    SkillUploaded,
)
from assay_contracts.validations import (
    ReportRef,
    ValidationCompleted,
    ValidationTimings,
)

_SKILL: Final = UUID("5f0c6c1e-6a55-4c0f-9f0b-3a1d2f6f7a10")
_OTHER: Final = UUID("0f4b2c9a-55a1-4d0e-8a36-7f2f0a9f4c21")
_VALIDATION: Final = UUID("9c2f1f7e-3d1b-4f7a-8b1e-5d6c7b8a9f01")
_OTHER_VALIDATION: Final = UUID("b7d5e3f1-0a2c-4e6d-9f8b-1c3d5e7f9a02")
_FULL_TEST: Final = UUID("e1d2c3b4-a596-4788-9a0b-c1d2e3f4a5b6")
_SHA256: Final = "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b"
_AT: Final = datetime(2026, 2, 20, 12, 0, tzinfo=UTC)


def _envelope(number: int) -> dict[str, object]:
    return {
        "message_id": UUID(int=0x4D1C << 112 | 0x4 << 76 | 0x8 << 60 | number),
        "occurred_at": _AT + timedelta(minutes=number),
    }


EXAMPLES: Final[tuple[Message, ...]] = (
    SkillUploaded.model_validate(
        {
            **_envelope(1),
            "skill_id": _SKILL,
            "revision": 1,
            "bundle": BundleRef(key=_SHA256, sha256=_SHA256, size=2048),
            "manifest": SkillManifest(
                name="csv-analyzer",
                description="Summarises CSV files: rows, columns, and figures for each column.",
                license="Apache-2.0",
                dependencies=Dependencies(pip=("tabulate>=0.9",)),
                files=(
                    FileEntry(path="SKILL.md", size=1200),
                    FileEntry(path="scripts/analyze.py", size=3100),
                ),
                commands=("python scripts/analyze.py sales.csv",),
                body_lines=42,
                size=4300,
            ),
            "findings": (
                Finding(
                    code="unknown-field",
                    severity="warning",
                    message="The specification does not know the field `tags`.",
                    fix="Move it below `metadata`, or leave it out.",
                    path="SKILL.md",
                    line=4,
                ),
            ),
        }
    ),
    ValidationCompleted.model_validate(
        {
            **_envelope(2),
            "validation_id": _VALIDATION,
            "skill_id": _SKILL,
            "skill_name": "csv-analyzer",
            "revision": 1,
            "kind": "initial",
            "bundle_sha256": _SHA256,
            "verdict": "passed",
            "reason": "The overall score 91.7 reaches 70.",
            "scores": Scores(completion=83.3, trigger=100.0, offline=100.0, overall=91.7),
            "models": ("rehearsal:1",),
            "timings": ValidationTimings(
                queued_at=_AT,
                started_at=_AT + timedelta(seconds=1),
                completed_at=_AT + timedelta(seconds=95),
                model_seconds=61.5,
                command_seconds=12.0,
            ),
            "report": ReportRef(
                url=f"/api/admin/skills/{_SKILL}/report",
                json_key=f"{_VALIDATION}.json",
                markdown_key=f"{_VALIDATION}.md",
            ),
        }
    ),
    SkillApproved.model_validate(
        {
            **_envelope(3),
            "skill_id": _SKILL,
            "skill_name": "csv-analyzer",
            "actor": "ann",
            "revision": 1,
            "bundle_sha256": _SHA256,
            "validation_id": _VALIDATION,
            "runtime_version": "v1.3",
        }
    ),
    SkillRejected.model_validate(
        {
            **_envelope(4),
            "skill_id": _OTHER,
            "skill_name": "pdf-tools",
            "actor": "ann",
            "revision": 2,
            "reason": "It repeats what another skill does.",
        }
    ),
    SkillDeleted.model_validate(
        {**_envelope(5), "skill_id": _OTHER, "skill_name": "pdf-tools", "actor": "ann"}
    ),
    RuntimePromoted.model_validate(
        {
            **_envelope(6),
            "version": "v1.3",
            "built_on": "v1.2",
            "snapshot": f"{_VALIDATION}-1",
            "skill_id": _SKILL,
            "skill_name": "csv-analyzer",
            "actor": "ann",
        }
    ),
    RuntimeRolledBack.model_validate(
        {
            **_envelope(7),
            "previous_version": "v1.3",
            "current_version": "v1.2",
            "hidden_skills": ("csv-analyzer",),
            "restored_skills": (),
            "actor": "ann",
        }
    ),
    FullTestCompleted.model_validate(
        {
            **_envelope(8),
            "full_test_id": _FULL_TEST,
            "status": "completed",
            "started_by": "ann",
            "runtime_version": "v1.3",
            "started_at": _AT,
            "completed_at": _AT + timedelta(minutes=8),
            "counts": FullTestCounts(total=2, done=2, passed=1, failed=1, worse=1),
            "skills": (
                FullTestOutcome(
                    skill_id=_SKILL,
                    skill_name="csv-analyzer",
                    validation_id=_VALIDATION,
                    verdict="passed",
                    overall=91.7,
                    worse=False,
                ),
                FullTestOutcome(
                    skill_id=_OTHER,
                    skill_name="pdf-tools",
                    validation_id=_OTHER_VALIDATION,
                    verdict="failed",
                    overall=45.0,
                    worse=True,
                ),
            ),
        }
    ),
)
