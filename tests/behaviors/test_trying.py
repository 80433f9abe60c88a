"""A behaviour is tried: planted bad anchors are told apart from good ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.behaviors.test_foreign_anchors import behavior
from tests.store.stored import agent, call, human, run
from tracedance_sdk.behaviors import StoreScan, packaged_behaviors, scan_store, trying
from tracedance_sdk.behaviors.trying import try_behavior
from tracedance_sdk.store import TraceStore


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TraceStore:
    made = TraceStore.create(tmp_path_factory.mktemp("tried") / "s")
    failing = call("Bash", {"command": "make"}, "error: no rule", ok=False)
    made.add(
        [
            run("bad", human("Build."), agent("", failing), agent("", failing), agent("Done.")),
            *(
                run(f"good{number}", human("Build."), agent("", failing), agent("It fails."))
                for number in range(5)
            ),
        ]
    )
    made.index()
    return made


def test_a_good_anchor_has_no_problems(store: TraceStore) -> None:
    trial = try_behavior(store, packaged_behaviors()["F01"])
    assert trial == (6, 1, 1, (), 1, 1, {})


@pytest.mark.parametrize(
    ("sql", "code", "problem"),
    [
        ("SELECT trace_id, turn FROM turns WHERE text = 'never'", None, "it finds nothing"),
        (
            "SELECT trace_id, turn FROM turns WHERE role = 'assistant'",
            None,
            "it finds something in 6 of 6 sessions, more than 30%",
        ),
        (
            "SELECT trace_id, turn FROM turns WHERE role = 'assistant' AND trace_id = 'bad'",
            None,
            "not found in the trace under another name",
        ),
        (
            """SELECT a.trace_id, a.turn FROM turns a JOIN turns b USING (trace_id)
            WHERE a.turn = 2 AND b.turn = 3 AND b.role = 'assistant'""",
            None,
            "not found in the trace that ends with its source turn",
        ),
        (
            "SELECT trace_id, turn FROM turns WHERE trace_id = 'bad' AND turn = 2",
            "def anchor(run, place, parameters):\n    return {'turn': 0}",
            "the source turn 0 is no turn of the agent's",
        ),
    ],
    ids=["nothing", "everything", "by name", "by what comes later", "no agent"],
)
def test_bad_anchors_are_told(store: TraceStore, sql: str, code: str | None, problem: str) -> None:
    problems = try_behavior(store, behavior(sql, code)).problems
    assert any(problem in told for told in problems), problems


AGENT_ENDS = "SELECT trace_id, turn FROM turns WHERE role = 'assistant' AND text = 'Done.'"


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        ("failure", "the failing result is not in turn 2"),
        ("action", "the call that shows the behaviour is not in the withheld turn"),
        ("claim", "the words that claim are not in the withheld turn"),
    ],
)
def test_evidence_that_the_frame_does_not_want_is_told(
    store: TraceStore, frame: str, why: str
) -> None:
    source = (
        "def anchor(run, place, parameters):\n"
        "    return {'turn': place['turn'], 'evidence': [{'turn': 0}], 'note': 'n'}"
    )
    trial = try_behavior(store, behavior(AGENT_ENDS, source, frame=frame))
    assert (trial.hits, trial.cut, trial.cut_tried) == (1, 0, 1)
    assert why in trial.refusals["frame"]
    assert any(told.startswith("none of its hits can be cut: ") for told in trial.problems)


def test_trying_leaves_the_store_as_it_was(store: TraceStore, tmp_path: Path) -> None:
    assert store.path is not None
    before = sorted(path.name for path in store.path.rglob("*"))
    try_behavior(store, packaged_behaviors()["F01"])
    assert sorted(path.name for path in store.path.rglob("*")) == before


def test_an_anchor_that_finds_other_places_the_second_time_is_told(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No anchor can ask for chance; whatever makes it differ all the same is told."""
    looks: list[str | None] = []

    def looking_elsewhere(*args: Any, **options: Any) -> StoreScan:
        looks.append(None if not looks else "trace_id <> 'bad'")
        return scan_store(*args, where=looks[-1], **options)

    monkeypatch.setattr(trying, "scan_store", looking_elsewhere)
    sql = "SELECT trace_id, turn FROM turns WHERE trace_id = 'bad' AND role = 'assistant'"
    assert "it does not find the same twice" in try_behavior(store, behavior(sql)).problems
    assert looks[:2] == [None, "trace_id <> 'bad'"]
