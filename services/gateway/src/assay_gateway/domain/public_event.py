from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublicEvent:
    """Something that other systems may know, as it was said on the bus."""

    sequence: int
    """Its place in the stream of the bus, the same for everybody and for ever."""
    type: str
    """The subject it was said under: one of the contracts' public ones."""
    body: str
    """JSON."""
