"""Proving from inside that a sandbox's network is blocked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay_sandboxes.port import NotOffline, ObservedCall, SandboxUnavailable

_UNREACHABLE: Final = frozenset({"ENETUNREACH", "EHOSTUNREACH"})
_SILENT: Final = frozenset({"timeout", "EACCES", "EPERM"})
_NO_SUCH_PROTOCOL: Final = frozenset({"EAFNOSUPPORT", "EADDRNOTAVAIL"})
"""Where the machine has no IPv6, there is nothing to reach by it."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Where to try to go. Real places: a leak must show, not look like a dead address."""

    addresses: tuple[tuple[str, int], ...] = (
        ("1.1.1.1", 53),
        ("192.0.2.1", 80),
        ("2606:4700:4700::1111", 53),
    )
    names: tuple[str, ...] = ("example.com",)
    seconds: float = 1.0
    """How long to wait for an answer that should not come."""
    silence: bool = False
    """Whether no answer at all is as good as none on the way: where others block the network."""

    def request(self) -> Mapping[str, object]:
        return {"addresses": self.addresses, "names": self.names, "seconds": self.seconds}

    def judge(self, seen: Mapping[str, Sequence[str]], observed: Sequence[ObservedCall]) -> str:
        """Say what the probe did and saw.

        Args:
            seen: what came of each address and each name, inside.
            observed: what was noticed of the probe from outside.

        Raises:
            NotOffline: something other than "no way there" came back, or nothing did.
            SandboxUnavailable: the probe's own calls were not all noticed.
        """
        by_address = list(zip(self.addresses, seen["addresses"], strict=True))
        by_name = list(zip(self.names, seen["names"], strict=True))
        told = "; ".join(
            [f"connect to {host} port {port}: {result}" for (host, port), result in by_address]
            + [f"look up {name}: {result}" for name, result in by_name]
        )
        stopped = _UNREACHABLE | (_SILENT if self.silence else frozenset())
        blocked = all(result in stopped | _NO_SUCH_PROTOCOL for _, result in by_address)
        if not blocked or any(result == "resolved" for _, result in by_name):
            raise NotOffline(
                f"the sandbox was to have no network, and a probe from inside saw: {told}; "
                "it was destroyed before anything ran in it"
            )
        attempts = len(by_name) + sum(result in stopped for _, result in by_address)
        if len(observed) < attempts:
            raise SandboxUnavailable(
                f"network calls cannot be counted on this machine: a probe made {attempts} and "
                f"{len(observed)} were seen"
            )
        return told
