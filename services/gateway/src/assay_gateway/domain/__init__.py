"""Refusals as HTTP statuses, who is an admin, and which form of an answer is meant."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.rpc import ProblemCode
from assay_contracts.skills import ValidationStage

MAX_UPLOAD_BYTES: Final = 50 * 1024 * 1024

ENDED: Final[frozenset[ValidationStage | None]] = frozenset({"completed", "failed", "inconclusive"})

HTTP_STATUS: Final[dict[ProblemCode, int]] = {
    "INVALID_SKILL_FORMAT": 400,
    "INVALID_ZIP": 400,
    "INVALID_STATUS_TRANSITION": 400,
    "VALIDATION_NOT_COMPLETED": 400,
    "REGRESSION_FAILED": 400,
    "UNAUTHORIZED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "SKILL_NOT_FOUND": 404,
    "IMAGE_NOT_FOUND": 404,
    "FULL_TEST_NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "VALIDATION_TIMEOUT": 408,
    "SKILL_ALREADY_EXISTS": 409,
    "VALIDATION_IN_PROGRESS": 409,
    "REQUEST_IN_PROGRESS": 409,
    "FILE_TOO_LARGE": 413,
    "INVALID_REQUEST": 422,
    "RATE_LIMITED": 429,
    "DEPENDENCY_INSTALL_FAILED": 500,
    "VALIDATION_ERROR": 500,
    "SERVICE_UNAVAILABLE": 503,
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is asking, once that is proven."""

    name: str
    is_admin: bool
    expires_at: int | None = None
    """When the proof does, in seconds since 1970; None: never."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A public fact, as it was said."""

    sequence: int
    """Its place among all facts, the same for everybody and for ever."""
    type: str
    body: str
    """JSON."""


def names_role(claim: object, role: str) -> bool:
    """Whether a token's claim, one text, several with spaces between or a list, has this role."""
    match claim:
        case str():
            return role == claim or role in claim.split()
        case list():
            return role in claim
        case _:
            return False


def preferred(accept: str, offers: Sequence[str]) -> str:
    """The media type among `offers` that an `Accept` header wants most, else the first of them."""
    wanted: dict[str, float] = {}
    for entry in accept.split(","):
        media_type, *parameters = (part.strip().lower() for part in entry.split(";"))
        wanted[media_type] = _quality(parameters)

    def liking(offer: str) -> float:
        ranges = (offer, f"{offer.partition('/')[0]}/*", "*/*")
        return next((wanted[each] for each in ranges if each in wanted), 0.0)

    return max(offers, key=liking)


def _quality(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
