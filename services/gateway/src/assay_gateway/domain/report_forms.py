"""How each form of a report is named to a client."""

from typing import Final

from assay_contracts.rest import ReportForm
from assay_gateway.domain.media_types import preferred_media_type

MEDIA_TYPES: Final[dict[ReportForm, str]] = {
    "json": "application/json",
    "markdown": "text/markdown",
    "html": "text/html",
    "junit": "application/xml",
    "attestation": "application/vnd.dsse.envelope.v1+json",
}
FILE_ENDINGS: Final[dict[ReportForm, str]] = {
    "json": "json",
    "markdown": "md",
    "html": "html",
    "junit": "xml",
    "attestation": "intoto.json",
}


def preferred_form(accept: str) -> ReportForm:
    """What an `Accept` header wants most; JSON if it wants nothing that there is."""
    media_type = preferred_media_type(accept, tuple(MEDIA_TYPES.values()))
    return next(form for form, offered in MEDIA_TYPES.items() if offered == media_type)
