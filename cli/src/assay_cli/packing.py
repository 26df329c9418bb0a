"""From what the user names to the zip that is uploaded."""

import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from assay_cli.exit_codes import CommandError, Exit
from assay_skillkit.archive.paths import is_junk
from assay_skillkit.file_names import SKILL_MD

EARLIEST_ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Packed:
    filename: str
    left_out: tuple[str, ...]
    """Paths in the skill's folder that were not packed."""


def pack(source: Path, target: BinaryIO) -> Packed:
    """Write the zip to upload into `target`; equal folders give equal bytes.

    Raises CommandError when `source` is neither a zip nor a folder of regular files with SKILL.md.
    """
    if source.is_file():
        target.write(source.read_bytes())
        return Packed(source.name, ())
    if not source.is_dir():
        raise _bad(f"{source} does not exist: name a skill's folder, or a zip of one.")
    folder = source.resolve()
    if not (folder / SKILL_MD).is_file():
        raise _bad(f"{source} holds no {SKILL_MD}: name the folder that holds it.")
    left_out: list[str] = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _files(folder, folder, left_out):
            entry = zipfile.ZipInfo(f"{folder.name}/{file.relative_to(folder).as_posix()}")
            entry.date_time = EARLIEST_ZIP_TIME
            entry.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o755 if file.stat().st_mode & stat.S_IXUSR else 0o644
            entry.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(entry, file.read_bytes())
    return Packed(f"{folder.name}.zip", tuple(left_out))


def _files(folder: Path, root: Path, left_out: list[str]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        shown = path.relative_to(root).as_posix()
        if is_junk(shown):
            left_out.append(shown)
        elif path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise _bad(
                f"{shown} is no regular file: a skill holds regular files only,"
                " so put a copy in its place."
            )
        elif path.is_dir():
            yield from _files(path, root, left_out)
        else:
            yield path


def _bad(message: str) -> CommandError:
    return CommandError(message, Exit.BAD_INPUT)
