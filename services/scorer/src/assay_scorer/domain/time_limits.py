"""How long a validation may take."""

from datetime import timedelta
from typing import Final

from assay_contracts.skills import SkillManifest

SIMPLE_FILES: Final = 5
COMPLEX_FILES: Final = 20
COMPLEX_DEPENDENCIES: Final = 3
SIMPLE_LIMIT: Final = timedelta(seconds=300)
MEDIUM_LIMIT: Final = timedelta(seconds=600)
COMPLEX_LIMIT: Final = timedelta(seconds=900)
INSTALL_LIMIT: Final = timedelta(seconds=600)


def time_limit(manifest: SkillManifest) -> timedelta:
    """How long the tasks of a skill may take, by its number of files and dependencies."""
    declared = manifest.dependencies
    dependencies = len(declared.pip) + len(declared.npm) + len(declared.other)
    if len(manifest.files) > COMPLEX_FILES or dependencies > COMPLEX_DEPENDENCIES:
        return COMPLEX_LIMIT
    if len(manifest.files) > SIMPLE_FILES or dependencies:
        return MEDIUM_LIMIT
    return SIMPLE_LIMIT


def install_limit(manifest: SkillManifest) -> timedelta:
    """How long installing what the skill declares may take, at no cost to its tasks' time."""
    return INSTALL_LIMIT if manifest.dependencies.are_installed else timedelta(0)
