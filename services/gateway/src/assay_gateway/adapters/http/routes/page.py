"""The admin page: files that anybody may read, which ask for everything else with a token."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from assay_contracts.grades import DONE_GRADE, PARTLY_DONE_GRADE
from assay_contracts.scores import DIMENSIONS, OVERALL_PASS_MARK
from assay_gateway.domain.entity_tags import etag_of, is_known

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Nothing from elsewhere, nothing inline, and no way to make markup or script of text."""
INDEX: Final = "index.html"
MEDIA_TYPES: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
"""A file of any other kind is no part of the page."""
SCORING: Final = "scoring.json"
"""What the page has to know of scores and grades, made from the contracts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    content: bytes
    media_type: str
    etag: str


def page_routes() -> list[Route]:
    """The page at `/`, its parts below `/page/`: what is in the folder, and `SCORING`."""
    assets = {**_assets(files("assay_gateway.adapters") / "page"), SCORING: _scoring()}

    async def page(request: Request) -> Response:
        return _answer(request, assets.get(request.path_params.get("name", INDEX)))

    return [Route("/", page), Route("/page/{name:path}", page)]


def _answer(request: Request, asset: Asset | None) -> Response:
    if asset is None:
        raise HTTPException(404)
    headers = {
        "ETag": asset.etag,
        # Asked for anew each time and seldom sent: after an update, no mix of old and new parts.
        "Cache-Control": "no-cache",
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    if is_known(asset.etag, request.headers.getlist("If-None-Match")):
        return Response(status_code=304, headers=headers)
    return Response(asset.content, media_type=asset.media_type, headers=headers)


def _assets(folder: Traversable, prefix: str = "") -> Mapping[str, Asset]:
    found: dict[str, Asset] = {}
    for each in folder.iterdir():
        if each.is_dir():
            found |= _assets(each, f"{prefix}{each.name}/")
        elif media_type := MEDIA_TYPES.get(PurePath(each.name).suffix):
            found[prefix + each.name] = _asset(each.read_bytes(), media_type)
    return found


def _scoring() -> Asset:
    rules = {
        "dimensions": [
            dimension.model_dump(include={"name", "weight", "pass_mark"})
            for dimension in DIMENSIONS
        ],
        "pass_mark": OVERALL_PASS_MARK,
        "done_grade": DONE_GRADE,
        "partly_done_grade": PARTLY_DONE_GRADE,
    }
    return _asset(json.dumps(rules).encode(), MEDIA_TYPES[".json"])


def _asset(content: bytes, media_type: str) -> Asset:
    return Asset(content=content, media_type=media_type, etag=etag_of(content))
