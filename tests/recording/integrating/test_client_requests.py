"""What a client is asked, read once however often requests repeat it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from tracedance_sdk.formats import Message
from tracedance_sdk.recording.integrating.client_requests import History, as_json, settled


class _Block(BaseModel):
    type: str = "tool_use"
    id: str = "c1"
    name: str = "look"
    input: dict[str, Any] = {}


def _said() -> list[Any]:
    return [
        {"role": "user", "content": "Hi"},
        {"role": "user", "content": [{"type": "text", "text": "Look"}]},
        {"role": "assistant", "content": [_Block(input={"at": ["sky"]})]},
    ]


def test_a_repeated_message_is_read_once() -> None:
    history, said = History(), _said()
    first = history.read(said)
    again = history.read([*said, {"role": "user", "content": "More"}])
    assert all(isinstance(message, Message) for message in first)
    assert all(known is message for known, message in zip(again, first, strict=False))


def test_a_message_that_is_built_anew_is_known_too() -> None:
    history = History()
    first = history.read(_said())
    assert all(a is b for a, b in zip(history.read(copy.deepcopy(_said())), first, strict=True))


def test_other_requests_in_between_do_not_matter() -> None:
    history, said = History(), _said()
    first = history.read(said)
    history.read([{"role": "user", "content": "A title, please."}])
    assert history.read(said)[0] is first[0]


def _change_text(said: list[Any]) -> None:
    said[0]["content"] = "Other"


def _change_part(said: list[Any]) -> None:
    said[1]["content"][0]["text"] = "Other"


def _change_block(said: list[Any]) -> None:
    said[2]["content"][0].name = "other"


def _change_arguments(said: list[Any]) -> None:
    said[2]["content"][0].input["at"].append("ground")


@pytest.mark.parametrize("change", [_change_text, _change_part, _change_block, _change_arguments])
def test_a_message_that_was_changed_in_place_is_read_again(change: Any) -> None:
    history, said = History(), _said()
    first = history.read(said)
    change(said)
    assert history.read(said) == History().read(said) != first


def test_tools_are_read_once_and_again_when_they_changed() -> None:
    history = History()
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    first = history.read_tools(tools)
    assert history.read_tools(tools) is first
    tools[0]["name"] = "see"
    assert [tool["name"] for tool in history.read_tools(tools)] == ["see"]


def test_iterators_become_lists_and_all_else_stays_the_same_object() -> None:
    said = _said()
    given = {"messages": said, "tools": iter(({"name": "look"},)), "model": "m"}
    found = settled(given, ("messages", "tools"))
    assert found == {"messages": said, "tools": [{"name": "look"}], "model": "m"}
    assert found["messages"] is said
    assert settled(found, ("messages", "tools")) is found


def test_iterators_inside_messages_become_lists_in_a_copy() -> None:
    message = {"role": "user", "content": iter(["Hi"])}
    found = settled({"messages": (message,)}, ("messages",))
    assert found == {"messages": [{"role": "user", "content": ["Hi"]}]}
    assert message["content"] is not found["messages"][0]["content"]


def test_an_iterator_that_breaks_off_does_so_for_the_client() -> None:
    broken = ValueError("no more")

    def said() -> Iterator[str]:
        yield "Hi"
        raise broken

    found = settled({"messages": said()}, ("messages",))["messages"]
    assert next(found) == "Hi"
    with pytest.raises(ValueError, match="no more") as caught:
        next(found)
    assert caught.value is broken


def test_what_is_not_given_is_no_json() -> None:
    class NotGiven:
        pass

    given = {"a": NotGiven(), "b": None, "c": ({"d": 1, "e": NotGiven()},)}
    assert as_json(given) == {"b": None, "c": [{"d": 1}]}
