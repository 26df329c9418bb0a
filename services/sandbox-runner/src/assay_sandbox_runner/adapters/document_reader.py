"""Reads what files say without trusting them: the parsers run in a process with its own bounds."""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from assay_sandbox_runner.adapters import document_extraction
from assay_sandbox_runner.domain.documents import DocumentText

SECONDS: Final = 30.0
_SHORT: Final = 64 * 1024
"""Bytes of a text that is read here at once: it needs no parser, and a process would cost more."""


async def read_documents(
    files: Mapping[str, bytes], *, seconds: float = SECONDS
) -> dict[str, DocumentText]:
    """The text of each file, by path; one that no parser gets through says so in its note."""
    short = {
        path: _document(*document_extraction.read(path, content))
        for path, content in files.items()
        if len(content) <= _SHORT and document_extraction.is_plain(content)
    }
    others = {path: content for path, content in files.items() if path not in short}
    read = short | (await _read_apart(others, seconds) if others else {})
    return {path: read[path] for path in files}


async def _read_apart(files: Mapping[str, bytes], seconds: float) -> dict[str, DocumentText]:
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
    read = [_document(a["kind"], a["note"], a["text"], cut=a["cut"]) for a in answers]
    missing = [unread] * (len(files) - len(read))
    return dict(zip(files, (*read, *missing), strict=True))


def _document(kind: str, note: str, text: str, *, cut: bool = False) -> DocumentText:
    return DocumentText(kind, _encodable(note), _encodable(text), cut)


def _encodable(text: str) -> str:
    """Without what JSON in UTF-8 or a database cannot hold: half characters and zero bytes."""
    return text.encode("utf-8", errors="replace").decode().replace("\0", "\ufffd")
