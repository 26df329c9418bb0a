"""What is uploaded is what the folder holds: whole, reproducible, and nothing from outside."""

import io
import os
import stat
import zipfile
from pathlib import Path

import pytest

from assay_cli.exit_codes import CommandError, Exit
from assay_cli.packing import pack


def archive_of(source: Path) -> zipfile.ZipFile:
    target = io.BytesIO()
    pack(source, target)
    return zipfile.ZipFile(target)


def test_contents_and_executable_bits_are_kept(skill: Path) -> None:
    archive = archive_of(skill)
    modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    assert modes == {
        "csv-analyzer/SKILL.md": stat.S_IFREG | 0o644,
        "csv-analyzer/scripts/summarize.py": stat.S_IFREG | 0o755,
    }
    assert archive.read("csv-analyzer/scripts/summarize.py") == b"print(1)\n"


def test_the_same_folder_gives_the_same_bytes(skill: Path) -> None:
    first, second = io.BytesIO(), io.BytesIO()
    pack(skill, first)
    os.utime(skill / "SKILL.md", (1, 1_000_000_000))
    pack(skill, second)
    assert first.getvalue() == second.getvalue()


def test_the_top_folder_bears_the_real_name_however_it_is_named(
    skill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(skill)
    assert archive_of(Path()).namelist()[0] == "csv-analyzer/SKILL.md"


def test_what_tools_left_behind_is_left_out_and_told(skill: Path) -> None:
    for name in (".git", "scripts/__pycache__"):
        (skill / name).mkdir()
        (skill / name / "file").write_text("x")
    target = io.BytesIO()
    assert pack(skill, target).left_out == (".git", "scripts/__pycache__")
    assert len(zipfile.ZipFile(target).namelist()) == 2


def test_a_link_is_refused_rather_than_followed_out_of_the_folder(skill: Path) -> None:
    (skill / "passwd").symlink_to("/etc/passwd")
    with pytest.raises(CommandError, match="passwd is no regular file") as raised:
        archive_of(skill)
    assert raised.value.exit_code == Exit.BAD_INPUT


def test_a_pipe_is_refused_rather_than_waited_on(skill: Path) -> None:
    os.mkfifo(skill / "pipe")
    with pytest.raises(CommandError, match="pipe is no regular file"):
        archive_of(skill)


def test_a_zip_is_sent_as_it_is(tmp_path: Path) -> None:
    source = tmp_path / "some.zip"
    source.write_bytes(b"not even a zip")
    target = io.BytesIO()
    assert pack(source, target).filename == "some.zip"
    assert target.getvalue() == b"not even a zip"
