"""Cancel a run in the midst of a model call."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.support.scripted_models import ScriptedModels


async def cancelled(run: Coroutine[Any, Any, Any], models: ScriptedModels) -> None:
    """Cancel a run when its second request has been sent."""
    task = asyncio.ensure_future(run)
    while len(models.requests) < 2:  # noqa: ASYNC110 - a thread of the server counts them
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
