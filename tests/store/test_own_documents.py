"""Documents of ours are kept byte for byte when nothing about them changes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import given, settings

from tests.support.traces import traces
from tracedance_sdk.formats import collect_paths, find_sources, load_trace, tool_table
from tracedance_sdk.recording import SecretRedactor
from tracedance_sdk.store import ImportPlan, TraceStore, import_sources
from tracedance_sdk.trace import Trace, encode_json

CALL = {"index": 0, "id": "c", "name": "Bash", "arguments": {"command": "ls"}}
TURN = {"role": "assistant", "origin": "agent", "index": 0, "calls": [CALL]}
DOCUMENT = {
    "id": "run-1",
    "version": 1,
    "agent": {"name": "claude-code"},
    "format": "tracedance.trace",
    "turns": [TURN],
    "group": None,
}
"""Not in the order in which we write, and with a null that we would leave out."""


def imported(path: Path, **plan: Any) -> tuple[Trace, str]:
    """Return the trace of a file as a new store has it, with the SHA-256 of its document."""
    store = TraceStore.create(path.parent / "store", tools="recorded")
    report = import_sources(find_sources([path]), store, plan=ImportPlan(**plan))
    assert (report.problems, report.stored.added) == ([], 1)
    ((digest,),) = store.select("SELECT document_sha256 FROM traces").rows
    return next(iter(store)), digest


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("name", ["run.json", "runs.jsonl"])
@pytest.mark.parametrize("end", [b"", b"\n", b" \r\n"], ids=["no end", "newline", "white space"])
def test_a_document_is_kept_as_it_is_written(tmp_path: Path, name: str, end: bytes) -> None:
    data = orjson.dumps(DOCUMENT)
    (tmp_path / name).write_bytes(data + end)
    trace, digest = imported(tmp_path / name)
    assert digest == digest_of(data) != digest_of(encode_json(trace))
    assert trace == load_trace(data)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(orjson.dumps(DOCUMENT, option=orjson.OPT_INDENT_2), id="indented"),
        pytest.param(b"\xef\xbb\xbf" + orjson.dumps(DOCUMENT)[:-1] + b" }", id="white space"),
        pytest.param(
            orjson.dumps({**DOCUMENT, "reward": 7}).replace(b"7", b"1" * 30), id="long integer"
        ),
        pytest.param(orjson.dumps({**DOCUMENT, "note": "a/b"}).replace(b"/", b"\\/"), id="escapes"),
    ],
)
def test_what_the_fast_writer_would_write_otherwise_is_written_anew(
    tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "run.json").write_bytes(data)
    trace, digest = imported(tmp_path / "run.json")
    assert digest == digest_of(encode_json(trace))
    assert trace == load_trace(data)


def test_a_trace_with_tools_added_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(orjson.dumps(DOCUMENT))
    trace, digest = imported(tmp_path / "run.json", table=tool_table())
    assert [tool.name for tool in trace.tools] == ["Bash"]
    assert digest == digest_of(encode_json(trace))


def test_a_document_with_a_secret_is_not_kept(tmp_path: Path) -> None:
    secret = {**DOCUMENT, "metadata": {"password": "hunter2-hunter2"}}
    (tmp_path / "run.json").write_bytes(orjson.dumps(secret))
    trace, digest = imported(tmp_path / "run.json", redactor=SecretRedactor(key=b"k" * 32))
    assert "[MASKED:password:" in str(trace.metadata)
    assert digest == digest_of(encode_json(trace))


def test_only_documents_of_ours_come_with_their_bytes(tmp_path: Path) -> None:
    own = orjson.dumps(DOCUMENT)
    (tmp_path / "own.json").write_bytes(own)
    chat = {"messages": [{"role": "user", "content": "Hello"}]}
    (tmp_path / "chat.json").write_bytes(orjson.dumps(chat))
    found = {item.path.name: item.data for item in collect_paths([tmp_path])}
    assert found == {"chat.json": None, "own.json": own}


@given(traces())
@settings(max_examples=25, deadline=None)
def test_a_kept_document_is_read_as_the_trace_that_was_saved(trace: Trace) -> None:
    data = encode_json(trace)
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.json")
        path.write_bytes(data + b"\n")
        assert imported(path) == (trace, digest_of(data))
