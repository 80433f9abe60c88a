"""The agent of the services of these tests, and what each server needs around it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from typing import Any, Final

import tracedance_sdk as td

CALLS: Final = 3
"""Of an answer that is not streamed."""

PARTS: Final = 20
"""Of a streamed answer."""


@td.tool
def look_up(request: str, n: int) -> dict[str, Any]:
    time.sleep(0.005)
    return {"request": request, "n": n, "process": os.getpid()}


@td.agent
def answer(request: str) -> str:
    """Answer at once, after some calls."""
    return " ".join(str(look_up(request, n)["n"]) for n in range(CALLS))


@td.tool
async def draft(request: str) -> AsyncIterator[str]:
    for part in range(PARTS):
        await asyncio.sleep(0.01)
        yield f"{request}/{part} "


@td.agent
async def stream(request: str) -> AsyncIterator[str]:
    """Answer part by part, as the parts come."""
    look_up(request, 0)
    async for part in draft(request):
        yield part
