"""Takes an upload off the wire: never whole in memory, never more than the limit."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from assay_contracts.rpc import Problem, ProblemError
from assay_gateway.adapters.http.problems import invalid_request
from assay_gateway.domain.uploads import MAX_UPLOAD_BYTES

FRAMING_BYTES: Final = 64 * 1024
"""More than the boundaries and part headers around one file can take."""

REQUEST_BODY: Final[dict[str, object]] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "additionalProperties": False,
                    "properties": {
                        "file": {
                            "type": "string",
                            "format": "binary",
                            "contentMediaType": "application/zip",
                            "description": "The skill's folder as a zip, at most 50 MB.",
                        }
                    },
                }
            }
        },
    }
}


@asynccontextmanager
async def received_file(request: Request) -> AsyncIterator[UploadFile]:
    """The one file of a multipart request, kept on disk when it is large, until the body ends.

    Raises ProblemError: FILE_TOO_LARGE as soon as it is, INVALID_REQUEST for anything but exactly
    one part `file` with a filename.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > MAX_UPLOAD_BYTES + FRAMING_BYTES:
        raise _too_large()
    form = await _parsed(request)
    try:
        yield _only_file(form)
    finally:
        await form.close()


async def _parsed(request: Request) -> FormData:
    content_type = request.headers.get("content-type", "")
    if not content_type.lower().startswith("multipart/form-data"):
        raise _not_one_file(f"content-type: {content_type or 'missing'}")
    parser = MultiPartParser(request.headers, _limited(request), max_files=1, max_fields=0)
    try:
        return await parser.parse()
    except MultiPartException as error:
        raise _not_one_file(f"body: {error.message}") from error


async def _limited(request: Request) -> AsyncGenerator[bytes]:
    received = 0
    async for chunk in request.stream():
        received += len(chunk)
        if received > MAX_UPLOAD_BYTES + FRAMING_BYTES:
            raise _too_large()
        yield chunk


def _only_file(form: FormData) -> UploadFile:
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise _not_one_file("file: missing, cut short, or without a filename")
    if (file.size or 0) > MAX_UPLOAD_BYTES:
        raise _too_large()
    return file


def _not_one_file(why: str) -> ProblemError:
    return invalid_request(
        "Send multipart/form-data with one part named `file` that has a filename, and no other.",
        why,
    )


def _too_large() -> ProblemError:
    return ProblemError(
        Problem(
            code="FILE_TOO_LARGE",
            message="The file is larger than 50 MB. Leave out what the skill does not need.",
        )
    )
