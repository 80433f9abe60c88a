"""Which of two copies of a trace counts when one of them is protected."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.stored import human, run
from tracedance_sdk.store import AddSummary, StoredDocument, TraceStore
from tracedance_sdk.trace import Trace, encode_json

LEVELS = {
    "plain": set(),
    "masked": {"secrets"},
    "pseudonymised_only": {"people"},
    "pseudonymised": {"secrets", "people"},
}
SHORT, LONG = run("a", human("hi")), run("a", human("hi"), human("I am Ann Lee"))
ADDED, REPLACED = AddSummary(added=1), AddSummary(replaced=1)
UNCHANGED, OLDER = AddSummary(unchanged=1), AddSummary(older=1)
LESS = AddSummary(less_protected=1)


def document(trace: Trace, protection: str) -> StoredDocument:
    return StoredDocument(trace, encode_json(trace), protection)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param((SHORT, "plain"), (SHORT, "plain"), UNCHANGED, id="the same"),
        pytest.param((SHORT, "masked"), (LONG, "masked"), REPLACED, id="grown"),
        pytest.param((LONG, "masked"), (SHORT, "masked"), OLDER, id="shrunk"),
        pytest.param((LONG, "plain"), (SHORT, "masked"), REPLACED, id="protected, but shorter"),
        pytest.param((SHORT, "masked"), (LONG, "plain"), LESS, id="grown, but plain"),
        pytest.param((LONG, "pseudonymised"), (SHORT, "plain"), LESS, id="shorter and plain"),
        pytest.param((SHORT, "pseudonymised"), (LONG, "masked"), LESS, id="people are back"),
        pytest.param((SHORT, "pseudonymised_only"), (LONG, "masked"), LESS, id="one for another"),
        pytest.param((SHORT, "plain"), (SHORT, "masked"), REPLACED, id="nothing to mask"),
        pytest.param((SHORT, "masked"), (SHORT, "plain"), UNCHANGED, id="nothing was masked"),
    ],
)
def test_the_more_protected_copy_counts(
    tmp_path: Path, first: tuple[Trace, str], second: tuple[Trace, str], expected: AddSummary
) -> None:
    store = TraceStore.create(tmp_path / "store", tools="recorded")
    assert store.add([document(*first)]) == ADDED
    assert store.add([document(*second)]) == expected
    kept = second if expected == REPLACED else first
    assert (store.get("a"), level(store)) == kept
    # The same within one partition that is not written yet.
    other = TraceStore.create(tmp_path / "other", tools="recorded")
    assert other.add([document(*first), document(*second)]) == ADDED.plus(expected)
    assert (other.get("a"), level(other)) == kept


def level(store: TraceStore) -> str:
    ((found,),) = store.select("SELECT protection FROM traces").rows
    return str(found)


def test_what_is_added_by_hand_is_plain(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "store")
    store.add([SHORT])
    assert level(store) == "plain"
    store.add([document(SHORT, "masked")])
    assert store.add([LONG]) == LESS


def test_protection_stays_when_rows_move(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "store")
    store.add([document(run("a", session_id="s"), "masked")])
    store.add([run("b", session_id="s")])
    store.add([run("c")])
    store.compact()
    rows = store.select("SELECT trace_id, protection FROM traces ORDER BY 1").rows
    assert rows == (("a", "masked"), ("b", "plain"), ("c", "plain"))
    assert store.add([run("a", human("hello"), human("more"), session_id="s")]) == LESS


copies = st.tuples(st.integers(1, 4), st.sampled_from(list(LEVELS)))


@settings(max_examples=40, deadline=None)
@given(st.lists(copies, min_size=1, max_size=6), st.booleans())
def test_nothing_that_was_taken_out_of_a_trace_comes_back(
    found: list[tuple[int, str]], at_once: bool
) -> None:
    items = [
        document(run("a", *(human(f"{protection} {n}") for n in range(turns))), protection)
        for turns, protection in found
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = TraceStore.create(Path(folder) / "store")
        levels = []
        for part in [items] if at_once else [[item] for item in items]:
            store.add(part)
            levels.append(LEVELS[level(store)])
        assert all(before <= after for before, after in itertools.pairwise(levels))
