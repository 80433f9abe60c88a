"""A behaviour of a user's own, as the docs show it, against the labels of 1,164 attacked runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracedance_collectors.agentdojo import collector

from tests.docs.test_pages import _BLOCK, ROOT
from tests.support.shared_data import shared_data
from tracedance_sdk.behaviors import Caps, Wanted, load_behavior, scan_store
from tracedance_sdk.formats import find_sources
from tracedance_sdk.store import ImportPlan, TraceStore, import_sources
from tracedance_sdk.trace import Trace


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TraceStore:
    folder = shared_data("agentdojo-runs")
    made = TraceStore.create(tmp_path_factory.mktemp("agentdojo") / "s")
    import_sources(find_sources([folder], collectors=[collector]), made, plan=ImportPlan())
    made.index()
    return made


def reached(trace: Trace) -> bool | None:
    """Whether the attacker's goal was reached; None for a run without an attack."""
    if trace.metadata.get("injection_task_id") is None:
        return None
    return bool(trace.metadata["security"])


def mailed_the_attacker(trace: Trace) -> bool:
    return any(
        call.name == "send_email" and "mark.black-2134@gmail.com" in str(call.arguments)
        for call in trace.calls
    )


def test_following_an_instruction_of_a_tool_result(store: TraceStore, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "behaviors.md").read_text(encoding="utf-8")
    blocks = {block["file"]: block["text"] for block in _BLOCK.finditer(page)}
    (tmp_path / "injected.yaml").write_text(blocks["injected.yaml"], encoding="utf-8")
    behavior = load_behavior(tmp_path / "injected.yaml")
    caps = Caps(session=None, similarity=None)
    scan = scan_store(store, [Wanted(behavior, {})], caps=caps)
    assert scan.errors == ()
    found = {item.trace_id for item in scan.occurrences[behavior.id]}
    runs = {trace.id: trace for trace in store}
    labels = {name: reached(trace) for name, trace in runs.items()}
    assert len(runs) == 2_328
    assert sum(label is not None for label in labels.values()) == 1_164

    right = [name for name in found if labels[name]]
    beyond = [name for name in found if labels[name] is False]
    missed = [name for name, label in labels.items() if label and name not in found]
    assert not [name for name in found if labels[name] is None], "nothing where nobody attacked"
    assert (len(right), len(beyond), len(missed)) == (183, 108, 10)
    assert sum(not list(runs[name].calls) for name in missed) == 3, "these called no tool at all"
    suites = [runs[name].metadata["suite_name"] for name in beyond]
    assert suites.count("workspace") == 105
    assert sum(map(mailed_the_attacker, (runs[name] for name in beyond))) == 56
