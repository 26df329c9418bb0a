"""System calls of a sandbox that wait for the runner: hearing of them and answering them."""

import asyncio
import errno
import fcntl
import ipaddress
import os
import select
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

Host = ipaddress.IPv4Address | ipaddress.IPv6Address

_ARM: Final = os.uname().machine == "aarch64"
CONNECT, SENDTO, SENDMSG, SENDMMSG = (203, 206, 211, 269) if _ARM else (42, 44, 46, 307)

_RECEIVE: Final = 0xC0502100
_SEND: Final = 0xC0182101
_STILL_THERE: Final = 0x40082102
_CONTINUE: Final = 1
_MESSAGES: Final = 1024


class Notice(NamedTuple):
    """A call that waits."""

    cookie: int
    process: int
    """The calling thread, as seen from here."""
    call: int
    arguments: tuple[int, ...]

    def addresses(self) -> list[bytes]:
        """Where it is to go, as the caller's memory says now. Raises OSError."""
        try:
            return self._addresses()
        except OverflowError as error:  # a pointer to where no memory can be
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT)) from error

    def _addresses(self) -> list[bytes]:
        memory = os.open(f"/proc/{self.process}/mem", os.O_RDONLY)
        try:
            if self.call == CONNECT:
                places = [(self.arguments[1], self.arguments[2])]
            elif self.call == SENDTO:
                places = [(self.arguments[4], self.arguments[5])]
            else:
                single = self.call == SENDMSG
                count = 1 if single else min(self.arguments[2], _MESSAGES)
                size = 56 if single else 64  # struct msghdr, struct mmsghdr
                headers = os.pread(memory, size * count, self.arguments[1])
                places = [
                    struct.unpack_from("<QI", headers, start)
                    for start in range(0, len(headers) - size + 1, size)
                ]
            return [
                os.pread(memory, min(length, 28), pointer) for pointer, length in places if pointer
            ]
        finally:
            os.close(memory)


class Notices:
    """Hands every waiting call to `hear`, which lets it go on or answers it, now or later."""

    def __init__(self, listener: int, hear: Callable[[Notice], None]) -> None:
        self._listener = listener
        self._hear = hear
        self._poll = select.poll()
        self._poll.register(listener, select.POLLIN)
        asyncio.get_running_loop().add_reader(listener, self._receive)

    def waits(self, notice: Notice) -> bool:
        """Whether it still waits: what was read of its caller before is certain to be its own."""
        try:
            fcntl.ioctl(self._listener, _STILL_THERE, struct.pack("<Q", notice.cookie))
        except OSError:
            return False
        return True

    def go_on(self, notice: Notice) -> None:
        """Let the kernel carry it out, with what the caller's memory holds by then."""
        self._answer(notice, 0, _CONTINUE)

    def give(self, notice: Notice, error: int) -> None:
        """End it with this error number, or 0 for success; the kernel does nothing more."""
        self._answer(notice, -error, 0)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._listener)
        os.close(self._listener)
        self._listener = -1

    def _answer(self, notice: Notice, error: int, flags: int) -> None:
        with suppress(OSError):  # its caller died meanwhile
            fcntl.ioctl(self._listener, _SEND, struct.pack("<QqiI", notice.cookie, 0, error, flags))

    def _receive(self) -> None:
        if any(events & select.POLLHUP for _, events in self._poll.poll(0)):
            asyncio.get_running_loop().remove_reader(self._listener)
            return
        notification = bytearray(80)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, notification)
        except OSError:
            return  # the caller died meanwhile
        cookie, process = struct.unpack_from("<QI", notification)
        (call,) = struct.unpack_from("<i", notification, 16)
        arguments = struct.unpack_from("<6Q", notification, 32)
        self._hear(Notice(cookie, process, call, arguments))


def parse_address(raw: bytes, call: int = CONNECT) -> tuple[Host, int] | None:
    """Host and port of a `sockaddr`; none where it is not an internet address."""
    if len(raw) < 8:  # noqa: PLR2004
        return None
    family, port = struct.unpack_from("<H", raw)[0], struct.unpack_from(">H", raw, 2)[0]
    # To send to an address of no family is to send to one of version 4.
    if family == socket.AF_INET or (family == socket.AF_UNSPEC and call != CONNECT):
        return ipaddress.IPv4Address(raw[4:8]), port
    if family == socket.AF_INET6 and len(raw) >= 24:  # noqa: PLR2004
        host = ipaddress.IPv6Address(raw[8:24])
        return host.ipv4_mapped or host, port
    return None
