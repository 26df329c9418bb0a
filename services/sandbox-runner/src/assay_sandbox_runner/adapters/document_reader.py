"""Reads what files say without trusting them: the parsers run in a process with its own bounds."""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay_sandbox_runner.adapters import document_extraction

SECONDS: Final = 30.0


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


async def read_documents(
    files: Mapping[str, bytes], *, seconds: float = SECONDS
) -> dict[str, DocumentText]:
    """The text of each file, by path; one that no parser gets through says so in its note."""
    if not files:
        return {}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        str(Path(document_extraction.__file__)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    head = json.dumps([[path, len(content)] for path, content in files.items()]).encode()
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate(b"\n".join((head, b"".join(files.values()))))
    except TimeoutError:
        output = b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    answers = [json.loads(line) for line in output.splitlines()]
    # The process ended early: what it was at, and what came after, was not read.
    unread = DocumentText("binary", "could not be read within the bounds of the reader", "")
    read = [DocumentText(a["kind"], a["note"], a["text"], a["cut"]) for a in answers]
    missing = [unread] * (len(files) - len(read))
    return dict(zip(files, (*read, *missing), strict=True))
