"""Archives as ordinary tools make them: accepted, and read as what they are."""

import io
import struct
import zipfile

import pytest

from assay_contracts.skills import SkillManifest
from assay_skillkit.check import CheckedSkill, check_archive
from assay_skillkit.limits import MIB
from assay_testkit.archives import (
    FOLDER,
    SKILL_MD,
    Entry,
    deflated,
    descriptor,
    raw_zip,
    skill_zip,
)


def checked(data: bytes, *, strict: bool = False) -> CheckedSkill:
    return check_archive(io.BytesIO(data), filename="upload.zip", strict=strict)


def accepted(data: bytes) -> SkillManifest:
    result = checked(data)
    assert result.manifest is not None, result.findings
    return result.manifest


def codes(data: bytes) -> list[str]:
    return [finding.code for finding in checked(data).findings]


def paths(manifest: SkillManifest) -> list[str]:
    return [file.path for file in manifest.files]


class Unseekable(io.BytesIO):
    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation

    def tell(self) -> int:
        raise io.UnsupportedOperation


def zipped(compression: int, target: io.BytesIO, *, zip64: bool = False) -> bytes:
    with zipfile.ZipFile(target, "w", compression) as archive:
        archive.writestr("demo/", b"")
        for name, data in (("demo/SKILL.md", SKILL_MD), ("demo/scripts/a.py", b"print(1)\n")):
            with archive.open(name, "w", force_zip64=zip64) as file:
                file.write(data)
    return target.getvalue()


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("zip64", [False, True])
@pytest.mark.parametrize("target", [io.BytesIO, Unseekable])
def test_zipfile_in_every_mode(compression: int, zip64: bool, target: type[io.BytesIO]) -> None:
    manifest = accepted(zipped(compression, target(), zip64=zip64))

    assert paths(manifest) == ["SKILL.md", "scripts/a.py"]


@pytest.mark.parametrize("signature", [True, False])
@pytest.mark.parametrize("wide", [True, False])
def test_data_descriptors_of_every_size(signature: bool, wide: bool) -> None:
    data = b"hello"
    after = descriptor(data, len(deflated(data)), signature=signature, wide=wide)
    streamed = Entry(
        name="demo/x",
        data=data,
        flags=8,
        local_crc=0,
        local_size=0,
        local_packed_size=0,
        after=after,
    )

    assert paths(accepted(skill_zip(streamed))) == ["SKILL.md", "x"]


def test_zip64_end_records() -> None:
    plain = skill_zip()
    end_at = plain.rindex(b"PK\x05\x06")
    _, _, _, _, count, size, offset, _ = struct.unpack("<4s4H2LH", plain[end_at:])
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, offset)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end_at, 1)
    full = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)

    assert accepted(plain[:end_at] + end64 + locator + full).name == "demo"
    lying = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 7, 7, size, offset, 0)
    assert codes(plain[:end_at] + end64 + locator + lying) == ["archive-ambiguous"]


def test_skill_at_the_root() -> None:
    manifest = accepted(
        raw_zip(Entry(name="SKILL.md", data=SKILL_MD), Entry(name="a/b", data=b"x"))
    )

    assert manifest.name == "demo"
    assert paths(manifest) == ["SKILL.md", "a/b"]


def test_macos_leftovers_are_dropped_with_one_note() -> None:
    data = skill_zip(
        Entry(name="demo/.DS_Store", data=b"x"),
        Entry(name="__MACOSX/", mode=FOLDER, method=0),
        Entry(name="__MACOSX/demo/._SKILL.md", data=b"x"),
    )

    assert codes(data) == ["junk-dropped"]
    assert paths(accepted(data)) == ["SKILL.md"]


@pytest.mark.parametrize(
    "name", ["demo/.git/hooks/pre-commit", "demo/__pycache__/a.pyc", "demo/Thumbs.db", "demo/._x"]
)
def test_what_tools_leave_behind_is_no_part_of_the_skill(name: str) -> None:
    assert paths(accepted(skill_zip(Entry(name=name, data=b"x")))) == ["SKILL.md"]


