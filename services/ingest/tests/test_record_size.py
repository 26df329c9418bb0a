"""Whatever a skill holds, what is said about it on the bus stays within a message."""

import io
import json
import os
from uuid import uuid4

from assay_contracts.rpc import RegisterSkill
from assay_contracts.skills import BundleRef
from assay_ingest.domain.refusals import MAX_FINDINGS
from assay_skillkit.check import check_archive
from assay_skillkit.rules.archive import NAME_EMPTY
from assay_testkit.archives import Entry, raw_zip

MESSAGE_BYTES = 1024 * 1024
HEAD = "---\nname: demo\ndescription: Does a thing.\n"


def test_whatever_a_skill_holds_its_record_fits_into_a_message() -> None:
    escaped = "\x01" * 1_900
    commands = "\n".join(f"echo {escaped} {n}" for n in range(200))
    quotes = "'" + '"' * 30_000 + "'"
    skill_md = f"{HEAD}a:\n  - {quotes}\nmetadata:\n  b: {quotes}\n---\n```sh\n{commands}\n```\n"
    packages = "\n".join(f"p{n}{'é' * 290}" for n in range(500)).encode()
    scripts = json.dumps({"dependencies": {f"p{n}": "技" * 290 for n in range(500)}}).encode()
    folders = "/".join(["\U0001f600" * 60] * 3)
    files = {
        "SKILL.md": skill_md.encode(),
        "requirements.txt": packages,
        "package.json": scripts,
        "noise": os.urandom(50_000),
        **{f"{folders}/{n}": b"x" for n in range(496)},
    }
    entries = (Entry(name=f"demo/{name}", data=data) for name, data in files.items())
    result = check_archive(io.BytesIO(raw_zip(*entries)))

    assert result.manifest is not None, result.findings
    assert len(result.manifest.files) == 500
    assert result.manifest.commands
    assert result.manifest.dependencies.pip
    record = RegisterSkill(
        upload_id=uuid4(),
        uploaded_by="admin",
        bundle=BundleRef(key="k" * 200, sha256="0" * 64, size=1),
        manifest=result.manifest,
    )
    longest = NAME_EMPTY.at("\U0001f600" * 400, "\U0001f600" * 400)
    findings = longest.model_dump_json().encode() * MAX_FINDINGS
    assert len(record.model_dump_json().encode()) + len(findings) < MESSAGE_BYTES
