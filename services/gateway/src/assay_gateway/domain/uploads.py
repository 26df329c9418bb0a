"""What an upload is before anybody has looked into it."""

from dataclasses import dataclass
from typing import BinaryIO, Final

MAX_UPLOAD_BYTES: Final = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A whole file that has arrived, at most `MAX_UPLOAD_BYTES` long."""

    filename: str
    content: BinaryIO
    size: int
    uploaded_by: str
    start_validation: bool = True
    idempotency_key: str | None = None
