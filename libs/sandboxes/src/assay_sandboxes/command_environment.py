"""Where commands find themselves, in a sandbox of any kind."""

from typing import Final

from assay_sandboxes.guest.fast_files import TEMPORARY

HOME: Final = "/home/agent"
"""The environment layer: what is installed goes here, and snapshots keep it."""

ENVIRONMENT: Final = {
    "HOME": HOME,
    "USER": "agent",
    "LANG": "C.UTF-8",
    "TMPDIR": TEMPORARY,
    # Caches are no part of an environment.
    "XDG_CACHE_HOME": f"{TEMPORARY}/.cache",
    "PIP_NO_CACHE_DIR": "1",
    "NPM_CONFIG_CACHE": f"{TEMPORARY}/.npm",
    # Where /usr is read-only, pip installs for the user; Debian forbids even that by default.
    "PIP_BREAK_SYSTEM_PACKAGES": "1",
    "NPM_CONFIG_PREFIX": f"{HOME}/.local",
    "NODE_PATH": f"{HOME}/.local/lib/node_modules",
    # Calls home by the tools themselves would be held against the skill.
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "NPM_CONFIG_UPDATE_NOTIFIER": "false",
    "NPM_CONFIG_AUDIT": "false",
    "NPM_CONFIG_FUND": "false",
}
"""Variables of every command, beside `PATH`."""


def search_path(*more: str) -> str:
    """`PATH`: what was installed comes first."""
    return ":".join((f"{HOME}/.local/bin", *more))
