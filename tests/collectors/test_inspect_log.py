"""Inspect's logs: every sample of the real ones, and archives made to do harm."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard
from inline_snapshot import snapshot
from tracedance_collectors.inspect_log import collector

from tests.counters.counts import Counts
from tests.counters.inspect_log import count
from tests.support.shared_data import SHARED_DATA, shared_data
from tracedance_sdk.formats import ImportProblem, open_inspect_log
from tracedance_sdk.trace import Media, Trace

LOGS = SHARED_DATA / "inspect-logs"
FILES = sorted(
    path
    for path in (*LOGS.rglob("*.eval"), *LOGS.rglob("*.json"))
    if path.name != "tb_airline.json"  # a run of tau-bench
)
WITHOUT_REQUESTS = "log_tool_call_error.json"
"""Its sample holds results only; their calls are in no message, and counted as synthetic."""

HEADER: dict[str, Any] = {
    "version": 2,
    "status": "success",
    "eval": {"run_id": "r", "task": "t", "task_id": "k", "model": "m", "dataset": {}},
}
SAMPLE: dict[str, Any] = {
    "id": "a",
    "epoch": 1,
    "input": "Add 2 and 2.",
    "target": "4",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "attachment://q", "source": "input"},
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "ok"}],
            "tool_calls": [{"id": "c", "function": "add", "arguments": {"a": 2, "b": 2}}],
        },
        {
            "role": "tool", "tool_call_id": "c", "function": "add", "content": "",
            "error": {"type": "timeout", "message": "too slow"},
        },
        {"role": "user", "content": "Please go on."},
        {"role": "assistant", "content": "4"},
    ],
    "scores": {"exact": {"value": "C"}, "speed": {"value": 0.5}},
    "attachments": {"q": "Add 2 and 2."},
    "events": [
        {"event": "tool", "id": "c", "timestamp": "2026-01-01T00:00:01Z", "working_time": 1.5},
        {
            "event": "model", "timestamp": "2026-01-01T00:00:02Z", "model": "vendor/m",
            "tools": [{"name": "add", "description": "Add.", "parameters": {"type": "object"}}],
            "config": {"temperature": 0},
            "output": {
                "model": "m-1",
                "choices": [
                    {"message": {"role": "assistant", "content": "4"}, "stop_reason": "stop"}
                ],
                "usage": {
                    "input_tokens": 3, "output_tokens": 1, "total_tokens": 9,
                    "input_tokens_cache_read": 5,
                },
            },
        },
        {"event": "model", "model": "grader", "output": {"choices": []}, "input": [{}, {}]},
    ],
}  # fmt: skip


def _counted(trace: Trace) -> Counts:
    calls = [call for call in trace.calls if call.bound_by != "synthetic"]
    return Counts(
        session=f"{trace.metadata['sample_id']}/{trace.metadata['epoch']}",
        user_turns=sum(turn.role == "user" for turn in trace.turns),
        assistant_turns=sum(t.role == "assistant" and not t.synthetic for t in trace.turns),
        calls=len(calls),
        results=sum(call.result is not None for call in trace.calls),
        errors=sum(call.failed for call in trace.calls),
    )


def _traces(path: Path) -> list[Trace]:
    return [found for found in collector.collect(path) if isinstance(found, Trace)]


def _archive(path: Path, samples: dict[str, Any], header: dict[str, Any] = HEADER) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        for name, sample in samples.items():
            archive.writestr(name, json.dumps(sample))
    return path


def _zstd_archive(path: Path, members: dict[str, bytes]) -> Path:
    """Write an archive whose members are packed by zstd, which Python's module cannot."""
    body, directory = b"", b""
    for name, data in members.items():
        packed = zstandard.ZstdCompressor().compress(data)
        sizes = (93, 0, 0, zlib.crc32(data), len(packed), len(data), len(name), 0)
        offset = len(body)
        body += struct.pack("<4s2H4H2L", b"PK\x03\x04", 63, 0, *sizes[:3], 0, 0, 0)[:10]
        body += struct.pack("<2H3L2H", 0, 0, *sizes[3:]) + name.encode() + packed
        directory += struct.pack("<4s4H", b"PK\x01\x02", 63, 63, 0, 93)
        directory += struct.pack("<2H3L5H2L", 0, 0, *sizes[3:], 0, 0, 0, 0, offset)
        directory += name.encode()
    count_of = len(members)
    end = struct.pack(
        "<4s4H2LH", b"PK\x05\x06", 0, 0, count_of, count_of, len(directory), len(body), 0
    )
    path.write_bytes(body + directory + end)
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_sample_of_a_real_log_has_the_turns_and_calls_that_an_independent_counter_finds(
    path: Path,
) -> None:
    shared_data("inspect-logs")
    assert collector.sniff(path, path.read_bytes()[:65536])
    assert [_counted(trace) for trace in _traces(path)] == count(path)


def test_a_benchmark_run_with_tools_keeps_verdict_models_tokens_times_and_definitions() -> None:
    traces = _traces(shared_data("inspect-logs") / "docent" / "log.eval")
    assert [trace.outcome.success for trace in traces if trace.outcome] == snapshot(
        [
            False,
            True,
            True,
            False,
            True,
            False,
            True,
            True,
            True,
            True,
            False,
            False,
            False,
            True,
            True,
        ]
    )
    assert {tool.name for trace in traces for tool in trace.tools} == {"bash", "python", "submit"}
    replies = [turn for trace in traces for turn in trace.turns if turn.role == "assistant"]
    assert all(turn.model == "gpt-4o-2024-08-06" and turn.usage for turn in replies)
    assert all(call.started_at for trace in traces for call in trace.calls)
    assert not any("attachment://" in turn.text for trace in traces for turn in trace.turns)
    assert len({trace.id for trace in traces}) == len(traces)


