from __future__ import annotations

import gzip
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from inline_snapshot import snapshot

from tests.support.traces import traces
from tracedance_sdk.errors import (
    InvalidJSON,
    InvalidOption,
    InvalidTrace,
    TraceDanceError,
    UnreadableFile,
    UnsupportedVersion,
)
from tracedance_sdk.formats import load_trace, save_trace
from tracedance_sdk.recording import TraceRecorder
from tracedance_sdk.trace import Call, Result, Text, Trace, Turn, encode_json


@given(traces())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_saved_trace_is_loaded_equal(tmp_path: Path, trace: Trace) -> None:
    for name in ("run.json", "run.json.gz"):
        save_trace(trace, tmp_path / name)
        assert load_trace(tmp_path / name) == trace
    assert load_trace(encode_json(trace)) == trace


def test_a_saved_trace_is_one_line_that_says_what_it_is(tmp_path: Path) -> None:
    save_trace(Trace(id="t"), tmp_path / "run.json")
    assert (tmp_path / "run.json").read_text() == snapshot(
        '{"format":"tracedance.trace","version":1,"id":"t"}\n'
    )


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    save_trace(Trace(id="old"), target)
    (tmp_path / "link.json").symlink_to(target)
    save_trace(Trace(id="new"), tmp_path / "link.json")
    assert load_trace(target).id == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "run.json"]
    assert (tmp_path / "link.json").is_symlink()


def test_a_trace_that_is_no_json_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    save_trace(Trace(id="old"), target)
    with pytest.raises(InvalidTrace, match="nan of type float"):
        save_trace(Trace(id="new", final_state=float("nan")), target)
    assert load_trace(target).id == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    save_trace(Trace(id="t"), tmp_path / "run.json")
    (tmp_path / "other").touch()
    mode = stat.S_IMODE((tmp_path / "run.json").stat().st_mode)
    assert mode == stat.S_IMODE((tmp_path / "other").stat().st_mode)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for target in ("folder", "a\0b", "x" * 300):
        with pytest.raises(UnreadableFile, match="cannot be written"):
            save_trace(Trace(id="t"), tmp_path / target)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def refused(tmp_path: Path, data: bytes, name: str = "run.json") -> str:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(TraceDanceError) as caught:
        load_trace(path)
    assert "\n" not in str(caught.value)
    ending = "Compressed file ended before the end-of-stream marker was reached"
    return str(caught.value).replace(str(tmp_path), "DIR").replace(ending, "ENDED")


def test_a_bad_file_is_refused_in_one_line_that_names_file_and_place(tmp_path: Path) -> None:
    head = b'{"format": "tracedance.trace", "version": 1, '
    assert refused(tmp_path, b"") == snapshot(
        "DIR/run.json: not JSON: Expecting value (line 1, column 1)"
    )
    wanted = "; expected an object with 'format': 'tracedance.trace', or TraceEval's fields"
    assert refused(tmp_path, b"[]") == f"DIR/run.json: not a trace: a list{wanted}"
    assert refused(tmp_path, b"{}") == f"DIR/run.json: not a trace: no 'format'{wanted}"
    assert refused(tmp_path, b"hello") == snapshot(
        "DIR/run.json: not JSON: Expecting value (line 1, column 1)"
    )
    assert refused(tmp_path, head + b'"id": "t", "id": "u"}') == snapshot(
        "DIR/run.json: the key 'id' stands twice in one object"
    )
    assert refused(tmp_path, head + b'"id": "t", "turns": [{}]}') == snapshot(
        "DIR/run.json: Field required @ $.turns[0].index (and 2 more)"
    )
    assert refused(tmp_path, head + b'"id": "t"') == snapshot(
        "DIR/run.json: not JSON: Expecting ',' delimiter (line 1, column 55)"
    )
    assert refused(tmp_path, b'{"format": "tracedance.trace", "version": 7}') == snapshot(
        "DIR/run.json: format version 7; this release reads version 1"
    )
    assert refused(tmp_path, b'{"taskId": "t", "actions": 5, "id": "x"}') == snapshot(
        "DIR/run.json: expected a list, got 5 @ $.actions"
    )
    assert refused(tmp_path, '{"id": "t"}'.encode("utf-16")) == snapshot(
        "DIR/run.json: not UTF-8 text (UTF-16 or binary); save it as UTF-8"
    )
    assert refused(tmp_path, b"\x1f\x8b\x08", "run.json.gz") == snapshot(
        "'DIR/run.json.gz' is a damaged gzip file: ENDED"
    )
    assert refused(tmp_path, gzip.compress(b"{}" * 99)[:-9], "run.json.gz") == snapshot(
        "'DIR/run.json.gz' is a damaged gzip file: ENDED"
    )
    deep = b'"id": "t", "final_state": ' + b"[" * 300 + b"]" * 300 + b"}"
    assert refused(tmp_path, head + deep) == snapshot("DIR/run.json: nested deeper than 250 levels")
    with pytest.raises(UnreadableFile, match="is a folder"):
        load_trace(tmp_path)
    with pytest.raises(UnreadableFile, match="does not exist"):
        load_trace(tmp_path / "none.json")
    with pytest.raises(UnsupportedVersion, match=r"^trace: format version 9"):
        load_trace(b'{"format": "tracedance.trace", "version": 9}')


