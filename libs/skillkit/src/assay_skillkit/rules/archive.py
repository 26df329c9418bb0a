"""Every reason to distrust an archive. The codes are public: they only get added to."""

from typing import Final

from assay_contracts.skills import Severity
from assay_skillkit.rules.rule import Rule

_REPACK: Final = "Zip the skill's folder again with any ordinary zip tool and upload that."
_RENAME: Final = "Rename the file, then zip the folder again."


def _rule(code: str, fix: str, severity: Severity = "error") -> Rule:
    return Rule(code=code, area="archive", severity=severity, fix=fix)


# The file as a whole
ARCHIVE_TOO_LARGE: Final = _rule(
    "archive-too-large",
    "Leave out large data files, or let the skill fetch them when it needs them.",
)
ARCHIVE_EMPTY: Final = _rule("archive-empty", "Zip the folder that holds SKILL.md.")
NOT_A_ZIP: Final = _rule(
    "not-a-zip", "Upload a .zip or .skill file, which is a zip by another name."
)
ARCHIVE_TRUNCATED: Final = _rule(
    "archive-truncated", "Upload it again; if that fails, zip it again."
)
ARCHIVE_PREFIXED: Final = _rule("archive-prefixed", _REPACK)
ARCHIVE_TRAILING_DATA: Final = _rule("archive-trailing-data", _REPACK)
ARCHIVE_AMBIGUOUS: Final = _rule("archive-ambiguous", _REPACK)
ARCHIVE_INCONSISTENT: Final = _rule("archive-inconsistent", _REPACK)
ARCHIVE_MULTI_DISK: Final = _rule(
    "archive-multi-disk", "Make one zip file, not one that is split into parts."
)
ARCHIVE_HIDDEN_DATA: Final = _rule("archive-hidden-data", _REPACK)
INDEX_TOO_LARGE: Final = _rule("archive-index-too-large", _REPACK)
TOO_MANY_ENTRIES: Final = _rule(
    "too-many-entries", "Leave out what the skill does not need, such as node_modules or .venv."
)
TOO_MANY_FILES: Final = _rule(
    "too-many-files", "Leave out what the skill does not need, such as node_modules or .venv."
)
UNPACKED_TOO_LARGE: Final = _rule(
    "unpacked-too-large",
    "Leave out large data files, or let the skill fetch them when it needs them.",
)
RATIO_EXCEEDED: Final = _rule(
    "ratio-exceeded", "Leave out files that are mostly filler, or make them when they are needed."
)

# One entry
ENTRY_ENCRYPTED: Final = _rule("entry-encrypted", "Zip it again without a password.")
ENTRY_METHOD: Final = _rule(
    "entry-method-unsupported", "Zip it again with the usual method (deflate) or without packing."
)
ENTRY_SYMLINK: Final = _rule(
    "entry-symlink", "Put a copy of the file in its place; a skill must stand on its own."
)
ENTRY_SPECIAL: Final = _rule("entry-special-file", "Leave it out: a skill is made of plain files.")
ENTRY_SETUID: Final = _rule("entry-setuid", "Take the setuid, setgid or sticky bit off the file.")
ENTRY_TYPE_MISMATCH: Final = _rule("entry-type-mismatch", _REPACK)
ENTRY_HEADER_MISMATCH: Final = _rule("entry-header-mismatch", _REPACK)
ENTRIES_OVERLAP: Final = _rule("entries-overlap", _REPACK)
ENTRY_CRC: Final = _rule("entry-crc-mismatch", "Upload it again; if that fails, zip it again.")
ENTRY_CORRUPT: Final = _rule("entry-corrupt", "Upload it again; if that fails, zip it again.")
ENTRY_SIZE_MISMATCH: Final = _rule("entry-size-mismatch", _REPACK)
FILE_TOO_LARGE: Final = _rule(
    "file-too-large", "Make the file smaller, or let the skill fetch it when it needs it."
)

# Names
NAME_EMPTY: Final = _rule("path-empty", _REPACK)
NAME_ENCODING: Final = _rule(
    "path-not-utf8", "Zip it again with a tool that writes file names as UTF-8."
)
NAME_AMBIGUOUS: Final = _rule("path-ambiguous", _REPACK)
PATH_TRAVERSAL: Final = _rule(
    "path-traversal", "Name only files inside the skill's folder; leave `..` out of every path."
)
PATH_ABSOLUTE: Final = _rule("path-absolute", "Name files relative to the skill's folder.")
PATH_DRIVE: Final = _rule("path-drive-letter", "Name files relative to the skill's folder.")
PATH_NOT_NORMAL: Final = _rule("path-not-normal", _REPACK)
PATH_MIXED_SEPARATORS: Final = _rule("path-mixed-separators", _REPACK)
PATH_CONTROL: Final = _rule("path-control-character", _RENAME)
PATH_BIDI: Final = _rule("path-bidi-character", _RENAME)
PATH_INVISIBLE: Final = _rule("path-invisible-character", _RENAME)
PATH_RESERVED: Final = _rule("path-reserved-name", _RENAME)
PATH_TRAILING: Final = _rule("path-trailing-dot-or-space", _RENAME)
PATH_STREAM: Final = _rule("path-colon", _RENAME)
PATH_TOO_DEEP: Final = _rule("path-too-deep", "Put the file nearer to the skill's root.")
PATH_TOO_LONG: Final = _rule("path-too-long", _RENAME)
PATH_DUPLICATE: Final = _rule("path-duplicate", _REPACK)
PATH_COLLISION: Final = _rule("path-collision", _RENAME)
PATH_FILE_AND_FOLDER: Final = _rule("path-file-and-folder", _RENAME)
PATH_NOT_PORTABLE: Final = _rule("path-not-portable", _RENAME, "warning")

# What was put right
BACKSLASHES: Final = _rule(
    "backslash-separators", "Nothing; a zip tool that writes `/` would avoid this.", "note"
)
JUNK_DROPPED: Final = _rule(
    "junk-dropped", "Nothing; leave these out to make the zip smaller.", "note"
)

# Archives inside
NESTED_ARCHIVE: Final = _rule(
    "nested-archive",
    "Put the files themselves into the skill, so that they can be checked.",
    "warning",
)
NESTED_DEEP: Final = _rule("nested-archive-deep", "Take the archives inside the archive out of it.")
NESTED_BOMB: Final = _rule("nested-archive-bomb", "Leave this archive out.")
