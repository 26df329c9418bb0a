"""Rules for what sandboxes with an open network may reach, as an operator sets them."""

import ipaddress
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings

EgressDefault = Literal["public", "listed"]


class EgressSettings(BaseSettings):
    """What open sandboxes may reach."""

    egress: EgressDefault = Field(default="public", validation_alias="ASSAY_EGRESS")
    """What online sandboxes may reach: `public`, every public address, or `listed`.

    With `listed` that is what `ASSAY_EGRESS_ALLOW` lists and this machine's package indexes."""
    egress_allow: str = Field(default="", validation_alias="ASSAY_EGRESS_ALLOW")
    """What online sandboxes may reach besides: host names and ranges, with commas between them.

    `.example.org` means all below it; `10.1.0.0/16` is a range. This machine never is reached."""

    @model_validator(mode="after")
    def _is_readable(self) -> Self:
        _ = self.egress_rules
        return self

    @property
    def egress_rules(self) -> "EgressRules":
        """Raises ValueError."""
        return EgressRules.parsed(self.egress_allow, only_listed=self.egress == "listed")


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressRules:
    """What may be reached, by name and by range."""

    names: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    only_listed: bool = False

    @classmethod
    def parsed(cls, listed: str, *, only_listed: bool) -> Self:
        """Read a list with commas.

        Raises:
            ValueError: something in it is neither a name nor a range.
        """
        names, ranges = [], []
        for entry in filter(None, (each.strip() for each in listed.split(","))):
            try:
                ranges.append(str(ipaddress.ip_network(entry, strict=False)))
            except ValueError:
                if not _is_name(entry):
                    raise ValueError(
                        f"ASSAY_EGRESS_ALLOW lists {entry!r}, which is neither a host name nor a "
                        "range such as 10.1.0.0/16"
                    ) from None
                names.append(entry.removeprefix("*").lower().rstrip("."))
        return cls(names=tuple(names), ranges=tuple(ranges), only_listed=only_listed)


def _is_name(entry: str) -> bool:
    bare = entry.removeprefix("*").strip(".")
    parts = bare.split(".")
    return not bare.replace(".", "").isdigit() and all(
        part.replace("-", "").replace("_", "").isalnum() for part in parts
    )
