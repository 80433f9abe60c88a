"""Turns as providers' APIs give them: names of token counts, and calls with arguments as text."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tracedance_sdk import TraceRecorder
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.trace import UNKNOWN, Trace, Usage


def recorded(**facts: Any) -> Trace:
    with TraceRecorder() as recorder:
        recorder.record_turn("assistant", "hi", **facts)
    return recorder.trace


class Reported:
    """A usage as a provider's library returns it."""

    def model_dump(self) -> dict[str, Any]:
        return {"prompt_tokens": 3, "completion_tokens": 4, "brand_new": 1, "total_tokens": 7}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"input_tokens": 3, "cost_usd": 0.5}, Usage(input_tokens=3, cost_usd=0.5)),
        (Usage(output_tokens=2), Usage(output_tokens=2)),
        (
            {
                "prompt_tokens": 30,
                "completion_tokens": 4,
                "total_tokens": 34,
                "prompt_tokens_details": {"cached_tokens": 20, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(input_tokens=30, output_tokens=4, cache_read_tokens=20, reasoning_tokens=2),
        ),
        (
            {
                "input_tokens": 30,
                "input_tokens_details": {"cached_tokens": 20},
                "output_tokens": 4,
                "output_tokens_details": None,
            },
            Usage(input_tokens=30, output_tokens=4, cache_read_tokens=20),
        ),
        (
            {
                "input_tokens": 10,
                "cache_read_input_tokens": 20,
                "cache_creation_input_tokens": 5,
                "output_tokens": 4,
                "service_tier": "standard",
            },
            Usage(input_tokens=35, output_tokens=4, cache_read_tokens=20, cache_write_tokens=5),
        ),
        (Reported(), Usage(input_tokens=3, output_tokens=4)),
    ],
    ids=["ours", "record", "openai-chat", "openai-responses", "anthropic", "object"],
)
def test_tokens_are_kept_by_whatever_names_they_come(given: Any, kept: Usage) -> None:
    assert recorded(usage=given).turns[0].usage == kept


@pytest.mark.parametrize("usage", [{"tokens": 3}, {"input_token": 3}, 7, "many"])
def test_a_usage_that_would_be_lost_is_refused_in_one_line(usage: Any) -> None:
    with (
        TraceRecorder() as recorder,
        pytest.raises(InvalidOption, match=r"usage(=| has no)") as caught,
    ):
        recorder.record_turn("assistant", "hi", usage=usage)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("as_object", [False, True])
def test_tool_calls_of_openai_are_read_and_bound(as_object: bool) -> None:
    function: Any = {"name": "pay", "arguments": '{"amount": 7}'}
    call: Any = {"id": "c1", "type": "function", "function": function}
    if as_object:
        call = SimpleNamespace(**{**call, "function": SimpleNamespace(**function)})
    with TraceRecorder() as recorder:
        recorder.record_turn("assistant", calls=[call])
        with recorder.call("pay", {"amount": 7}):
            pass
    (found,) = recorder.trace.calls
    assert (found.id, found.name, found.arguments) == ("c1", "pay", {"amount": 7})
    assert found.bound_by is not None
    assert found.bound_by != "synthetic"


def test_arguments_that_are_no_json_are_kept_as_the_model_wrote_them() -> None:
    trace = recorded(calls=[{"id": 5, "function": {"name": "pay", "arguments": '{"amount": '}}])
    (call,) = trace.calls
    assert (call.id, call.arguments, call.raw_arguments) == ("5", UNKNOWN, '{"amount": ')
