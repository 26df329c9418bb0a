"""Reading questions to name servers."""

from __future__ import annotations

import struct

_HEADER_BYTES = 12
_TYPE_AND_CLASS_BYTES = 5
"""With the zero that ends the name."""
_IS_ANSWER = 0x80
_ONE_QUESTION = b"\0\1"


def first_question(packet: bytes) -> tuple[str, int, int] | None:
    """Name, record type, and end of the first question of a DNS packet; none if it has none."""
    position, labels = _HEADER_BYTES, []
    while position < len(packet) and packet[position]:
        length = packet[position]
        labels.append(packet[position + 1 : position + 1 + length].decode("latin-1"))
        position += 1 + length
    end = position + _TYPE_AND_CLASS_BYTES
    if not labels or end > len(packet):
        return None
    (record_type,) = struct.unpack_from(">H", packet, position + 1)
    return ".".join(labels).lower(), record_type, end


def parse_query(packet: bytes) -> tuple[str, int, int] | None:
    """Name, record type and number of a packet that asks one question; none if it does not."""
    if len(packet) < _HEADER_BYTES + _TYPE_AND_CLASS_BYTES:
        return None
    if packet[2] & _IS_ANSWER or packet[4:6] != _ONE_QUESTION:
        return None
    found = first_question(packet)
    return found and (found[0], found[1], struct.unpack_from(">H", packet)[0])
