"""Names by which a sandbox means itself, and names as they were meant."""

from collections.abc import Iterable


def is_own_name(name: str) -> bool:
    """Whether a name means the sandbox itself, so that asking for it reaches for nothing."""
    if name.endswith(".in-addr.arpa"):
        return name.split(".")[-3] in ("127", "0")
    loopback6 = "1." + "0." * 31 + "ip6.arpa"
    return name in ("localhost", "sandbox", loopback6) or name.endswith(".localhost")


def without_search_domain(name: str, search: Iterable[str]) -> str:
    """The name that a program asked for, where its resolver put a search domain behind it."""
    for domain in search:
        bare = name.removesuffix(f".{domain}")
        if bare not in ("", name):
            return bare
    return name
