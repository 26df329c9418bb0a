"""The canonical bundle: same content, same bytes, and a valid upload itself."""

import hashlib
import io
import unicodedata
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay_contracts.skills import BundleRef
from assay_skillkit.bundle import BundleUnreadable, WrittenBundle, read_bundle, write_bundle
from assay_skillkit.check import CheckedSkill, check_archive, check_folder
from assay_skillkit.limits import LIMITS, MIB
from assay_testkit.archives import FOLDER, SKILL_MD, Entry, raw_zip, skill_zip

SCRIPT = b"#!/bin/sh\necho hello\n"
GOLDEN = "8502bebc1e4a5044a6efe3594f829ba86f26c8ab70cc382ace8679580155ba92"


def bundle_of(checked: CheckedSkill) -> tuple[WrittenBundle, bytes]:
    assert checked.manifest is not None, checked.findings
    assert checked.files is not None
    target = io.BytesIO()
    written = write_bundle(checked.files, checked.manifest.name, target)
    return written, target.getvalue()


def bundled(data: bytes) -> tuple[WrittenBundle, bytes]:
    return bundle_of(check_archive(io.BytesIO(data)))


def test_every_way_of_zipping_gives_the_same_bytes(tmp_path: Path) -> None:
    nfd = unicodedata.normalize("NFD", "é.txt")
    in_a_folder = raw_zip(
        Entry(name="demo/", mode=FOLDER, method=0),
        Entry(name="demo/SKILL.md", data=SKILL_MD),
        Entry(name="demo/scripts/run.sh", data=SCRIPT, mode=0o100755),
        Entry(name="demo/é.txt", data=b"x"),
        Entry(name="demo/.DS_Store", data=b"x"),
    )
    at_the_root = raw_zip(
        Entry(name=nfd, data=b"x", method=0),
        Entry(name="scripts/run.sh", data=SCRIPT, mode=0o100600),
        Entry(name="SKILL.md", data=SKILL_MD, method=0),
    )
    on_windows = raw_zip(
        Entry(name="demo\\scripts\\run.sh", data=SCRIPT, mode=0, made_by=0),
        Entry(name="demo\\SKILL.md", data=SKILL_MD, mode=0, made_by=0),
        Entry(name="demo\\é.txt", data=b"x", mode=0, made_by=0),
    )
    folder = tmp_path / "demo"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(SKILL_MD)
    (folder / "scripts" / "run.sh").write_bytes(SCRIPT)
    (folder / nfd).write_bytes(b"x")

    results = [bundled(data) for data in (in_a_folder, at_the_root, on_windows)]
    results.append(bundle_of(check_folder(folder)))

    assert len({written.sha256 for written, _ in results}) == 1
    written, data = results[0]
    assert written.sha256 == hashlib.sha256(data).hexdigest() == GOLDEN
    assert written.size == len(data)


def test_a_bundle_is_an_ordinary_zip_below_one_folder() -> None:
    _, data = bundled(
        raw_zip(Entry(name="SKILL.md", data=SKILL_MD), Entry(name="b/run.sh", data=SCRIPT))
    )

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["demo/SKILL.md", "demo/b/run.sh"]
        assert [info.external_attr >> 16 for info in archive.infolist()] == [0o100644, 0o100755]
        assert archive.read("demo/b/run.sh") == SCRIPT


def test_other_content_gives_another_address() -> None:
    one, _ = bundled(raw_zip(Entry(name="SKILL.md", data=SKILL_MD)))
    two, _ = bundled(raw_zip(Entry(name="SKILL.md", data=SKILL_MD + b"More.\n")))

    assert one.sha256 != two.sha256


NAMES = st.text("abcdefgh0123_-.é技", min_size=1, max_size=8).filter(
    lambda name: name.strip(".") == name and not name.startswith("-")
)


@settings(max_examples=60, deadline=None)
@given(files=st.dictionaries(NAMES, st.binary(max_size=200), max_size=6), stored=st.booleans())
def test_a_bundle_is_a_valid_upload_that_gives_itself(
    files: dict[str, bytes], stored: bool
) -> None:
    entries = [
        Entry(name=f"demo/{name}", data=data, method=0 if stored else 8)
        for name, data in files.items()
    ]
    first, data = bundled(raw_zip(Entry(name="demo/SKILL.md", data=SKILL_MD), *entries))

    second, again = bundled(data)

    assert (first, data) == (second, again)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {
            name: archive.read(f"demo/{unicodedata.normalize('NFC', name)}") for name in files
        } == files


def ref_of(data: bytes) -> BundleRef:
    return BundleRef(key="k", sha256=hashlib.sha256(data).hexdigest(), size=len(data))


def test_what_is_written_is_read_back() -> None:
    upload = raw_zip(
        Entry(name="SKILL.md", data=SKILL_MD),
        Entry(name="scripts/run.sh", data=SCRIPT),
        Entry(name="é.txt", data=b""),
    )
    _, data = bundled(upload)

    bundle = read_bundle(data, ref_of(data))

    assert bundle.name == "demo"
    assert {path: b"".join(bundle.files.chunks(path)) for path in bundle.files.sizes} == {
        "SKILL.md": SKILL_MD,
        "scripts/run.sh": SCRIPT,
        "é.txt": b"",
    }
    assert [path for path in bundle.files.sizes if bundle.is_program(path)] == ["scripts/run.sh"]


def test_a_bundle_may_be_larger_than_an_upload() -> None:
    zeros = bytes(30 * MIB)
    limits = replace(LIMITS, ratio=10_000)
    upload = raw_zip(
        Entry(name="SKILL.md", data=SKILL_MD),
        *(Entry(name=f"{n}.bin", data=zeros) for n in range(2)),
    )
    _, data = bundle_of(check_archive(io.BytesIO(upload), limits=limits))

    assert len(data) > LIMITS.packed
    assert read_bundle(data, ref_of(data)).files.sizes["1.bin"] == len(zeros)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"not a zip", "no readable zip"),
        (raw_zip(Entry(name="a/README.md", data=b"x")), "no readable a/SKILL.md"),
        (raw_zip(Entry(name="SKILL.md", data=SKILL_MD)), "no readable SKILL.md/SKILL.md"),
        (skill_zip(Entry(name="other/x", data=b"x")), "exactly one folder"),
        (skill_zip(Entry(name="demo/../x", data=b"x")), "leads out of the folder"),
        (skill_zip(Entry(name="/etc/x", data=b"x")), "root of a disk"),
        (skill_zip(Entry(name="demo/x", data=b"x", mode=0o120777)), "is a link"),
        (skill_zip(Entry(name="demo/x", data=b"x", crc=1)), "checksum"),
        (skill_zip(Entry(name="demo/x", data=b"x"), Entry(name="demo/X", data=b"x")), "same as"),
        (skill_zip() + b"more", "Bytes follow"),
    ],
)
def test_what_is_no_bundle_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(BundleUnreadable, match=says):
        read_bundle(data, ref_of(data))


def test_other_bytes_than_those_asked_for_are_refused() -> None:
    with pytest.raises(BundleUnreadable, match="has sha256"):
        read_bundle(skill_zip(), ref_of(b"other"))