def test_backslashes_are_read_as_separators() -> None:
    data = raw_zip(
        Entry(name="demo\\", mode=0, dos=0x10, made_by=0, method=0),
        Entry(name="demo\\SKILL.md", data=SKILL_MD, mode=0, made_by=0),
        Entry(name="demo\\scripts\\a.py", data=b"1", mode=0, made_by=0),
    )

    assert paths(accepted(data)) == ["SKILL.md", "scripts/a.py"]
    assert codes(data) == ["backslash-separators"]


def test_a_leading_dot_is_read_as_the_root() -> None:
    data = raw_zip(Entry(name="./", mode=FOLDER, method=0), Entry(name="./SKILL.md", data=SKILL_MD))

    assert paths(accepted(data)) == ["SKILL.md"]


def test_a_comment_is_allowed() -> None:
    commented = raw_zip(Entry(name="demo/SKILL.md", data=SKILL_MD), comment=b"0f3a" * 10)

    assert accepted(commented).name == "demo"


def test_names_without_the_utf8_flag_are_utf8_all_the_same() -> None:
    assert paths(accepted(skill_zip(Entry(name="demo/é.md", data=b"x", flags=0)))) == [
        "SKILL.md",
        "é.md",
    ]


def test_a_deeper_skill_md_is_just_a_file() -> None:
    data = skill_zip(Entry(name="demo/templates/SKILL.md", data=b"no frontmatter"))

    assert paths(accepted(data)) == ["SKILL.md", "templates/SKILL.md"]


def test_lower_case_skill_md_is_read_as_skill_md() -> None:
    data = raw_zip(Entry(name="demo/skill.md", data=SKILL_MD))

    assert codes(data) == ["skill-md-lower-case"]
    assert paths(accepted(data)) == ["SKILL.md"]


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        (("a/SKILL.md", "b/SKILL.md"), "several-skills"),
        (("demo/SKILL.md", "README.md"), "skill-md-not-at-root"),
        (("x/demo/SKILL.md",), "skill-md-not-at-root"),
        (("demo/Skill.md",), "skill-md-missing"),
        (("demo/README.md",), "skill-md-missing"),
        (("other/SKILL.md",), "name-folder-mismatch"),
    ],
)
def test_a_skill_that_is_not_where_it_should_be(entries: tuple[str, ...], code: str) -> None:
    data = raw_zip(*(Entry(name=name, data=SKILL_MD) for name in entries))

    result = checked(data)

    assert [finding.code for finding in result.errors] == [code]
    assert not result.archive_is_bad


def test_limits_are_inclusive() -> None:
    files = [Entry(name=f"demo/{n}", data=b"x", method=0) for n in range(499)]

    assert len(accepted(skill_zip(*files)).files) == 500


def test_a_small_file_of_zeros_is_no_bomb() -> None:
    zeros = skill_zip(Entry(name="demo/zeros", data=bytes(MIB // 2)))

    assert accepted(zeros).name == "demo"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("demo/-rf", ["path-not-portable"]),
        ("demo/$(id)", ["path-not-portable"]),
        ("demo/what?.md", ["path-not-portable"]),
        ("demo/.env", ["secret-file"]),
        ("demo/server.pem", ["secret-file"]),
    ],
)
def test_questionable_names_are_warned_of(name: str, found: list[str]) -> None:
    data = skill_zip(Entry(name=name, data=b"x"))

    assert codes(data) == found
    assert checked(data).errors == ()
    assert [finding.code for finding in checked(data, strict=True).errors] == found


def test_strict_leaves_notes_alone() -> None:
    assert checked(skill_zip(Entry(name="demo/.DS_Store", data=b"x")), strict=True).errors == ()


def test_a_document_is_no_nested_archive_but_a_zip_is() -> None:
    inner = raw_zip(Entry(name="word/document.xml", data=b"<x/>"))

    assert codes(skill_zip(Entry(name="demo/template.docx", data=inner, method=0))) == []
    assert codes(skill_zip(Entry(name="demo/data.bin", data=inner, method=0))) == ["nested-archive"]
