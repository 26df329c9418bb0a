"""`assay verify`: content, signed verdict and key in; the verdict as an exit code out."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from assay_cli.embedded.data import DataFolder
from assay_contracts.validations import Verdict
from assay_scorer.adapters.signing import DsseSigner
from assay_scorer.domain.attestation import statement_of
from assay_skillkit.bundle import write_bundle
from assay_skillkit.check import check_folder
from assay_testkit.reports import mixed_report

Assay = Callable[..., CompletedProcess[str]]


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: demo\ndescription: Does a thing.\n---\nDo it.\n")
    return folder


def signed(skill: Path, verdict: Verdict, tmp_path: Path) -> tuple[Path, Path]:
    """The signed verdict on the skill as it is now, and the key to verify it with."""
    data = DataFolder(tmp_path)
    signer = DsseSigner(data.ensure_signing_key())
    checked = check_folder(skill)
    assert checked.files is not None
    with (tmp_path / "bundle.zip").open("w+b") as target:
        sha256 = write_bundle(checked.files, "demo", target).sha256
    report = mixed_report(verdict=verdict).model_copy(update={"bundle_sha256": sha256})
    attestation = tmp_path / "demo.intoto.json"
    attestation.write_bytes(signer.sign(statement_of(report)))
    return attestation, data.public_key


@pytest.mark.parametrize("ending", [("passed", 0), ("failed", 1), ("inconclusive", 3)])
def test_the_exit_code_is_the_signed_verdict(
    assay: Assay, skill: Path, tmp_path: Path, ending: tuple[Verdict, int]
) -> None:
    verdict, code = ending
    attestation, key = signed(skill, verdict, tmp_path)
    for source in (skill, tmp_path / "bundle.zip"):
        done = assay("verify", source, "--attestation", attestation, "--key", key)
        assert (done.returncode, verdict in done.stdout) == (code, True), done.stderr


def test_changed_content_is_not_verified(assay: Assay, skill: Path, tmp_path: Path) -> None:
    attestation, key = signed(skill, "passed", tmp_path)
    (skill / "SKILL.md").write_text((skill / "SKILL.md").read_text() + "And more.\n")
    done = assay("verify", skill, "--attestation", attestation, "--key", key)
    assert (done.returncode, done.stdout) == (1, "")
    assert "NOT VERIFIED: The verdict is about a bundle with sha256" in done.stderr


def test_wrong_usage(assay: Assay, skill: Path, tmp_path: Path) -> None:
    attestation, key = signed(skill, "passed", tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "SKILL.md").write_text("nothing")
    for arguments in (
        (skill, "--attestation", tmp_path / "none", "--key", key),
        (skill, "--attestation", attestation, "--key", tmp_path / "none"),
        (tmp_path / "other", "--attestation", attestation, "--key", key),
    ):
        done = assay("verify", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
