"""The page's files, read once and served from memory."""

from __future__ import annotations

import math
import mimetypes
from importlib import resources

from starlette.responses import Response
from starlette.routing import Route

from hushprice.service.http.visitor_queues import PacedQueue

# Everything the page needs comes from this service, and it is shown in nobody else's frame.
_HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def page_routes(queue: PacedQueue) -> list[Route]:
    """The page at / and its files under /page/; nothing where the page is not installed."""
    folder = resources.files(__package__).joinpath("page")
    if not folder.is_dir():
        return []
    files = {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}
    named = {f"/page/{name}": name for name in files if not name.endswith(".py")}
    if "index.html" in files:
        named["/"] = "index.html"
    return [_route(path, name, files[name], queue) for path, name in named.items()]


def _route(path: str, name: str, content: bytes, queue: PacedQueue) -> Route:
    kind = "text/javascript" if name.endswith(".js") else mimetypes.guess_type(name)[0] or "application/octet-stream"

    async def file(_: object) -> Response:
        wait = await queue.wait()
        if wait:
            return Response(status_code=429, headers={"retry-after": str(math.ceil(wait))})
        return Response(content, media_type=kind, headers=_HEADERS)

    return Route(path, file, methods=["GET"])
