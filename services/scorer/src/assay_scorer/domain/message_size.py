"""Work cut down to what fits into a message. What is stored is never cut."""

from typing import Final, TypeVar

from assay_contracts.base import MESSAGE_BYTES, Work

CUTS: Final = ((200, 1000), (50, 300), (20, 120), (5, 80))
"""How many entries of each list and characters of each text stay: from mild to severe."""

SomeWork = TypeVar("SomeWork", bound=Work)


def cut_to_fit(work: SomeWork) -> SomeWork:
    """The work as it is, or with long lists and texts cut until a message holds it."""
    if _size(work) <= MESSAGE_BYTES:
        return work
    data = work.model_dump(mode="json")
    for entries, characters in CUTS:
        work = type(work).model_validate(_cut(data, entries, characters))
        if _size(work) <= MESSAGE_BYTES:
            break
    return work


def _size(work: Work) -> int:
    return len(work.model_dump_json().encode())


def _cut(value: object, entries: int, characters: int) -> object:
    if isinstance(value, str):
        return value if len(value) <= characters else f"{value[: characters - 1]}…"
    if isinstance(value, list):
        return [_cut(each, entries, characters) for each in value[:entries]]
    if isinstance(value, dict):
        return {key: _cut(each, entries, characters) for key, each in value.items()}
    return value
