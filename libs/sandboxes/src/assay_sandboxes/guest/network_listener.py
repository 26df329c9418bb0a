"""Watching, from inside, where a command and all it starts try to go.

For sandboxes whose outside is somebody else's. A listener above the command hears of every system
call that names a destination before the kernel acts on it, reads the destination from the caller's
memory, writes it down and lets the call go on. What it writes, a line of JSON for each event:

    {"t", "pid", "fd", "to": "address:port"}      a connection, or a datagram
    {"t", "pid", "fd", "ask": name, "kind", "id"}  a question to a name server
    {"lost": why}                                  a call that could not be read
"""

from __future__ import annotations

import errno
import fcntl
import ipaddress
import json
import os
import socket
import struct
import time

DNS_PORT = 53
LISTED = 1000
"""Events beyond this many are not written down."""

_RECEIVE = 0xC0502100
_SEND = 0xC0182101
_STILL_THERE = 0x40082102
_CONTINUE = 1
_PAYLOAD = 512
_MESSAGES = 1024
_DAEMON_PORTS = (2280, 22220, 22222)
"""Where Daytona's own daemon listens in every sandbox, and does what it is asked by anybody."""


def parse_question(packet: bytes) -> tuple[str, int, int] | None:
    """Name, record type and number of a question to a name server; none if it is not one."""
    if len(packet) < 17 or packet[2] & 0x80 or packet[4:6] != b"\0\1":  # noqa: PLR2004
        return None
    position, labels = 12, []
    while position < len(packet) and packet[position]:
        length = packet[position]
        labels.append(packet[position + 1 : position + 1 + length].decode("latin-1"))
        position += 1 + length
    if not labels or position + 5 > len(packet):
        return None
    (kind,) = struct.unpack_from(">H", packet, position + 1)
    return ".".join(labels).lower(), kind, struct.unpack_from(">H", packet)[0]


def parse_address(raw: bytes, *, connecting: bool = True) -> tuple[str, int, bool] | None:
    """Host, port and whether it is this sandbox's own, of a `sockaddr` of the internet."""
    if len(raw) < 8:  # noqa: PLR2004
        return None
    family, port = struct.unpack_from("<H", raw)[0], struct.unpack_from(">H", raw, 2)[0]
    host: ipaddress.IPv4Address | ipaddress.IPv6Address
    # To send to an address of no family is to send to one of version 4.
    if family == socket.AF_INET or (family == socket.AF_UNSPEC and not connecting):
        host = ipaddress.IPv4Address(raw[4:8])
    elif family == socket.AF_INET6 and len(raw) >= 24:  # noqa: PLR2004
        six = ipaddress.IPv6Address(raw[8:24])
        host = six.ipv4_mapped or six
    else:
        return None
    own = host.is_loopback or host.is_unspecified
    return ("[%s]" if host.version == 6 else "%s") % host, port, own  # noqa: PLR2004


class Message:
    """One destination and what is sent there, as a system call names them."""

    def __init__(self, address: bytes, payload: bytes) -> None:
        self.address = address
        self.payload = payload


class Listener:
    """Hears of calls on a seccomp listener and writes them to a log."""

    def __init__(self, descriptor: int, log: int) -> None:
        self.descriptor = descriptor
        self._log = log
        self._written = 0
        numbers = (203, 206, 211, 269) if os.uname().machine == "aarch64" else (42, 44, 46, 307)
        self._connect, self._sendto, self._sendmsg, self._sendmmsg = numbers

    def hear(self) -> None:
        """Take one call, write down where it goes, and let it go on."""
        notification = bytearray(80)
        try:
            fcntl.ioctl(self.descriptor, _RECEIVE, notification)
        except OSError:
            return  # the caller died meanwhile
        cookie, process = struct.unpack_from("<QI", notification)
        (call,) = struct.unpack_from("<i", notification, 16)
        arguments = struct.unpack_from("<6Q", notification, 32)
        try:
            messages = self._messages(process, call, arguments)
        except OverflowError:  # a pointer to where no memory can be: the call fails by itself
            messages = []
        except OSError as error:
            if self._is_waiting(cookie):
                self._write({"lost": str(error)})
            messages = []
        if self._is_waiting(cookie):
            for message in messages:
                self._enter(process, arguments[0] & 0xFFFFFFFF, call, message)
        refused = call == self._connect and any(map(_asks_the_daemon, messages))
        answer = (-errno.ECONNREFUSED, 0) if refused else (0, _CONTINUE)
        try:
            fcntl.ioctl(self.descriptor, _SEND, struct.pack("<QqiI", cookie, 0, *answer))
        except OSError:
            return

    def _is_waiting(self, cookie: int) -> bool:
        """Whether the process that was read is certain to have been the caller."""
        try:
            fcntl.ioctl(self.descriptor, _STILL_THERE, struct.pack("<Q", cookie))
        except OSError:
            return False
        return True

    def _enter(self, process: int, descriptor: int, call: int, message: Message) -> None:
        event: dict[str, object] = {"t": time.time(), "pid": process, "fd": descriptor}
        place = parse_address(message.address, connecting=call == self._connect)
        question = None
        if call != self._connect and (place is None or place[1] == DNS_PORT):
            question = parse_question(message.payload)
        if question is not None:
            event["ask"], event["kind"], event["id"] = question
        elif place is not None and (not place[2] or place[1] == DNS_PORT):
            event["to"] = "%s:%d" % place[:2]  # noqa: UP031
        else:
            return
        self._write(event)

    def _write(self, event: dict[str, object]) -> None:
        self._written += 1
        if self._written <= LISTED:
            os.write(self._log, (json.dumps(event) + "\n").encode())

    def _messages(self, process: int, call: int, arguments: tuple[int, ...]) -> list[Message]:
        memory = os.open("/proc/%d/mem" % process, os.O_RDONLY)  # noqa: UP031
        try:
            if call == self._connect:
                return [Message(_read(memory, arguments[1], arguments[2]), b"")]
            if call == self._sendto:
                payload = _read(memory, arguments[1], min(arguments[2], _PAYLOAD))
                return [Message(_read(memory, arguments[4], arguments[5]), payload)]
            count = 1 if call == self._sendmsg else min(arguments[2], _MESSAGES)
            size = 56 if call == self._sendmsg else 64  # struct msghdr, struct mmsghdr
            headers = os.pread(memory, size * count, arguments[1])
            return [
                _message(memory, *struct.unpack_from("<QI4xQQ", headers, start))
                for start in range(0, len(headers) - size + 1, size)
            ]
        finally:
            os.close(memory)


def _asks_the_daemon(message: Message) -> bool:
    place = parse_address(message.address)
    return place is not None and place[2] and place[1] in _DAEMON_PORTS


def _read(memory: int, pointer: int, length: int) -> bytes:
    length &= 0xFFFFFFFF
    return os.pread(memory, min(length, _PAYLOAD), pointer) if pointer and length else b""


def _message(memory: int, name: int, length: int, vectors: int, count: int) -> Message:
    payload = b""
    if vectors and count:
        base, size = struct.unpack("<QQ", os.pread(memory, 16, vectors))
        payload = _read(memory, base, min(size, _PAYLOAD))
    return Message(_read(memory, name, min(length, 28)), payload)
