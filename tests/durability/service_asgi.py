"""An application for ASGI servers that streams from an agent, an asynchronous generator."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

import tracedance_sdk as td
from tests.durability.service_agent import answer, stream


async def streamed(request: Request) -> Response:
    return StreamingResponse(stream(request.path_params["request"]), media_type="text/plain")


def whole(request: Request) -> Response:
    return PlainTextResponse(answer(request.path_params["request"]))


@contextlib.asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    yield
    td.flush()


app = Starlette(
    routes=[Route("/stream/{request}", streamed), Route("/answer/{request}", whole)],
    lifespan=lifespan,
)
