"""What a file says, whatever made it. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DocumentText:
    """What one file says."""

    kind: str
    """`text`, `pdf`, `docx`, `xlsx`, `pptx`, `archive`, `image`, `audio` or `binary`."""
    note: str
    """Its structure, or why there is no text: `2 pages`, `PNG, 640 × 480 pixels`."""
    text: str
    cut: bool = False
    """Whether text is missing at the end."""
