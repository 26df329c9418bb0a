"""Reading a skill's bundle."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass

from assay_contracts.skills import BundleRef

LARGEST_TEXT_FILE = 256 * 1024
"""Bytes; of a longer file the planner sees only that it is there."""


class BundleUnreadable(Exception):
    """The stored bytes are not the bundle that was asked for."""


@dataclass(frozen=True, slots=True)
class SkillFiles:
    """A skill as its planner sees it. Paths are relative to the skill's folder."""

    name: str
    texts: Mapping[str, str]
    """Every file that is text and of a reasonable size."""
    paths: tuple[str, ...]
    """Every file, in order."""

    @property
    def skill_md(self) -> str:
        return self.texts["SKILL.md"]


def read_bundle(data: bytes, *, ref: BundleRef, skill_name: str) -> SkillFiles:
    """Verify and unpack a bundle whose files lie under `<skill_name>/`.

    Raises:
        BundleUnreadable: digest, zip or layout are wrong.
    """
    digest = hashlib.sha256(data).hexdigest()
    if digest != ref.sha256:
        raise BundleUnreadable(f"Bundle {ref.key} has sha256 {digest}, not {ref.sha256}.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {
                info.filename.removeprefix(f"{skill_name}/"): archive.read(info)
                for info in archive.infolist()
                if not info.is_dir() and info.filename.startswith(f"{skill_name}/")
            }
    except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
        raise BundleUnreadable(f"Bundle {ref.key} is no readable zip: {error}") from error
    texts = {path: text for path, raw in members.items() if (text := _text(raw)) is not None}
    if "SKILL.md" not in texts:
        raise BundleUnreadable(f"Bundle {ref.key} has no readable {skill_name}/SKILL.md.")
    return SkillFiles(name=skill_name, texts=texts, paths=tuple(sorted(members)))


def _text(raw: bytes) -> str | None:
    if len(raw) > LARGEST_TEXT_FILE or b"\0" in raw:
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
