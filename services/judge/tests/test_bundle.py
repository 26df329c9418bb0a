import hashlib

import pytest

from assay_contracts.skills import BundleRef
from assay_judge.domain.bundle import read_skill_files
from assay_skillkit.bundle import BundleUnreadable
from assay_testkit.judge import bundle_of


def ref_of(data: bytes) -> BundleRef:
    return BundleRef(key="k", sha256=hashlib.sha256(data).hexdigest(), size=len(data))


def test_texts_are_read_and_everything_is_listed() -> None:
    data = bundle_of("a-b", {"SKILL.md": "# hi", "logo.png": b"\x89PNG\0\xff", "x/y.md": "text"})
    skill = read_skill_files(data, ref=ref_of(data), skill_name="a-b")
    assert skill.paths == ("SKILL.md", "logo.png", "x/y.md")
    assert dict(skill.texts) == {"SKILL.md": "# hi", "x/y.md": "text"}


@pytest.mark.parametrize(
    ("data", "name", "says"),
    [
        (b"no zip", "a-b", "no readable zip"),
        (bundle_of("a-b", {"README.md": "x"}), "a-b", "has no readable a-b/SKILL.md"),
        (bundle_of("a-b", {"SKILL.md": "x"}), "other", "has no readable other/SKILL.md"),
    ],
)
def test_what_is_no_bundle_of_that_skill_is_refused(data: bytes, name: str, says: str) -> None:
    with pytest.raises(BundleUnreadable, match=says):
        read_skill_files(data, ref=ref_of(data), skill_name=name)


def test_other_bytes_than_those_asked_for_are_refused() -> None:
    data = bundle_of("a-b", {"SKILL.md": "x"})
    with pytest.raises(BundleUnreadable, match="has sha256"):
        read_skill_files(data, ref=ref_of(b"other"), skill_name="a-b")
