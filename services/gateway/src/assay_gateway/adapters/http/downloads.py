"""What routes that hand out a file have in common."""

from collections.abc import Awaitable, Callable, Iterator
from os import SEEK_END
from typing import Annotated, BinaryIO, Final, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Header
from fastapi.responses import Response, StreamingResponse

from assay_gateway.adapters.http.problems import Responses

CHUNK_BYTES: Final = 64 * 1024

Endpoint = TypeVar("Endpoint", bound=Callable[..., Awaitable[Response]])

IfNoneMatch = Annotated[
    tuple[str, ...], Header(description="Entity tags of what is known; `304` if it is still so.")
]
NOT_MODIFIED: Final[Responses] = {
    304: {"description": "What `If-None-Match` names is still what there is."}
}


def with_head(
    router: APIRouter,
) -> Callable[[str, Responses], Callable[[Endpoint], Endpoint]]:
    """What can be got and is worth asking about before getting it."""

    def decorator(path: str, documented: Responses) -> Callable[[Endpoint], Endpoint]:
        without_content: Responses = {
            status: {"description": response["description"]}
            for status, response in documented.items()
        }

        def add(endpoint: Endpoint) -> Endpoint:
            name = endpoint.__name__.removeprefix("get_")
            router.get(path, response_class=Response, responses=documented)(endpoint)
            return router.head(
                path, name=f"head_{name}", response_class=Response, responses=without_content
            )(endpoint)

        return add

    return decorator


def file_response(
    content: BinaryIO,
    media_type: str,
    filename: str,
    *,
    inline: bool,
    headers: dict[str, str] | None = None,
) -> Response:
    length = content.seek(0, SEEK_END)
    content.seek(0)
    return StreamingResponse(
        _chunks(content),
        media_type=media_type,
        headers={
            **(headers or {}),
            "Content-Length": str(length),
            "Content-Disposition": content_disposition(filename, inline=inline),
        },
    )


def _chunks(content: BinaryIO) -> Iterator[bytes]:
    with content:
        while chunk := content.read(CHUNK_BYTES):
            yield chunk


def content_disposition(filename: str, *, inline: bool) -> str:
    """Names of ours are letters, digits, points and hyphens: only letters beyond ASCII need care.

    A header holds ASCII alone, so those are told apart (RFC 6266), for readers that know how.
    """
    disposition = "inline" if inline else "attachment"
    if filename.isascii():
        return f'{disposition}; filename="{filename}"'
    plain = "".join(c if c.isascii() else "_" for c in filename)
    return f"{disposition}; filename=\"{plain}\"; filename*=UTF-8''{quote(filename)}"
