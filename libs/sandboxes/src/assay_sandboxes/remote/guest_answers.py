"""What the programs inside a remote sandbox answer."""

from pydantic import BaseModel, ConfigDict


class GuestAnswer(BaseModel):
    """Whatever is not asked for below is passed over."""

    model_config = ConfigDict(frozen=True)


class SurveyAnswer(GuestAnswer):
    """What a new sandbox is like (`guest/survey.py`)."""

    uid: int
    gid: int
    python: str
    shell: str
    sudo: bool
    """Whether our programs can become root by `sudo`."""
    host: str
    """Its own name."""
    path: str
    skills: dict[str, str]
    """Which it has already, with their digests."""


class CommandAnswer(GuestAnswer):
    """What came of a program."""

    code: int
    timed_out: bool
    out: str
    err: str
    """Both in base64."""
    truncated: bool


class KillAnswer(GuestAnswer):
    begun: bool
    """Whether the command had begun."""


class PutAnswer(GuestAnswer):
    problems: list[int]
    """An error number for each file, or zero."""


class GetAnswer(GuestAnswer):
    found: list[tuple[int, int]]
    """An error number, or zero, and a size, for each file."""
    body: str | None = None
    """The contents in base64, where they are few; else they lie in the frame."""


class CallsAnswer(GuestAnswer):
    calls: list[tuple[int, str]]
    """The number of each command, and what was written down of it."""
