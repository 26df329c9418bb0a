"""For tests: uploads that must be refused, and for exactly which reasons."""

from collections.abc import Callable
from typing import Final

from assay_testkit.hostile.archives import ARCHIVES
from assay_testkit.hostile.names import NAMES

HOSTILE: Final[dict[str, tuple[Callable[[], bytes], set[str]]]] = {**ARCHIVES, **NAMES}
