"""What lies beyond a sandbox with an open network, as its warden is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from assay_sandboxes.bubblewrap.host import layout
from assay_sandboxes.bubblewrap.host.package_indexes import configured_indexes
from assay_sandboxes.bubblewrap.host.supervisor_client import Ready
from assay_sandboxes.bubblewrap.warden.name_server import Place
from assay_sandboxes.bubblewrap.warden.orders import NO_POLICY, PolicyOrder, WatchOrder
from assay_sandboxes.egress import EgressRules
from assay_sandboxes.guest.socket_addresses import DNS_PORT


def machines_name_servers(settings: Path = Path("/etc/resolv.conf")) -> tuple[Place, ...]:
    """Those that this machine asks."""
    try:
        lines = [line.split() for line in settings.read_text().splitlines()]
    except OSError:
        return ()
    return tuple((words[1], DNS_PORT) for words in lines if words[:1] == ["nameserver"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Where connections may be carried, and who knows names."""

    policy: PolicyOrder = field(default_factory=lambda: NO_POLICY)
    name_servers: tuple[Place, ...] | None = None
    """None for those of this machine, as they are then."""
    detours: Mapping[str, Place] = field(default_factory=dict)
    """By address: where a connection to it goes instead; so tests have an outside."""

    @classmethod
    def by_rules(cls, rules: EgressRules) -> Self:
        """What the rules allow, and the package indexes that this machine is set to use."""
        return cls(
            policy=PolicyOrder(
                names=list(rules.names),
                ranges=list(rules.ranges),
                indexes=configured_indexes(),
                only_listed=rules.only_listed,
            )
        )

    def order(self, ready: Ready, *, carry: bool, memory_bytes: int | None) -> WatchOrder:
        """What the warden of a sandbox that is ready is told."""
        servers = machines_name_servers() if self.name_servers is None else self.name_servers
        return WatchOrder(
            counters=ready.counters,
            process=ready.process,
            memory_bytes=memory_bytes,
            carry=carry,
            policy=self.policy,
            name_servers=list(servers),
            search=list(layout.search_domains()),
            detours=dict(self.detours),
        )
