"""Which bundle an archive is, known without uploading it."""

import tempfile
from dataclasses import dataclass
from typing import BinaryIO

from assay_skillkit.bundle import write_bundle
from assay_skillkit.check import check_archive


@dataclass(frozen=True, slots=True)
class BundleAtHand:
    skill_name: str
    sha256: str
    """Of the canonical bundle: the same content has the same, however it was packed."""


def bundle_at_hand(archive: BinaryIO) -> BundleAtHand | None:
    """What the zip holds; None if it would be refused. It is read from its start, and rewound."""
    archive.seek(0)
    checked = check_archive(archive)
    found = None
    if checked.manifest and checked.files:
        with tempfile.TemporaryFile() as target:
            written = write_bundle(checked.files, checked.manifest.name, target)
        found = BundleAtHand(checked.manifest.name, written.sha256)
    archive.seek(0)
    return found
