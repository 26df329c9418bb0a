"""Which language a client reads, by its `Accept-Language` header."""

from assay_contracts.reports import Language
from assay_gateway.domain.media_types import qualities


def preferred_language(accept_language: str) -> Language:
    """Chinese where it is wanted more than English; English for everybody else."""
    wanted = {"en": 0.0, "zh": 0.0}
    for tag, quality in qualities(accept_language).items():
        language = tag.partition("-")[0]
        if language in wanted:
            wanted[language] = max(wanted[language], quality)
    return "zh" if wanted["zh"] > wanted["en"] else "en"
