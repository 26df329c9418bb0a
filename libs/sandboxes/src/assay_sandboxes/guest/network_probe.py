"""Trying, from inside, to get out."""

from __future__ import annotations

import _socket
import errno


def try_address(host: str, port: int, seconds: float) -> str:
    """What came of a connection: `connected`, `timeout`, or the name of an error."""
    family = _socket.AF_INET6 if ":" in host else _socket.AF_INET
    caller = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        caller.settimeout(seconds)
        caller.connect((host, port))
    except _socket.timeout:
        return "timeout"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    finally:
        caller.close()
    return "connected"


def try_name(name: str) -> str:
    """What came of a look-up: `resolved`, or that it did not."""
    try:
        _socket.getaddrinfo(name, 80, 0, _socket.SOCK_STREAM)
    except _socket.gaierror as error:
        return "not resolved (%s)" % error.strerror  # noqa: UP031
    return "resolved"


def main() -> None:
    """Try all at once, since each may take its whole time; print what came of each, as JSON."""
    import json  # noqa: PLC0415 - nothing that the supervisor has to wait for
    import sys  # noqa: PLC0415
    import threading  # noqa: PLC0415

    request = json.loads(sys.argv[1])
    seconds: float = request["seconds"]
    addresses = [""] * len(request["addresses"])
    names = [""] * len(request["names"])

    def address(position: int, host: str, port: int) -> None:
        addresses[position] = try_address(host, port, seconds)

    def name(position: int, host: str) -> None:
        names[position] = try_name(host)

    tries = [
        threading.Thread(target=address, args=(position, host, port))
        for position, (host, port) in enumerate(request["addresses"])
    ] + [
        threading.Thread(target=name, args=(position, host))
        for position, host in enumerate(request["names"])
    ]
    for each in tries:
        each.start()
    for each in tries:
        each.join()
    print(json.dumps({"addresses": addresses, "names": names}))  # noqa: T201
