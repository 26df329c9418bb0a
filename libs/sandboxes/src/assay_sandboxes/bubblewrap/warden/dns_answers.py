"""Reading what name servers answer."""

from __future__ import annotations

import ipaddress
import struct
from typing import Final

from assay_sandboxes.guest.dns_questions import first_question

_POINTER: Final = 0xC0
_RECORD_BYTES: Final = 10
"""Type, class, time to live and length, behind the name."""
_ADDRESS_BYTES: Final = {1: 4, 28: 16}
"""By the type of a record that holds an address."""


def addresses_in(answer: bytes) -> tuple[str, list[str]]:
    """The name that was asked for, and the addresses that it led to; what is damaged is none."""
    question = first_question(answer)
    if question is None:
        return "", []
    name, _, position = question
    found: list[str] = []
    (count,) = struct.unpack_from(">H", answer, 6)
    for _ in range(count):
        position = _end_of_name(answer, position)
        if position + _RECORD_BYTES > len(answer):
            break
        kind, _, _, length = struct.unpack_from(">HHIH", answer, position)
        data = answer[position + _RECORD_BYTES : position + _RECORD_BYTES + length]
        if _ADDRESS_BYTES.get(kind) == len(data):
            found.append(str(ipaddress.ip_address(data)))
        position += _RECORD_BYTES + length
    return name, found


def _end_of_name(packet: bytes, position: int) -> int:
    while position < len(packet):
        length = packet[position]
        if length >= _POINTER:
            return position + 2
        position += 1 + length
        if not length:
            break
    return position
