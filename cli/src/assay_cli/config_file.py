"""The file that keeps what the command goes by, and the folder of the stack on this machine."""

import os
import tomllib
from pathlib import Path
from typing import Final, Literal, get_args

import tomli_w
from pydantic import BaseModel, ConfigDict, ValidationError

from assay_cli.embedded.data import write_privately
from assay_cli.exit_codes import CommandError, Exit

Key = Literal["url", "token", "data"]
KEYS: Final[tuple[Key, ...]] = get_args(Key)


class FileConfig(BaseModel):
    """What the file says; every entry may be missing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str | None = None
    """Address of the Assay to ask."""
    token: str | None = None
    """For that address."""
    data: str | None = None
    """The folder of the stack on this machine."""


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
        raise CommandError(
            f"{file} cannot be read: {error}. Mend or remove it.", Exit.BAD_INPUT
        ) from error
    except ValidationError as error:
        wrong = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
        raise CommandError(
            f"{file} has entries that mean nothing here ({wrong}): it may hold"
            f" {', '.join(KEYS)}, each a text.",
            Exit.BAD_INPUT,
        ) from error


def write_config(config: FileConfig) -> None:
    """Raises CommandError."""
    file = config_file()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_privately(file, tomli_w.dumps(config.model_dump(exclude_none=True)))
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error}.", Exit.BAD_INPUT) from error


def default_data() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "assay"


def data_folder(given: Path | None) -> Path:
    """The one asked for, else the file's, else the usual one. Raises CommandError."""
    if given is not None:
        return given
    configured = read_config().data
    return Path(configured).expanduser() if configured else default_data()
