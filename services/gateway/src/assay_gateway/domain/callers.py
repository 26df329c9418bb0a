"""Who is asking, which role makes an admin, and which addresses are one client."""

import ipaddress
from dataclasses import dataclass
from typing import Final

IPV6_BITS_OF_ONE_CLIENT: Final = 64
"""Bits of an address that a provider gives to one customer; the rest is theirs to change."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is asking, once that is proven."""

    name: str
    is_admin: bool
    expires_at: int | None = None
    """When the proof does, in seconds since 1970; None: never."""


def names_role(claim: object, role: str) -> bool:
    """Whether a token's claim, one text, several with spaces between or a list, has this role."""
    match claim:
        case str():
            return role == claim or role in claim.split()
        case list():
            return role in claim
        case _:
            return False


def one_client(address: str) -> str:
    """What is counted together: an IPv4 address, or all that one IPv6 client may choose from."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network((ip, IPV6_BITS_OF_ONE_CLIENT), strict=False))
