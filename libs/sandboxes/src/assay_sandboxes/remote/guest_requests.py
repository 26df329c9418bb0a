"""What the programs inside a remote sandbox are asked, as JSON: `guest/` reads what is sent.

A request with a `number` is carried out once: asked again, it gives its first answer again.
"""

from typing import Literal, NotRequired, TypedDict

WatchMethod = Literal["seccomp", "strace"]
"""How a command's network calls are observed, from inside."""


class _AsUser(TypedDict):
    """Whom it is done as, where the program inside is root."""

    uid: int
    gid: int


class CommandRequest(_AsUser):
    """Run a program."""

    number: int
    argv: list[str]
    cwd: str
    seconds: float
    keep: int
    """Bytes of each output stream."""
    watch: WatchMethod | None
    refused_ports: list[int]
    """Ports of the sandbox's own loopback that a watched command cannot connect to."""
    environment: dict[str, str]
    limits: dict[str, int]


class KillRequest(TypedDict):
    """End the command of that number and all it started; one that has not begun never will."""

    number: int


class PutRequest(_AsUser):
    """Write files, whose contents stand one after another in `body` or in the file `frame`."""

    number: int
    files: list[tuple[str, int]]
    """Path and size of each."""
    file_bytes: int
    frame: str | None
    body: NotRequired[str]
    """In base64."""


class GetRequest(_AsUser):
    """Read files, into the file `frame`; the answer has their contents too where they are few."""

    number: int
    paths: list[str]
    file_bytes: int
    frame: str
    inline: int
    """Bytes that the answer may have at most."""


class DropRequest(TypedDict):
    """Remove a file that has been read."""

    frame: str


class CallsRequest(TypedDict):
    """Say what was written down of the network calls of all commands."""

    watch: WatchMethod


class PrepareRequest(_AsUser):
    """Lay the sandbox out, with what is in an archive."""

    archive: str
    skills: dict[str, str]
    """The digest of each that is to be there."""
    token: str
    """Tells this attempt from others."""
