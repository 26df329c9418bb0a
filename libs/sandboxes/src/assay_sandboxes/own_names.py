"""Names by which a sandbox means itself."""


def is_own_name(name: str) -> bool:
    """Whether a name means the sandbox itself, so that asking for it reaches for nothing."""
    if name.endswith(".in-addr.arpa"):
        return name.split(".")[-3] in ("127", "0")
    loopback6 = "1." + "0." * 31 + "ip6.arpa"
    return name in ("localhost", "sandbox", loopback6) or name.endswith(".localhost")
