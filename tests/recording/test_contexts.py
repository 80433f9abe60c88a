"""What is closed in another context than it was driven in leaves quietly."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Generator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import tracedance_sdk as td
from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.snapshots import StateReader

PLACE = contextvars.ContextVar("place", default="outside")


class Pause:
    def __await__(self) -> Generator[Any, Any, None]:
        yield self


async def wait() -> None:
    await Pause()


def closed_elsewhere(coroutine: Any) -> None:
    contextvars.copy_context().run(coroutine.send, None)
    coroutine.close()


def test_a_variable_is_put_back_where_it_was_set_and_nowhere_else() -> None:
    token = PLACE.set("inside")
    assert not contextvars.copy_context().run(reset_quietly, PLACE, token)
    assert PLACE.get() == "inside"
    assert reset_quietly(PLACE, token)
    assert PLACE.get() == "outside"


def test_a_token_that_was_used_before_is_refused_loudly() -> None:
    token = PLACE.set("inside")
    assert reset_quietly(PLACE, token)
    with pytest.raises(RuntimeError):
        reset_quietly(PLACE, token)


@pytest.mark.parametrize("provider", [None, TracerProvider()], ids=["isolated", "their provider"])
def test_a_tool_is_closed_elsewhere(
    provider: TracerProvider | None, caplog: pytest.LogCaptureFixture
) -> None:
    options: dict[str, Any] = {} if provider is None else {"tracer_provider": provider}
    with caplog.at_level(logging.DEBUG), td.TraceRecorder(**options) as recorder:
        closed_elsewhere(td.tool(wait)())
    assert [call.name for call in recorder.trace.calls] == ["wait"]
    assert not [record.getMessage() for record in caplog.records if record.exc_info]


def test_a_look_at_the_state_is_closed_elsewhere() -> None:
    closed_elsewhere(StateReader(wait).read_async())
