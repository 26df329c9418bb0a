"""System calls that wait for whoever listens at a system call filter, and what they name."""

from __future__ import annotations

import fcntl
import os
import struct

from assay_sandboxes.guest.syscall_numbers import CONNECT, SENDMSG, SENDTO

_RECEIVE = 0xC0502100
_SEND = 0xC0182101
_STILL_THERE = 0x40082102
_CONTINUE = 1
_NOTIFICATION_BYTES = 80
_MOST_MESSAGES = 1024
_UNSIGNED_INT = 0xFFFFFFFF
_MSGHDR_BYTES = 56
_MMSGHDR_BYTES = 64
_ADDRESS_BYTES = 28
"""No address of the internet is longer."""


class Message:
    """One destination and what is sent there, as a system call names them."""

    __slots__ = ("address", "payload")

    def __init__(self, address: bytes, payload: bytes = b"") -> None:
        """`address` is a `sockaddr`, empty where the call names none."""
        self.address = address
        self.payload = payload


class WaitingCall:
    """A system call that waits for an answer."""

    __slots__ = ("arguments", "cookie", "number", "thread")

    def __init__(self, cookie: int, thread: int, number: int, arguments: tuple[int, ...]) -> None:
        self.cookie = cookie
        self.thread = thread
        """The caller, as seen from here."""
        self.number = number
        self.arguments = arguments

    @property
    def descriptor(self) -> int:
        """The caller's socket."""
        return self.arguments[0] & _UNSIGNED_INT

    def messages(self, *, payload_bytes: int = 0) -> list[Message]:
        """What it sends where, as the caller's memory says now, with so much of each payload.

        Raises:
            OSError: the memory cannot be read.
        """
        memory = os.open(f"/proc/{self.thread}/mem", os.O_RDONLY)
        try:
            return self._read_messages(memory, payload_bytes)
        except OverflowError:  # a pointer to where no memory can be: the call fails by itself
            return []
        finally:
            os.close(memory)

    def _read_messages(self, memory: int, payload_bytes: int) -> list[Message]:
        arguments = self.arguments
        if self.number == CONNECT:
            return [Message(_read_address(memory, arguments[1], arguments[2]))]
        if self.number == SENDTO:
            address = _read_address(memory, arguments[4], arguments[5])
            return [Message(address, _read(memory, arguments[1], arguments[2], payload_bytes))]
        single = self.number == SENDMSG
        count = 1 if single else min(arguments[2], _MOST_MESSAGES)
        size = _MSGHDR_BYTES if single else _MMSGHDR_BYTES
        headers = os.pread(memory, size * count, arguments[1])
        return [
            _message(memory, headers[start : start + size], payload_bytes)
            for start in range(0, len(headers) - size + 1, size)
        ]


def _message(memory: int, header: bytes, payload_bytes: int) -> Message:
    name, length, vectors, count = struct.unpack_from("<QI4xQQ", header)
    payload = b""
    if payload_bytes and vectors and count:
        base, size = struct.unpack("<QQ", os.pread(memory, 16, vectors))
        payload = _read(memory, base, size, payload_bytes)
    return Message(_read_address(memory, name, length), payload)


def _read_address(memory: int, pointer: int, length: int) -> bytes:
    return _read(memory, pointer, length & _UNSIGNED_INT, _ADDRESS_BYTES)


def _read(memory: int, pointer: int, length: int, most: int) -> bytes:
    length = min(length, most)
    return os.pread(memory, length, pointer) if pointer and length else b""


def receive(listener: int) -> WaitingCall | None:
    """The next call that waits; none if its caller died meanwhile."""
    notification = bytearray(_NOTIFICATION_BYTES)
    try:
        fcntl.ioctl(listener, _RECEIVE, notification)
    except OSError:
        return None
    cookie, thread = struct.unpack_from("<QI", notification)
    (number,) = struct.unpack_from("<i", notification, 16)
    return WaitingCall(cookie, thread, number, struct.unpack_from("<6Q", notification, 32))


def still_waits(listener: int, call: WaitingCall) -> bool:
    """Whether it still waits: then what was read of its caller before is certain to be its own."""
    try:
        fcntl.ioctl(listener, _STILL_THERE, struct.pack("<Q", call.cookie))
    except OSError:
        return False
    return True


def let_go_on(listener: int, call: WaitingCall) -> None:
    """Let the kernel carry it out, with what the caller's memory holds by then."""
    _answer(listener, call, 0, _CONTINUE)


def end_with(listener: int, call: WaitingCall, error: int) -> None:
    """End it with this error number, or 0 for success; the kernel does nothing more."""
    _answer(listener, call, -error, 0)


def _answer(listener: int, call: WaitingCall, error: int, flags: int) -> None:
    try:
        fcntl.ioctl(listener, _SEND, struct.pack("<QqiI", call.cookie, 0, error, flags))
    except OSError:
        return  # its caller died meanwhile
