"""`assay images`: runtime versions listed, and another one made current."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from subprocess import CompletedProcess
from uuid import UUID

from assay_contracts.rest import RollbackAnswer, RollbackPreviewAnswer
from assay_contracts.runtime import RollbackReply, RuntimeVersion, RuntimeVersions
from assay_testkit.gateway.scripted import JSON, ScriptedGateway

ID = UUID(int=7)
AT = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)

Run = Callable[..., CompletedProcess[str]]


def test_runtime_versions_are_listed(ask: Run, gateway: ScriptedGateway) -> None:
    versions = RuntimeVersions(
        versions=(
            RuntimeVersion(
                version="v1.1",
                built_on="v1.0",
                skill_id=ID,
                skill_name="csv-analyzer",
                created_at=AT,
                created_by="ann",
                is_current=True,
                is_available=True,
            ),
        ),
        current_version="v1.1",
        total=1,
    )
    gateway.on("GET", "/images", (200, JSON, versions.model_dump_json().encode()))
    done = ask("images", "list")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split()[:4] == ["v1.1", "current", "csv-analyzer", "v1.0"]


def test_a_rollback_shows_first_what_it_would_do(ask: Run, gateway: ScriptedGateway) -> None:
    reply = RollbackReply(
        previous_version="v1.3",
        current_version="v1.2",
        hidden_skills=("late",),
        restored_skills=(),
    )
    would, did = RollbackPreviewAnswer.of(reply), RollbackAnswer.of(reply)
    gateway.on(
        "GET",
        "/images/v1.2/rollback-preview",
        (200, JSON, would.model_dump_json().encode()),
    )
    gateway.on("POST", "/images/rollback", (200, JSON, did.model_dump_json().encode()))
    unsure = ask("images", "rollback", "v1.2")
    assert unsure.returncode == 2
    assert "Hidden from agents: late; approved again: none." in unsure.stderr
    assert gateway.sent() == [("GET", "/images/v1.2/rollback-preview")]
    done = ask("images", "rollback", "v1.2", "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{did.message}\n"
    assert json.loads(gateway.requests[-1].body) == {"target_version": "v1.2"}
