"""A body with anything in any place of it ends as a reply, never as an exception."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.scripted_models import APIS, saying
from tracedance_sdk.llm import ProviderModel, Reply, chat_model

ODD: tuple[Any, ...] = (None, -5, "3", True, 1e308, 10**30, 2**70, -(2**70), "", [], {}, [1])
USAGE = ("cost_usd", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cost")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


def changed(body: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    whole = copy.deepcopy(body)
    holder = whole
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = odd
    return whole


@pytest.mark.parametrize("api", APIS)
def test_anything_in_any_place_of_a_body_is_read(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, "a-key-for-nobody")
    model = chat_model(f"{api}:m@http://127.0.0.1:9/v1")
    assert isinstance(model, ProviderModel)
    body = saying(api, "hi", ("f", '{"a": 1}'))
    body["usage"] |= dict.fromkeys(USAGE, 1)
    read = [model.read(changed(body, path, odd)) for path in places(body) for odd in ODD]
    assert len(read) > 200
    for reply in read:
        assert isinstance(reply, Reply)
        assert reply.turn is not None or reply.missing is not None