def test_images_stay_images_and_a_grader_is_no_turn() -> None:
    folder = shared_data("inspect-logs") / "inspect_ai"
    (trace,) = _traces(folder / "log" / "test_eval_log" / "log_images.json")
    media = [part for turn in trace.turns for part in turn.content if isinstance(part, Media)]
    assert [(part.modality, part.mime_type) for part in media] == snapshot([("image", "image/png")])
    graded = _traces(folder / "analysis/test_logs/2025-05-12T20-28-26-04-00_security-guide.json")
    assert all(len(trace.metadata["other_model_calls"]) == 1 for trace in graded)


def test_a_log_without_samples_says_so_in_one_line(tmp_path: Path) -> None:
    path = _archive(tmp_path / "log.eval", {}, {**HEADER, "status": "error"})
    assert [str(found) for found in collector.collect(path)] == [
        f"{path}: the log holds no samples (status 'error')"
    ]


def test_a_sample_becomes_a_trace_with_everything_its_events_and_scores_say(tmp_path: Path) -> None:
    (trace,) = _traces(_archive(tmp_path / "log.eval", {"samples/a_epoch_1.json": SAMPLE}))
    assert (trace.system_prompt, trace.group) == ("Be brief.", "t/a")
    assert [(turn.role, turn.origin, turn.text) for turn in trace.turns] == [
        ("user", "human", "Add 2 and 2."),
        ("assistant", "agent", "ok"),
        ("user", "harness", "Please go on."),
        ("assistant", "agent", "4"),
    ]
    call = trace.calls[0]
    assert (call.arguments, call.duration_ms) == ({"a": 2, "b": 2}, 1500.0)
    assert call.result is not None
    assert call.result.error is not None
    assert (call.result.ok, call.result.error.type) == (False, "timeout")
    last = trace.turns[-1]
    assert last.usage is not None
    assert (last.model, last.usage.input_tokens, last.finish_reason) == ("m-1", 8, "stop")
    assert last.settings == {"temperature": 0}
    assert trace.outcome is not None
    assert (trace.outcome.success, trace.outcome.reward, trace.outcome.ended) == (True, 0.5, True)
    assert trace.metadata["reference"] == {"target": "4"}
    assert [call["input_messages"] for call in trace.metadata["other_model_calls"]] == [2]


def test_members_packed_by_zstd_are_read(tmp_path: Path) -> None:
    plain = _archive(tmp_path / "plain.eval", {"samples/a_epoch_1.json": SAMPLE})
    packed = _zstd_archive(
        tmp_path / "packed.eval",
        {
            "header.json": json.dumps(HEADER).encode(),
            "samples/a_epoch_1.json": json.dumps(SAMPLE).encode(),
        },
    )
    assert [trace.turns for trace in _traces(packed)] == [trace.turns for trace in _traces(plain)]


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        ({**SAMPLE, "messages": 7}, "expected a list, got 7 @ $.messages"),
        (
            {**SAMPLE, "messages": [{"role": "judge"}]},
            "role 'judge' is none of system, user, assistant, tool @ $.messages[0].role",
        ),
        ([], "expected an object, got [] @ $"),
    ],
    ids=["no list", "no role", "no object"],
)
def test_a_bad_sample_is_one_line_and_the_others_are_read(
    tmp_path: Path, sample: object, reason: str
) -> None:
    path = _archive(tmp_path / "l.eval", {"samples/1.json": sample, "samples/2.json": SAMPLE})
    first, second = collector.collect(path)
    assert str(first) == f"{path}!samples/1.json: {reason}"
    assert isinstance(second, Trace)


def test_a_bomb_and_a_damaged_member_are_problems_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracedance_sdk.formats.inspect_log_archive.MAX_UNPACKED_BYTES", 1_000_000)
    path = tmp_path / "bomb.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(HEADER))
        archive.writestr("samples/bomb.json", b" " * 5_000_000)
        archive.writestr("samples/../../../escape.json", json.dumps(SAMPLE))
    found = list(collector.collect(path))
    assert [type(item) for item in found] == [ImportProblem, Trace]
    assert "more than 1,000,000 bytes" in str(found[0])
    assert sorted(item.name for item in tmp_path.iterdir()) == ["bomb.eval"]
    broken = _zstd_archive(tmp_path / "broken.eval", {"header.json": json.dumps(HEADER).encode()})
    data = broken.read_bytes()
    broken.write_bytes(data.replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe"))
    with pytest.raises(OSError, match="cannot be unpacked"):
        open_inspect_log(broken)


def test_references_to_a_long_text_cannot_blow_a_sample_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracedance_sdk.formats.inspect_log_attachments._MOST_CHARACTERS", 25)
    messages = [{"role": "user", "content": "attachment://q"}] * 5
    path = _archive(tmp_path / "log.eval", {"samples/a.json": {**SAMPLE, "messages": messages}})
    (trace,) = _traces(path)
    texts = [turn.text for turn in trace.turns]
    assert (
        texts == ["attachment://q"] * 3 + ["Add 2 and 2."] * 2 or texts.count("Add 2 and 2.") == 2
    )
    assert trace.fidelity.count("value_elsewhere") == 3
