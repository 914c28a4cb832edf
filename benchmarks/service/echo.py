"""The yardstick: a bare Starlette application that decodes a quote's request and encodes an answer of a quote's size.

It has no key, no price, no rules and no store, and runs by the service's own uvicorn settings.
"""

from __future__ import annotations

import asyncio

import msgspec
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hushprice.service.http import server, sockets


class CheckedRequest(msgspec.Struct):
    product: str
    attributes: dict[str, float | bool | str]


class Answered(msgspec.Struct):
    id: str
    product: str
    price: float
    currency: str
    expires_at: str
    version: int
    recorded: bool


_decode = msgspec.json.Decoder(CheckedRequest).decode
_encode = msgspec.json.Encoder().encode


async def echo(request: Request) -> Response:
    asked = _decode(await request.body())
    answer = Answered("9f86d081884c7d659f86d081884c7d65", asked.product, 12.99, "EUR", "2026-05-01T12:00:00Z", 3, True)
    return Response(_encode(answer), status_code=201, media_type="application/json")


async def main() -> None:
    stop = asyncio.Event()
    server.on_signals(stop)
    with sockets.listen("127.0.0.1", 0, "port") as listening:
        application = Starlette(routes=[Route("/v1/quotes", echo, methods=["POST"])])
        await server.serve(
            application,
            listening,
            started=lambda: print(f"serving {sockets.address(listening)}", flush=True),
            stop=stop,
        )


if __name__ == "__main__":
    uvloop.run(main())
