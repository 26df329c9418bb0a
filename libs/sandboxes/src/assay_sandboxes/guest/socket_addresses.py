"""Reading addresses of the internet as system calls name them."""

from __future__ import annotations

import ipaddress
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    Host = ipaddress.IPv4Address | ipaddress.IPv6Address

DNS_PORT = 53
_IPV4_BYTES = 8
_IPV6_BYTES = 24


def parse_address(raw: bytes, *, connecting: bool = True) -> tuple[Host, int] | None:
    """Host and port of a `sockaddr`; none where it is no address of the internet."""
    if len(raw) < _IPV4_BYTES:
        return None
    family, port = struct.unpack_from("<H", raw)[0], struct.unpack_from(">H", raw, 2)[0]
    # To send to an address of no family is to send to one of version 4.
    if family == socket.AF_INET or (family == socket.AF_UNSPEC and not connecting):
        return ipaddress.IPv4Address(raw[4:8]), port
    if family == socket.AF_INET6 and len(raw) >= _IPV6_BYTES:
        host = ipaddress.IPv6Address(raw[8:24])
        return host.ipv4_mapped or host, port
    return None


def is_own(host: Host) -> bool:
    """Whether it is the caller's own loopback."""
    return host.is_loopback or host.is_unspecified


def written(host: Host, port: int) -> str:
    return f"[{host}]:{port}" if isinstance(host, ipaddress.IPv6Address) else f"{host}:{port}"
