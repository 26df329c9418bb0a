"""Where a connection may be carried. Decided on the address that is connected to, never on a name.

A name that an allow list holds lets through the addresses that this machine's own name servers
gave for it to this sandbox; so a name that suddenly leads elsewhere (rebinding) leads nowhere.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from typing import TYPE_CHECKING, Final

from assay_sandboxes.guest.socket_addresses import is_own

if TYPE_CHECKING:
    from collections.abc import Collection

    from assay_sandboxes.bubblewrap.warden.orders import PolicyOrder
    from assay_sandboxes.guest.socket_addresses import Host

_DENIED: Final = tuple(
    (ipaddress.ip_network(network), why)
    for network, why in (
        ("168.63.129.16/32", "a metadata address"),
        ("100.100.100.200/32", "a metadata address"),
        ("fd00:ec2::254/128", "a metadata address"),
        ("fd20:ce::254/128", "a metadata address"),
        ("169.254.0.0/16", "a link-local address, where clouds keep their metadata"),
        ("fe80::/10", "a link-local address"),
        ("0.0.0.0/8", "an address of no host"),
        ("127.0.0.0/8", "a loopback address"),
        ("10.0.0.0/8", "an address of a private network"),
        ("172.16.0.0/12", "an address of a private network"),
        ("192.168.0.0/16", "an address of a private network"),
        ("100.64.0.0/10", "an address of a provider's own network"),
        ("192.0.0.0/24", "an address of a provider's own network"),
        ("198.18.0.0/15", "an address of a private network"),
        ("fc00::/7", "an address of a private network"),
        ("fec0::/10", "an address of a private network"),
        ("64:ff9b:1::/48", "an address of a private network"),
        ("100::/64", "an address of no host"),
        ("::/96", "an address of no host"),
        ("2001::/32", "an address inside a tunnel"),
        ("224.0.0.0/4", "a multicast address"),
        ("ff00::/8", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
    )
)
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_ROUTE_REQUEST: Final = 26
_ROUTE_ANSWER: Final = 24
_NETLINK_ROUTE: Final = 0
_DESTINATION: Final = 1
_UNICAST: Final = 1
_LOCAL: Final = 2


class EgressPolicy:
    """Which addresses are outside, as far as a sandbox is concerned."""

    def __init__(self, order: PolicyOrder) -> None:
        self._names = {name.lower().rstrip(".") for name in order["names"]}
        self._ranges = [ipaddress.ip_network(each, strict=False) for each in order["ranges"]]
        self._indexes = {(name.lower(), port) for name, port in order["indexes"]}
        self._only_listed = order["only_listed"]

    def refusal(self, host: Host, port: int, names: Collection[str]) -> str | None:
        """Why a connection may not be carried; none where it may.

        Args:
            host: The address.
            port: The port.
            names: What this sandbox has found the address under.
        """
        if self.is_index(host, port, names):
            return None
        for address in embedded_addresses(host):
            if is_this_machine(address):
                return "an address of this machine"
        if any(map(self._lists, names)) or any(host in each for each in self._ranges):
            return None
        for address in embedded_addresses(host):
            for network, why in _DENIED:
                if address in network:
                    return why
        return "not on the list of what may be reached" if self._only_listed else None

    def is_index(self, host: Host, port: int, names: Collection[str] = ()) -> bool:
        """Whether it is a package index that this machine is set to use."""
        known = {str(host), *names, *(("localhost",) if host.is_loopback else ())}
        return any((name, port) in self._indexes for name in known)

    def _lists(self, name: str) -> bool:
        labels = name.split(".")
        parents = ("." + ".".join(labels[start:]) for start in range(len(labels)))
        return name in self._names or any(parent in self._names for parent in parents)


def embedded_addresses(host: Host) -> list[Host]:
    """The address, and those of version 4 that one of version 6 stands for."""
    found: list[Host] = [host]
    if isinstance(host, ipaddress.IPv6Address):
        if host in _NAT64:
            found.append(ipaddress.IPv4Address(host.packed[-4:]))
        found += [each for each in (host.ipv4_mapped, host.sixtofour) if each is not None]
    return found


def is_this_machine(host: Host) -> bool:
    """Whether the kernel would keep what goes there: every address of this machine, by any name.

    The kernel's routes tell, asked now: an address may be the second of its interface, or new.
    """
    if is_own(host):
        return True
    family = socket.AF_INET if host.version == 4 else socket.AF_INET6  # noqa: PLR2004  # of IP
    destination = struct.pack("<HH", 4 + len(host.packed), _DESTINATION) + host.packed
    route = struct.pack("<8BI", family, len(host.packed) * 8, 0, 0, 0, 0, 0, 0, 0)
    length = 16 + len(route) + len(destination)
    request = struct.pack("<IHHII", length, _ROUTE_REQUEST, 1, 1, 0) + route + destination
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_ROUTE) as kernel:
        kernel.settimeout(1.0)
        kernel.send(request)
        answer = kernel.recv(8192)
    (kind,) = struct.unpack_from("<H", answer, 4)
    # Where there is no route at all, connecting fails by itself.
    return kind == _ROUTE_ANSWER and answer[16 + 7] != _UNICAST
