"""What a runner tells a warden, and what it is told; JSON over the socket between them."""

from __future__ import annotations

from typing import TypedDict


class PolicyOrder(TypedDict):
    """Where connections may be carried, beside the outside at large."""

    names: list[str]
    """Host names; `.example.org` means all below it."""
    ranges: list[str]
    """Networks, as `10.1.0.0/16`."""
    indexes: list[tuple[str, int]]
    """Package indexes of this machine, by name or address, and port."""
    only_listed: bool
    """Whether nothing but these may be reached."""


class WatchOrder(TypedDict):
    """The first word to a warden; the descriptors of a network come along with it.

    They are the system call filter's listener, the name server's sockets (for datagrams, for
    connections), then so many `counters`, then the gates.
    """

    counters: int
    process: int
    """Process 1 of the sandbox, as the machine sees it."""
    memory_bytes: int | None
    """What all its processes may hold together; none where the kernel sees to it."""
    carry: bool
    """Whether connections are carried outside, once the sandbox is proven to have no other way."""
    policy: PolicyOrder
    name_servers: list[tuple[str, int]]
    search: list[str]
    """Domains that the sandbox's resolver puts behind names."""
    detours: dict[str, tuple[str, int]]
    """By address: where a connection to it goes instead. What stands for the outside in tests."""


class Begun(TypedDict):
    """The answer to `begin`: what was seen of the probe."""

    attempts: int
    shares_sockets: bool
    """Whether the machine lets a socket be shared with the processes of the sandbox."""


NO_POLICY: PolicyOrder = {"names": [], "ranges": [], "indexes": [], "only_listed": False}
