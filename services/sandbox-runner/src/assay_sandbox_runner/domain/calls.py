"""Network calls as a sandbox observes them."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ObservedCall:
    """One attempt to reach anything but the sandbox's own loopback."""

    at: datetime
    """In UTC."""
    destination: str
    """Host name where the sandbox asked for one, else `address:port`, else `unknown`."""
    command: str
    """The command that made it, shortened."""
    cwd: str | None = None
    """Where that command was started; none where it is not known which one it was."""
