"""Where Assay is and who asks it: from flags, the environment, a file, or the stack that runs here.

A token is sent only to the address it was given with: the file's to the file's, the running
stack's to that stack. One from a flag or the environment is the caller's own to send.
"""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

import tomli_w
from pydantic import BaseModel, ConfigDict, ValidationError

from assay_cli.embedded.data import DataFolder, write_privately
from assay_cli.outcome import CommandError, Exit

Key = Literal["url", "token", "data"]
KEYS: Final[tuple[Key, ...]] = get_args(Key)
URL_VARIABLE: Final = "ASSAY_URL"
TOKEN_VARIABLE: Final = "ASSAY_ADMIN_TOKEN"  # noqa: S105  # the name, not the secret


class FileConfig(BaseModel):
    """What the file says; every entry may be missing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str | None = None
    """Address of the Assay to ask."""
    token: str | None = None
    """For that address."""
    data: str | None = None
    """The folder of the stack on this machine."""


@dataclass(frozen=True, slots=True)
class Connection:
    url: str
    token: str
    on_this_machine: bool
    """Its gateway is not to be looked for behind a proxy."""


def config_file() -> Path:
    given = os.environ.get("ASSAY_CONFIG")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "assay" / "config.toml"


def read_config() -> FileConfig:
    """Nothing if there is no file. Raises CommandError for one that cannot be read."""
    file = config_file()
    try:
        return FileConfig.model_validate(tomllib.loads(file.read_text()))
    except FileNotFoundError:
        return FileConfig()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}. Mend or remove it.", _BAD) from error
    except ValidationError as error:
        wrong = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
        raise CommandError(
            f"{file} has entries that mean nothing here ({wrong}): it may hold"
            f" {', '.join(KEYS)}, each a text.",
            _BAD,
        ) from error


def write_config(config: FileConfig) -> None:
    """Raises CommandError."""
    file = config_file()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_privately(file, tomli_w.dumps(config.model_dump(exclude_none=True)))
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error}.", _BAD) from error


def default_data() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "assay"


def data_folder(given: Path | None) -> Path:
    """The one asked for, else the file's, else the usual one. Raises CommandError."""
    if given is not None:
        return given
    configured = read_config().data
    return Path(configured).expanduser() if configured else default_data()


def configured(url: str | None, token: str | None) -> Connection | None:
    """What flags, environment and file say; None if none of them names an address.

    Raises CommandError for an address without a token.
    """
    file = read_config()
    address = url or file.url
    if address is None:
        return None
    own = file.token if address == file.url else None
    shown = sendable(token) or sendable(own)
    if not shown:
        raise CommandError(
            f"There is no token for {address}: give it with --token, in {TOKEN_VARIABLE}, or with"
            " `assay config set token`.",
            _BAD,
        )
    return Connection(address, shown, on_this_machine=False)


def connection(url: str | None, token: str | None) -> Connection:
    """As `configured`, or else the stack that runs on this machine. Raises CommandError."""
    found = configured(url, token)
    if found is not None:
        return found
    folder = data_folder(None)
    running = DataFolder(folder).running()
    if running is None:
        raise CommandError(
            f"No Assay runs here (in {folder}): start one with `assay up`, or name another one"
            f" with --url, {URL_VARIABLE} or `assay config set url`.",
            _BAD,
        )
    return Connection(running.url, sendable(token) or sendable(running.token), on_this_machine=True)


def sendable(token: str | None) -> str:
    """The token as a header can carry it, without the blanks around it; nothing if there is none.

    Raises CommandError, which does not show the token.
    """
    bare = (token or "").strip()
    if not (bare.isascii() and bare.isprintable()):
        raise CommandError(
            "The token has characters that no token has: see that it was copied whole and alone.",
            _BAD,
        )
    return bare


_BAD: Final = Exit.BAD_INPUT
