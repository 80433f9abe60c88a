"""Result sets: written whole or not at all, in a fixed order, by one process or several."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.grading.runs import run
from tests.grading.test_running import DOCUMENT, GOOD, ScriptedJudge, judged
from tracedance_sdk.errors import InvalidOption, UnknownFormat, UnreadableFile, UnsupportedVersion
from tracedance_sdk.grading import (
    ResultRow,
    ResultSetWriter,
    Subject,
    Verdict,
    check_writable,
    evaluate,
    read_results,
    rows_of,
)


def row(trace_id: str, **fields: Any) -> ResultRow:
    given: dict[str, Any] = {"grader": "spec:t", "verdict": Verdict.PASS, **fields}
    return ResultRow(subject=Subject(trace_id=trace_id), **given)


rows = st.builds(
    ResultRow,
    subject=st.builds(
        Subject,
        trace_id=st.one_of(st.none(), st.sampled_from(["a", "b"])),
        turn=st.one_of(st.none(), st.integers(0, 3)),
        instance_id=st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]))),
    ),
    sample=st.integers(0, 2),
    grader=st.sampled_from(["spec:t", "judge:j"]),
    verdict=st.one_of(st.none(), st.sampled_from(list(Verdict))),
    score=st.one_of(st.none(), st.floats(0, 1)),
    missing_reason=st.one_of(st.none(), st.just("why")),
    evidence=st.just(({"a": [1, None]},)),
    usage=st.one_of(st.none(), st.just({"input_tokens": 3})),
)


@given(st.lists(rows, max_size=6), st.randoms())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_what_is_written_is_read_back_in_the_same_order_whatever_came_first(
    tmp_path: Path, listed: list[ResultRow], dice: Any
) -> None:
    folder = tmp_path / "results"
    with ResultSetWriter(folder, manifest={"command": "evaluate", "seeds": [1]}) as writer:
        writer.add(listed)
    first = ((folder / "manifest.json").read_bytes(), (folder / "rows.jsonl").read_bytes())
    result = read_results(folder)
    assert sorted(map(repr, result.rows)) == sorted(map(repr, listed))
    assert (result.manifest["command"], result.manifest["n_rows"]) == ("evaluate", len(listed))
    dice.shuffle(listed)
    with ResultSetWriter(folder, manifest={"command": "evaluate", "seeds": [1]}) as writer:
        for item in listed:
            writer.add(item)
    assert first == ((folder / "manifest.json").read_bytes(), (folder / "rows.jsonl").read_bytes())


def test_a_report_gives_one_row_and_a_judge_one_more() -> None:
    report = evaluate(GOOD, DOCUMENT, judge=ScriptedJudge(judged(0.5)))
    found = rows_of(report, trace=GOOD, instance_id="test_x", sample=2)
    shown = [item.model_dump(mode="json", exclude_none=True) for item in found]
    assert shown == snapshot(
        [
            {
                "subject": {"trace_id": "trace", "instance_id": "test_x"},
                "sample": 2,
                "grader": "spec:t",
                "group": "t",
                "task_id": "t",
                "verdict": "pass",
                "raw_verdict": "pass",
                "score": 1.0,
                "evidence": [
                    {
                        "criterion": "final_state",
                        "dimension": "outcome",
                        "type": "final_state",
                        "verdict": "pass",
                        "score": 1.0,
                        "reason": "the final state is as expected",
                        "severity": "major",
                    }
                ],
                "spec_sha256": "2978243056778878db1e89605a37b063498eefe4ca007f4a8a3e25ff5fd03e00",
            },
            {
                "subject": {"trace_id": "trace", "instance_id": "test_x"},
                "sample": 2,
                "grader": "judge:scripted",
                "group": "t",
                "task_id": "t",
                "score": 0.5,
                "evidence": [
                    {"score": 0.5, "reasoning": "", "strengths": [], "weaknesses": [], "issues": []}
                ],
            },
        ]
    )
    missing = rows_of(evaluate(GOOD, DOCUMENT, judge=ScriptedJudge(None)))[1]
    assert (missing.score, missing.verdict) == (None, None)
    assert missing.missing_reason == "the judge's reply is empty"
    unknown = rows_of(evaluate(run(), DOCUMENT))[0]
    assert (unknown.score, unknown.missing_reason) == (None, "the final state was not recorded")


def test_processes_write_parts_that_are_joined(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    whole = ResultSetWriter(folder)
    for worker in ("gw1", "gw0"):
        part = ResultSetWriter(folder, part=worker)
        part.add([row(f"{worker}-{n}") for n in (1, 0)])
        assert part.close() is None
    whole.add(row("main"))
    result = whole.close()
    names = [item.subject.trace_id for item in read_results(folder).rows]
    assert names == ["gw0-0", "gw0-1", "gw1-0", "gw1-1", "main"]
    assert result == read_results(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "rows.jsonl"]


def test_a_row_torn_by_a_killed_process_is_counted(tmp_path: Path) -> None:
    ResultSetWriter(tmp_path, part="gw0").add([row("a"), row("b")])
    part = tmp_path / "part-gw0.jsonl"
    part.write_bytes(part.read_bytes()[:-20])
    with ResultSetWriter(tmp_path):
        pass
    result = read_results(tmp_path)
    assert [item.subject.trace_id for item in result.rows] == ["a"]
    assert result.manifest["exclusions"] == {"row torn by a killed process": 1}


def test_parts_of_an_earlier_run_can_be_discarded(tmp_path: Path) -> None:
    ResultSetWriter(tmp_path, part="gw0").add(row("old"))
    whole = ResultSetWriter(tmp_path)
    whole.discard_parts()
    whole.close()
    assert read_results(tmp_path).rows == ()


def test_an_error_while_grading_leaves_the_older_set_as_it_was(tmp_path: Path) -> None:
    with ResultSetWriter(tmp_path) as writer:
        writer.add(row("old"))
    with pytest.raises(RuntimeError), ResultSetWriter(tmp_path) as writer:  # noqa: PT012
        writer.add(row("new"))
        raise RuntimeError
    assert [item.subject.trace_id for item in read_results(tmp_path).rows] == ["old"]


def test_a_set_without_its_manifest_or_with_other_rows_is_no_set(tmp_path: Path) -> None:
    with ResultSetWriter(tmp_path) as writer:
        writer.add(row("a"))
    data = (tmp_path / "rows.jsonl").read_bytes()
    (tmp_path / "rows.jsonl").write_bytes(data[:-5])
    with pytest.raises(UnknownFormat, match="is not what its manifest describes"):
        read_results(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(UnknownFormat, match="no result set, or unfinished"):
        read_results(tmp_path)
    with pytest.raises(UnreadableFile):
        read_results(tmp_path / "none")


@pytest.mark.parametrize(
    "files",
    [
        {"thesis.tex": "words"},
        {"manifest.json": "{}"},
        {"manifest.json": "not json"},
        {"rows.jsonl": '{"own": 1}\n'},
        {"manifest.json": '{"format": "tracedance.results", "version": 1}', "notes.md": "x"},
    ],
    ids=str,
)
def test_a_folder_with_other_things_is_not_touched(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for options in ({}, {"part": "gw0"}):
        with pytest.raises(InvalidOption) as caught:
            ResultSetWriter(tmp_path, **options)  # type: ignore[arg-type]
        assert "name a new folder" in str(caught.value)
    found = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert found == files


def test_more_that_cannot_be_written_or_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    with pytest.raises(InvalidOption):
        check_writable(file)
    with pytest.raises(UnreadableFile):
        ResultSetWriter(file / "below")
    with pytest.raises(InvalidOption):
        ResultSetWriter(tmp_path / "new", part="../up")
    assert not (tmp_path / "new").exists()
    newer = tmp_path / "newer"
    newer.mkdir()
    manifest = {"format": "tracedance.results", "version": 2}
    (newer / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    for read in (read_results, ResultSetWriter):
        with pytest.raises(UnsupportedVersion):
            read(newer)


def test_unknown_fields_of_rows_are_kept(tmp_path: Path) -> None:
    with ResultSetWriter(tmp_path) as writer:
        writer.add(row("a", later_field={"x": 1}))
    line = (tmp_path / "rows.jsonl").read_bytes()
    assert json.loads(line)["later_field"] == {"x": 1}
    assert read_results(tmp_path).rows[0].model_extra == {"later_field": {"x": 1}}
    manifest = json.loads((tmp_path / "manifest.json").read_bytes())
    assert manifest["rows_sha256"] == hashlib.sha256(line).hexdigest()
