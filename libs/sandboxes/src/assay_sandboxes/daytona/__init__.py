"""Sandboxes at Daytona: what is its own; the rest is `remote`.

The SDK is heavy: import `provider` only where it is used.
"""

from typing import Final

KIND: Final = "daytona"
