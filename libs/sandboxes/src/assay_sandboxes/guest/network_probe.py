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
        return f"not resolved ({error.strerror})"
    return "resolved"
