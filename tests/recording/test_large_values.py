"""Values too large for a record, and odd ones."""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracedance_sdk.journal import read_journal
from tracedance_sdk.otel import assemble
from tracedance_sdk.recording import TraceRecorder, tool
from tracedance_sdk.recording.evidence import BLOB_BYTES
from tracedance_sdk.trace import is_type_stub

MEGABYTE = 1024 * 1024


@tool
def fetch(result: Any) -> Any:
    return result


@pytest.mark.parametrize("in_journal", [False, True], ids=["memory", "journal"])
def test_a_result_of_4_mb_is_kept_whole_and_its_span_stays_small(
    in_journal: bool, tmp_path: Path
) -> None:
    exporter = InMemorySpanExporter()
    large = {"text": "words " * (4 * MEGABYTE // 6), "n": 1}

    @tool
    def load() -> dict[str, Any]:
        return large

    journal: Any = tmp_path if in_journal else False
    with TraceRecorder(journal=journal, exporter=exporter) as recorder:
        assert load() is large

    (call,) = recorder.trace.calls
    assert call.result is not None
    assert call.result.content == large
    for span in exporter.get_finished_spans():
        assert len(span.to_json()) < MEGABYTE
    if in_journal:
        (file,) = tmp_path.glob("*.jsonl")
        for line in file.read_bytes().splitlines():
            assert isinstance(json.loads(line), dict)
            assert len(line) < MEGABYTE
        contents = read_journal(tmp_path)
        assert assemble(contents, blobs=contents.get_blob) == [recorder.trace]


@pytest.mark.parametrize("size", [BLOB_BYTES - 2, BLOB_BYTES - 1], ids=["at", "over"])
def test_the_bound_is_on_the_json_of_a_value(size: int, tmp_path: Path) -> None:
    with TraceRecorder(journal=tmp_path) as recorder:
        fetch("x" * size)

    (call,) = recorder.trace.calls
    assert call.result is not None
    assert call.result.content == "x" * size
    blobs = [path for path in tmp_path.rglob("*.json") if path.parent.parent.name == "blobs"]
    # The result and the arguments, which hold the same text.
    assert len(blobs) == (
        0 if size + 2 <= BLOB_BYTES - len('{"result":}') else 1 + (size + 2 > BLOB_BYTES)
    )


def test_everything_large_is_kept_beside_the_records_and_read_back(tmp_path: Path) -> None:
    text = "long text " * 10_000
    tools = [{"name": f"tool_{n}", "description": text[:5000]} for n in range(20)]
    with TraceRecorder(
        journal=tmp_path,
        system_prompt=text,
        state={"document": text},
        tools=tools,
        metadata={"note": text},
    ) as recorder:
        recorder.record_turn("user", text)
        recorder.record_turn("assistant", text, calls=[{"name": "fetch", "arguments": {"r": text}}])
        recorder.record_turn("user", text)
        recorder.set_outcome(details={"log": text})

    trace = recorder.trace
    assert trace.system_prompt == text
    assert [turn.text for turn in trace.turns] == [text] * 3
    assert trace.initial_state == trace.final_state == {"document": text}
    assert trace.metadata == {"note": text}
    assert trace.outcome is not None
    assert trace.outcome.details == {"log": text}
    assert len(trace.tools) == 20
    assert trace.calls[0].arguments == {"r": text}
    assert (
        max(len(line) for line in next(tmp_path.glob("*.jsonl")).read_bytes().splitlines()) < 5000
    )


def test_a_long_run_with_a_journal_keeps_no_content_in_memory(tmp_path: Path) -> None:
    @tool
    def read(n: int) -> str:
        return f"{n:08d}" * 2500

    with TraceRecorder(journal=tmp_path) as recorder:
        read(0)
        tracemalloc.start()
        for n in range(500):
            read(n)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(recorder.trace.calls) == 501

    assert held < MEGABYTE


class Unspeakable:
    def __repr__(self) -> str:
        raise ValueError("from repr")


def test_odd_values_become_stubs_and_the_call_works() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    odd = [float("nan"), 2**70, "\udc80", b"x", {1, 2}, object(), Unspeakable(), cycle]
    with TraceRecorder() as recorder:
        for value in odd:
            assert fetch(value) is value

    results = [call.result and call.result.content for call in recorder.trace.calls]
    assert results[2] == "\\udc80"
    assert results[4] == [1, 2]
    assert [is_type_stub(found) for found in results] == [
        True, True, False, True, False, True, True, False,
    ]  # fmt: skip
    assert all(call.result and call.result.ok for call in recorder.trace.calls)


def test_secrets_are_masked_before_anything_is_written(tmp_path: Path) -> None:
    secret = "AKIAIOSFODNN7EXAMPLE"
    exporter = InMemorySpanExporter()
    with TraceRecorder(journal=tmp_path, exporter=exporter, state={"key": secret}) as recorder:
        assert fetch({"note": secret, "padding": "x" * 40_000})["note"] == secret
        assert fetch(secret) == secret

    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert secret.encode() not in written
    assert secret not in str([span.to_json() for span in exporter.get_finished_spans()])
    assert secret not in recorder.trace.model_dump_json()
    masks = {call.result and str(call.result.content)[-40:] for call in recorder.trace.calls}
    assert len(masks) == 2


def test_redaction_can_be_off_or_the_programs_own() -> None:
    class Shout:
        def redact(self, data: bytes) -> bytes:
            loud = data.upper()
            for word in (b"null", b"true", b"false"):
                loud = loud.replace(word.upper(), word)
            return loud

    with TraceRecorder(redaction=False) as off:
        fetch("AKIAIOSFODNN7EXAMPLE")
    with TraceRecorder(redaction=Shout()) as own:
        fetch("word")

    assert off.trace.calls[0].arguments == {"result": "AKIAIOSFODNN7EXAMPLE"}
    assert own.trace.calls[0].arguments == {"RESULT": "WORD"}


@pytest.mark.usefixtures("forgiving")
def test_a_redactor_that_fails_lets_nothing_through() -> None:
    class Broken:
        def redact(self, data: bytes) -> bytes:
            raise ValueError("no")

    with TraceRecorder(redaction=Broken(), system_prompt="private") as recorder:
        recorder.record_turn("user", "private")
        assert fetch("private") == "private"

    assert "private" not in recorder.trace.model_dump_json()
    (call,) = recorder.trace.calls
    assert call.arguments == "[MASKED:unchecked:]"
    assert recorder.close().faults["redaction: ValueError"] > 1
