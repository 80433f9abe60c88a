from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.trace import Request, bind, call_key

REQUESTS = (
    Request("a", "pay", call_key("pay", {"n": 1})),
    Request("b", "pay", call_key("pay", {"n": 2})),
    Request(None, "look", call_key("look", {})),
    Request("a", "pay", call_key("pay", {"n": 1})),
)


@pytest.mark.parametrize(
    ("call_id", "name", "arguments", "taken", "found"),
    [
        pytest.param("b", "pay", {"n": 1}, (), (1, "id"), id="the id wins over the key"),
        pytest.param("a", "pay", {"n": 1}, (0,), (3, "id"), id="a repeated id: the next in order"),
        pytest.param(None, "pay", {"n": 2}, (), (1, "key"), id="no id: the key"),
        pytest.param("z", "pay", {"n": 2.0}, (), (1, "key"), id="a foreign id: the key"),
        pytest.param(None, "pay", {"n": 1}, (0,), (3, "key"), id="an equal key: the next in order"),
        pytest.param(None, "pay", {"n": 9}, (), (0, "order"), id="other arguments: by name"),
        pytest.param(None, "pay", {"n": 9}, (0, 1), (3, "order"), id="by name, the next free one"),
        pytest.param(None, "pay", {"n": 9}, (0, 1, 3), None, id="all taken"),
        pytest.param("a", "pay", {"n": 9}, (0, 3), (1, "order"), id="id taken: by name"),
        pytest.param(None, "send", {}, (), None, id="nobody asked"),
        pytest.param("b", "send", {}, (), (1, "id"), id="the id alone suffices"),
    ],
)
def test_a_call_answers_the_first_request_that_fits(
    call_id: str | None,
    name: str,
    arguments: dict[str, object],
    taken: tuple[int, ...],
    found: tuple[int, str] | None,
) -> None:
    key = call_key(name, arguments)
    assert bind(REQUESTS, taken, call_id=call_id, name=name, key=key) == found


@given(st.permutations(range(6)), st.lists(st.sampled_from("ab"), min_size=6, max_size=6))
def test_every_request_is_answered_once_when_every_call_was_asked_for(
    order: list[int], names: list[str]
) -> None:
    requests = [Request(None, name, call_key(name, {"n": i})) for i, name in enumerate(names)]
    taken: set[int] = set()
    for place in order:
        key = requests[place].key
        found = bind(requests, taken, call_id=None, name=names[place], key=key)
        assert found == (place, "key")
        taken.add(found[0])
    assert taken == set(range(6))
