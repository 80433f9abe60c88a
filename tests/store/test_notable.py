"""Which traces an import replaced or left out, and which files it passed over, one by one."""

from __future__ import annotations

import json
from pathlib import Path

from tracedance_sdk.formats import find_sources
from tracedance_sdk.store import ImportReport, TraceStore, import_sources


def chat(*texts: str) -> str:
    messages = [{"role": "user", "content": text} for text in texts]
    return json.dumps({"id": "chat", "messages": messages})


def imported(path: Path, store: TraceStore) -> ImportReport:
    return import_sources(find_sources([path]), store)


def test_what_was_replaced_and_what_was_left_out_is_named_with_its_file(tmp_path: Path) -> None:
    store = TraceStore.create(tmp_path / "kept")
    for name, texts in (("a", "one two"), ("b", "one two three"), ("c", "one two")):
        (tmp_path / f"{name}.json").write_text(chat(*texts.split()))
    assert imported(tmp_path / "a.json", store).notable == []
    (trace,) = store
    grown = imported(tmp_path / "b.json", store)
    assert grown.notable == [("replaced", trace.id, str(tmp_path / "b.json"))]
    older = imported(tmp_path / "c.json", store)
    assert older.notable == [("older", trace.id, str(tmp_path / "c.json"))]
    assert older.to_dict()["notable"] == [
        {"what": "older", "trace_id": trace.id, "path": str(tmp_path / "c.json")}
    ]
    both = ImportReport()
    both.add(grown)
    both.add(older)
    assert [item.what for item in both.notable] == ["replaced", "older"]


def test_files_that_belong_to_runs_are_named(tmp_path: Path) -> None:
    report = ImportReport()
    report.pass_over("/home/ann/policy.md", "tau")
    report.clean(lambda text: text.replace("ann", "user-1"))
    assert report.to_dict()["companion_paths"] == [
        {"path": "/home/user-1/policy.md", "collector": "tau"}
    ]
