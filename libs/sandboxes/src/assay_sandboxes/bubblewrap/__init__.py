"""Sandboxes on one machine, by bubblewrap.

`host` runs in the runner. `process_one` is the launcher that the runner starts once, and process 1
of every sandbox, which is forked from it.
"""

from typing import Final

KIND: Final = "bubblewrap"
