"""Proving from inside that a sandbox's network is blocked."""

from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

from assay_sandboxes.port import NotOffline, SandboxUnavailable

_UNREACHABLE: Final = frozenset({"ENETUNREACH", "EHOSTUNREACH"})
_SILENT: Final = frozenset({"timeout", "EACCES", "EPERM"})
_NO_SUCH_PROTOCOL: Final = frozenset({"EAFNOSUPPORT", "EADDRNOTAVAIL"})
"""Where the machine has no IPv6, there is nothing to reach by it."""


class ProbeResult(BaseModel):
    """What a probe says from inside (`guest/network_probe.py`)."""

    model_config = ConfigDict(frozen=True)

    addresses: tuple[str, ...]
    """What came of each."""
    names: tuple[str, ...]


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
    silence_is_proof: bool = False
    """Whether no answer at all is as good as none on the way: where others block the network."""

    def judge(self, result: ProbeResult, noticed: int | None) -> str:
        """Say what the probe did and saw.

        Args:
            result: what came of each address and each name, inside.
            noticed: how many of its attempts were seen; none where nobody observes calls.

        Raises:
            NotOffline: something other than "no way there" came back, or nothing did.
            SandboxUnavailable: the probe's own calls were not all noticed.
        """
        by_address = list(zip(self.addresses, result.addresses, strict=True))
        by_name = list(zip(self.names, result.names, strict=True))
        seen = "; ".join(
            [f"connect to {host} port {port}: {came}" for (host, port), came in by_address]
            + [f"look up {name}: {came}" for name, came in by_name]
        )
        stopped = _UNREACHABLE | (_SILENT if self.silence_is_proof else frozenset())
        blocked = all(came in stopped | _NO_SUCH_PROTOCOL for _, came in by_address)
        if not blocked or any(came == "resolved" for _, came in by_name):
            raise NotOffline(
                f"the sandbox was to have no network, and a probe from inside saw: {seen}; "
                "it was destroyed before anything ran in it"
            )
        attempts = len(by_name) + sum(came in stopped for _, came in by_address)
        if noticed is not None and noticed < attempts:
            raise SandboxUnavailable(
                f"network calls cannot be counted on this machine: a probe made {attempts} and "
                f"{noticed} were seen"
            )
        return seen