def test_a_path_may_be_text_or_pathlike_and_is_never_taken_for_content(tmp_path: Path) -> None:
    save_trace(Trace(id="t"), os.fspath(tmp_path / "run.json"))
    assert load_trace(os.fspath(tmp_path / "run.json")).id == "t"
    with pytest.raises(UnreadableFile):
        load_trace('{"format": "tracedance.trace", "version": 1, "id": "t"}')


@pytest.mark.parametrize("depth", [200, 240])
def test_what_other_files_may_hold_can_be_saved_and_loaded(tmp_path: Path, depth: int) -> None:
    deep: Any = "x"
    for _ in range(depth):
        deep = [deep]
    call = Call(index=0, id="1", name="x", result=Result(content=deep))
    turn = Turn(index=0, role="assistant", origin="agent", content=(Text(text="a"),), calls=(call,))
    trace = Trace(id="t", turns=(turn,))
    save_trace(trace, tmp_path / "run.json")
    assert load_trace(tmp_path / "run.json") == trace


def test_missing_folders_are_made_and_other_failures_are_one_clean_error(tmp_path: Path) -> None:
    save_trace(Trace(id="t"), tmp_path / "a" / "b" / "run.json")
    assert load_trace(tmp_path / "a" / "b" / "run.json").id == "t"
    target = tmp_path / "a" / "b" / "run.json" / "under-a-file.json"
    with pytest.raises(UnreadableFile) as raised:
        save_trace(Trace(id="t"), target)
    assert str(raised.value) == f"{str(target)!r} cannot be written: Not a directory"
    assert raised.value.__suppress_context__
    assert raised.value.__cause__ is None


def test_something_else_than_a_trace_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidOption, match=r"is a TraceRecorder, not a trace; pass recorder.trace"
    ):
        save_trace(TraceRecorder(), tmp_path / "run.json")  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match=r"not a trace; read the file first: td.load_trace\('x"):
        save_trace("x.json", tmp_path / "run.json")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        '[{"role": "user", "content": "hi"}]',
        '{"messages": [{"role": "user", "content": "hi"}]}',
        '[{"traj": [{"role": "user", "content": "hi"}]}]',
    ],
)
def test_a_conversation_is_named_with_who_reads_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "chat.json"
    path.write_text(text)
    with pytest.raises(InvalidTrace) as raised:
        load_trace(path)
    assert str(raised.value) == (
        f"{path}: a conversation, not a trace file; 'tracedance evaluate' and 'tracedance show' "
        "read it, and in Python tracedance_sdk.formats.collect_paths([path])"
    )


def test_a_file_with_a_document_a_line_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(encode_json(Trace(id="a")) + b"\n" + encode_json(Trace(id="b")) + b"\n")
    with pytest.raises(InvalidJSON, match="holds one document a line, and load_trace reads one"):
        load_trace(path)
    path.write_bytes(encode_json(Trace(id="a")) + b"\n")
    assert load_trace(path).id == "a"
    path.write_bytes(b'{"a": \n{"b": 1}')
    with pytest.raises(InvalidJSON) as raised:
        load_trace(path)
    assert "a line" not in str(raised.value)
