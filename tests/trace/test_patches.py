from __future__ import annotations

import copy
import json
import random
import time
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.support.traces import keys, values
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.trace import Json, apply_patch, canonical_json, diff, same_json


def unshared(value: Json) -> Json:
    """A copy in which no part stands twice: jsonpatch edits in place."""
    return json.loads(json.dumps(value))


@given(values, values)
def test_applying_a_diff_gives_the_other_value(before: Json, after: Json) -> None:
    kept = copy.deepcopy((before, after))
    operations = diff(before, after)
    assert same_json(apply_patch(operations, before), after)
    assert canonical_json([before, after]) == canonical_json(list(kept))


@given(values, values)
def test_jsonpatch_applies_our_operations_to_the_same_result(before: Json, after: Json) -> None:
    operations = diff(before, after)
    theirs = jsonpatch.JsonPatch(operations).apply(unshared(before))
    assert same_json(theirs, after)


@given(values, values)
def test_we_apply_the_operations_of_jsonpatch_to_the_same_result(before: Any, after: Any) -> None:
    if isinstance(before, (dict, list)) and isinstance(after, type(before)):
        theirs = jsonpatch.make_patch(before, after).patch
        if all(operation["op"] in ("add", "remove", "replace") for operation in theirs):
            expected = jsonpatch.JsonPatch(theirs).apply(unshared(before))
            assert same_json(apply_patch(theirs, before), expected)


@given(values)
def test_a_value_does_not_differ_from_itself_or_its_copy(value: Json) -> None:
    assert diff(value, value) == []
    assert diff(value, copy.deepcopy(value)) == []


@given(
    st.dictionaries(keys, st.lists(st.integers(0, 3), max_size=5), max_size=4),
    st.dictionaries(keys, st.lists(st.integers(0, 3), max_size=5), max_size=4),
)
def test_a_diff_names_only_places_that_differ(before: Json, after: Json) -> None:
    for operation in diff(before, after):
        if operation["op"] == "replace":
            undone = apply_patch([operation], before)
            assert not same_json(undone, before)


@pytest.mark.parametrize(
    ("before", "after", "operations"),
    [
        pytest.param(1, 1.0, [], id="one number"),
        pytest.param(
            True, 1, [{"op": "replace", "path": "", "value": 1}], id="true and one differ"
        ),
        pytest.param(
            {"z": 0.0}, {"z": -0.0}, [{"op": "replace", "path": "/z", "value": -0.0}], id="zeros"
        ),
        pytest.param(
            {"a/b": {"~": 1}},
            {"a/b": {"~": 2}},
            [{"op": "replace", "path": "/a~1b/~0", "value": 2}],
            id="escapes",
        ),
        pytest.param(
            [1, 2, 3, 4], [1, 3, 4], [{"op": "remove", "path": "/1"}], id="removed inside a list"
        ),
        pytest.param(
            [1, 4], [1, 2, 4], [{"op": "add", "path": "/1", "value": 2}], id="added inside a list"
        ),
        pytest.param(
            {"a": None}, {}, [{"op": "remove", "path": "/a"}], id="null and absent differ"
        ),
        pytest.param([], {}, [{"op": "replace", "path": "", "value": {}}], id="kinds"),
    ],
)
def test_the_diff_is_the_short_one(
    before: Json, after: Json, operations: list[dict[str, Any]]
) -> None:
    assert diff(before, after) == operations
    assert same_json(apply_patch(operations, before), after)


def test_a_patch_that_does_not_fit_is_refused_with_its_operation() -> None:
    def refusal(operation: Any, document: Json) -> str:
        with pytest.raises(InvalidOption) as caught:
            apply_patch([operation], document)
        start = f"cannot apply the patch {operation!r}: "
        assert str(caught.value).startswith(start)
        return str(caught.value).removeprefix(start)

    assert refusal({"op": "remove", "path": "/b"}, {"a": 1}) == snapshot("no 'b'")
    assert refusal({"op": "replace", "path": "/b", "value": 1}, {"a": 1}) == snapshot("no 'b'")
    assert refusal({"op": "replace", "path": "/1", "value": 1}, [0]) == snapshot(
        "index 1 of a list of 1"
    )
    assert refusal({"op": "add", "path": "/-1", "value": 1}, [0]) == snapshot(
        "'-1' is no index of a list"
    )
    assert refusal({"op": "add", "path": "/01", "value": 1}, [0, 1]) == snapshot(
        "'01' is no index of a list"
    )
    assert refusal({"op": "add", "path": "/a/b", "value": 1}, {"a": 1}) == snapshot(
        "nothing lies below 1, where 'b' is asked for"
    )
    assert refusal({"op": "add", "path": "a", "value": 1}, {}) == snapshot(
        "'a' is not a JSON Pointer; write it as '/name/name'"
    )
    assert refusal({"op": "add", "path": "/a"}, {}) == snapshot("no 'value'")
    assert refusal({"op": "move", "path": "/a", "from": "/b"}, {"b": 1}) == snapshot(
        "'move' is not one of add, remove, replace"
    )
    assert refusal({"path": "/a"}, {}) == snapshot("no 'op'")
    assert refusal("remove /a", {}) == snapshot("string indices must be integers, not 'str'")


def store(seed: int, records: int) -> dict[str, Any]:
    rng = random.Random(seed)
    return {
        "orders": {
            f"#W{number}": {
                "items": [
                    {"id": rng.randrange(10**9), "price": rng.randrange(10**4) / 100}
                    for _ in range(6)
                ],
                "address": {"city": "Denver", "zip": str(rng.randrange(10**5))},
                "status": rng.choice(["pending", "delivered"]),
            }
            for number in range(records)
        },
        "log": [{"at": number, "text": f"entry {number}"} for number in range(records)],
    }


def test_a_large_state_is_compared_much_faster_than_by_jsonpatch() -> None:
    before, after = store(7, 3000), store(7, 3000)
    size = len(canonical_json(before))
    after["orders"]["#W1200"]["status"] = "cancelled"
    after["log"].insert(1, {"at": -1, "text": "new"})
    assert 800_000 < size < 1_200_000

    def seconds(action: Any) -> float:
        started = time.process_time()
        action()
        return time.process_time() - started

    ours = min(seconds(lambda: diff(before, after)) for _ in range(3))
    theirs = seconds(lambda: jsonpatch.make_patch(before, after))
    assert len(diff(before, after)) == 2
    assert ours * 3 < theirs


def test_an_edit_leaves_the_rest_of_the_document_shared() -> None:
    before = {"a": {"b": [1, 2]}, "c": {"d": 1}}
    after = apply_patch([{"op": "replace", "path": "/a/b/0", "value": 9}], before)
    assert before == {"a": {"b": [1, 2]}, "c": {"d": 1}}
    assert after["c"] is before["c"]
