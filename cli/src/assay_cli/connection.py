"""Where Assay is and who asks it: from flags, the environment, a file, or the stack that runs here.

A token is sent only to the address it was given with: the file's to the file's, the running
stack's to that stack. One from a flag or the environment is the caller's own to send.
"""

from dataclasses import dataclass
from typing import Final

from assay_cli.config_file import data_folder, read_config
from assay_cli.embedded.data import DataFolder
from assay_cli.exit_codes import CommandError, Exit

URL_VARIABLE: Final = "ASSAY_URL"
TOKEN_VARIABLE: Final = "ASSAY_ADMIN_TOKEN"  # noqa: S105  # the name, not the secret


@dataclass(frozen=True, slots=True)
class Connection:
    url: str
    token: str
    on_this_machine: bool
    """Its gateway is not to be looked for behind a proxy."""


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
            Exit.BAD_INPUT,
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
            Exit.BAD_INPUT,
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
            Exit.BAD_INPUT,
        )
    return bare
