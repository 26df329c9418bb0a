"""Which form of an answer a client wants, by its `Accept` header."""

from collections.abc import Sequence


def preferred_media_type(accept: str, offers: Sequence[str]) -> str:
    """The media type among `offers` that `accept` wants most, else the first of them."""
    wanted = qualities(accept)

    def liking(offer: str) -> float:
        ranges = (offer, f"{offer.partition('/')[0]}/*", "*/*")
        return next((wanted[each] for each in ranges if each in wanted), 0.0)

    return max(offers, key=liking)


def qualities(header: str) -> dict[str, float]:
    """What a header such as `Accept` names, in lower case, with how much each is wanted."""
    wanted: dict[str, float] = {}
    for entry in header.split(","):
        name, *parameters = (part.strip().lower() for part in entry.split(";"))
        wanted[name] = _quality(parameters)
    return wanted


def _quality(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
