import random
import socket

LOWEST, HIGHEST = 20000, 32000
"""Below the range from which the kernel takes ports for outgoing connections: a service that is
started again must find its port free."""
LOOPBACK = "127.0.0.1"


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Different loopback ports that nobody listens on. Raises OSError when there are too few."""
    # Not the shared generator: processes that seed it alike would choose alike.
    candidates = random.SystemRandom().sample(range(LOWEST, HIGHEST), k=HIGHEST - LOWEST)
    ports: list[int] = []
    for port in candidates:
        if len(ports) == count:
            return ports
        if is_free(port):
            ports.append(port)
    raise OSError(f"fewer than {count} free ports between {LOWEST} and {HIGHEST}")
