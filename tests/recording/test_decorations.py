"""Options of the decorator for tools: wrong ones are refused where they stand."""

from __future__ import annotations

import functools
from typing import Any, get_args

import pytest

from tracedance_sdk import TraceRecorder, tool
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording.decorations import EFFECTS, KINDS
from tracedance_sdk.trace import Effect, Kind


def test_the_words_are_those_of_the_trace_model() -> None:
    assert get_args(Effect) == EFFECTS
    assert get_args(Kind) == KINDS


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            {"effect": "delete"},
            "effect='delete' of a tool is not known; known are pure, read, ",
        ),
        ({"effect": "wirte"}, "effect='wirte' of a tool is not known; did you mean 'write'?"),
        ({"effect": ["x"]}, "effect=['x'] of a tool is not known; known are pure, read, "),
        ({"kind": "serach"}, "kind='serach' of a tool is not known; did you mean 'search'?"),
        ({"name": 5}, "name=5 of a tool is no text; give its name"),
        ({"name": ""}, "name='' of a tool is no text; give its name"),
        ({"ignore": 5}, "ignore=5 is no collection of the names of parameters"),
        ({"ignore": (1,)}, "ignore=(1,) is no collection of the names of parameters"),
        ({"reduce": "sum"}, "reduce='sum' is not callable; give a function of the items"),
        ({"max_items": "9"}, "max_items='9' is no integer; give 0 or more"),
        ({"max_items": None}, "max_items=None is no integer; give 0 or more"),
        ({"max_items": -1}, "max_items=-1 is negative; give 0 or more"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused_in_one_line(
    options: dict[str, Any], line: str
) -> None:
    with pytest.raises(InvalidOption) as caught:
        tool(**options)
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_a_parameter_to_ignore_that_the_function_has_not_is_refused() -> None:
    def send(session: object, to: str) -> None: ...

    with pytest.raises(InvalidOption, match=r"ignore='sesion' is no parameter of .*send; did you"):
        tool(ignore="sesion")(send)

    @tool(ignore=("anything",))
    def free(**given: Any) -> None: ...

    class Mailer:
        @tool(ignore="key")
        @classmethod
        def send(cls, key: str) -> None: ...

    @tool(ignore="session")
    @functools.wraps(send)
    def hidden(*args: Any, **kwargs: Any) -> None: ...

    assert [free, Mailer, hidden]


@pytest.mark.usefixtures("forgiving")
def test_a_tool_that_cannot_be_described_costs_neither_state_nor_outcome() -> None:
    class Described:
        """Has a description that fails."""

        __name__ = "described"

        @property
        def __doc__(self) -> str:  # type: ignore[override]
            if decorated:
                raise RuntimeError("no words")
            return "Fine so far."

        def __call__(self, x: int) -> int:
            return x

    decorated: list[Any] = []
    odd = tool(Described())
    decorated.append(odd)

    @tool
    def fine(x: int) -> int:
        return x

    with TraceRecorder(state={"a": 1}) as recorder:
        odd(1)
        fine(2)
        recorder.set_outcome(success=True)
    trace = recorder.trace
    assert trace.final_state == {"a": 1}
    assert trace.outcome is not None
    assert trace.outcome.success is True
    assert trace.outcome.ended is True
    assert [definition.name for definition in trace.tools] == ["described", "fine"]
    assert "tool: RuntimeError" in recorder.close().faults
