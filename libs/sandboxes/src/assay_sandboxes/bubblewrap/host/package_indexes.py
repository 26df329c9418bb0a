"""Which package indexes this machine is set to use: sandboxes reach them wherever they are."""

import configparser
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

_VARIABLES: Final = (
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"),
    *("UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX"),
    *("NPM_CONFIG_REGISTRY", "npm_config_registry"),
)
_PIP_OPTIONS: Final = ("index-url", "extra-index-url", "find-links")
_PORTS: Final = {"http": 80, "https": 443}


def configured_indexes(
    environment: Mapping[str, str] = os.environ, root: Path = Path("/")
) -> list[tuple[str, int]]:
    """Host and port of each, from the environment and the settings files of pip, uv and npm."""
    home = root / environment.get("HOME", "/root").lstrip("/")
    found = [
        *(word for name in _VARIABLES for word in environment.get(name, "").split()),
        *_of_pip(root / "etc/pip.conf"),
        *_of_pip(home / ".config/pip/pip.conf"),
        *_of_pip(home / ".pip/pip.conf"),
        *_of_pip(root / environment.get("PIP_CONFIG_FILE", "/nowhere").lstrip("/")),
        *_of_npm(root / "etc/npmrc"),
        *_of_npm(home / ".npmrc"),
        *_of_npm(root / environment.get("NPM_CONFIG_USERCONFIG", "/nowhere").lstrip("/")),
    ]
    return list(dict.fromkeys(place for url in found for place in _place_of(url)))


def _of_pip(path: Path) -> Iterator[str]:
    settings = configparser.RawConfigParser(strict=False)
    with suppress(OSError, configparser.Error, UnicodeDecodeError):
        settings.read_string(path.read_text())
    for section in settings.sections():
        for option in _PIP_OPTIONS:
            yield from settings.get(section, option, fallback="").split()


def _of_npm(path: Path) -> Iterator[str]:
    with suppress(OSError, UnicodeDecodeError):
        for line in path.read_text().splitlines():
            name, _, value = line.partition("=")
            if re.fullmatch(r"(@[^:]+:)?registry", name.strip()):
                yield value.strip()


def _place_of(url: str) -> Iterator[tuple[str, int]]:
    with suppress(ValueError):  # what is no address is none of ours to refuse
        parts = urlsplit(url.partition("=")[2] if re.match(r"\w+=https?:", url) else url)
        if parts.scheme in _PORTS and parts.hostname:
            yield parts.hostname, parts.port or _PORTS[parts.scheme]
