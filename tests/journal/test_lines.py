from __future__ import annotations

import base64
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from inline_snapshot import snapshot
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tests.journal.records import call_end, call_start, records
from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.journal import (
    EventRecord,
    EvidenceRecord,
    SpanRecord,
    decode_line,
    encode_record,
    otlp_records,
)


def whole(record: EvidenceRecord) -> bytes:
    return b"ab01".join(encode_record(record, line=7))


@given(records)
def test_a_record_written_and_read_back_is_equal(record: EvidenceRecord) -> None:
    found = decode_line(whole(record), where="line")
    assert found == [record]
    kinds = [(key, type(value)) for key, value in record.attributes.items()]
    assert [(key, type(value)) for key, value in found[0].attributes.items()] == kinds


@given(records)
def test_every_line_is_otlp_json_that_protobuf_reads(record: EvidenceRecord) -> None:
    line = whole(record).decode()
    # json_format takes ids for base64 although OTLP has them in hex, hence the detour.
    if isinstance(record, SpanRecord):
        [span] = json_format.Parse(line, TracesData()).resource_spans[0].scope_spans[0].spans
        assert base64.b64encode(span.trace_id).decode() == record.trace_id
        assert base64.b64encode(span.span_id).decode() == record.span_id
        assert (span.name, span.kind) == (record.name, record.kind)
        assert span.start_time_unix_nano == record.start_ns
        assert span.end_time_unix_nano == record.end_ns
        assert span.status.code == (0 if record.error is None else 2)
        assert len(span.links) == len(record.links)
        assert _read(span.attributes) == record.attributes
    else:
        [log] = json_format.Parse(line, LogsData()).resource_logs[0].scope_logs[0].log_records
        assert base64.b64encode(log.span_id).decode() == record.span_id
        assert (log.event_name, log.time_unix_nano) == (record.name, record.time_ns)
        assert _read(log.attributes) == record.attributes


def _read(attributes: Any) -> dict[str, Any]:
    return {item.key: _value(item.value) for item in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found = getattr(value, kind)
    return tuple(_value(item) for item in found.values) if kind == "array_value" else found


def test_lines_have_camel_case_names_hex_ids_and_integers_as_strings() -> None:
    assert _pretty(call_end()) == snapshot("""\
{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"tracedance.journal",
"attributes":[{"key":"tracedance.journal.hash",
"value":{"stringValue":"ab01"}},{"key":"tracedance.journal.line",
"value":{"intValue":"7"}}]},
"spans":[{"traceId":"0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a",
"spanId":"0b0b0b0b0b0b0b0b",
"parentSpanId":"0c0c0c0c0c0c0c0c",
"name":"execute_tool pay",
"kind":1,
"startTimeUnixNano":"5",
"endTimeUnixNano":"9",
"attributes":[{"key":"gen_ai.tool.name",
"value":{"stringValue":"pay"}},{"key":"tracedance.call.index",
"value":{"intValue":"0"}}]}]}]}]}\
""")
    assert _pretty(call_start()) == snapshot("""\
{"resourceLogs":[{"scopeLogs":[{"scope":{"name":"tracedance.journal",
"attributes":[{"key":"tracedance.journal.hash",
"value":{"stringValue":"ab01"}},{"key":"tracedance.journal.line",
"value":{"intValue":"7"}},{"key":"tracedance.event.parent",
"value":{"stringValue":"0c0c0c0c0c0c0c0c"}}]},
"logRecords":[{"timeUnixNano":"5",
"eventName":"tracedance.call.start",
"traceId":"0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a",
"spanId":"0b0b0b0b0b0b0b0b",
"attributes":[{"key":"gen_ai.tool.name",
"value":{"stringValue":"pay"}},{"key":"tracedance.call.index",
"value":{"intValue":"0"}}]}]}]}]}\
""")


def _pretty(record: EvidenceRecord) -> str:
    return whole(record).decode().replace(',"', ',\n"')


def test_what_json_cannot_say_is_spelled_out() -> None:
    span = call_end()._replace(
        name="\ud800", attributes={"big": 2**70, "text": "a\udfff", "\ud800": ("\ud800",)}
    )
    [found] = decode_line(whole(span), where="line")
    assert found == span._replace(
        name="\\ud800",
        attributes={"big": "1180591620717411303424", "text": "a\\udfff", "\\ud800": ("\\ud800",)},
    )


def test_not_a_number_survives() -> None:
    span = call_end()._replace(attributes={"x": float("nan")})
    [found] = decode_line(whole(span), where="line")
    assert repr(found.attributes) == "{'x': nan}"


def test_documents_of_other_exporters_are_read() -> None:
    one = {"arrayValue": {"values": [{"intValue": 1}]}}
    pairs = [{"key": "a", "value": {"boolValue": True}}]
    span = {
        "traceId": "0A" * 16,
        "spanId": "0b" * 8,
        "parentSpanId": "",
        "name": "chat",
        "kind": "SPAN_KIND_CLIENT",
        "startTimeUnixNano": 7,
        "endTimeUnixNano": "8",
        "status": {"code": "STATUS_CODE_ERROR"},
        "attributes": [
            {"key": "none", "value": {}},
            {"key": "mixed", "value": one},
            {"key": "map", "value": {"kvlistValue": {"values": pairs}}},
            {"key": "bytes", "value": {"bytesValue": "AAE="}},
        ],
    }
    document = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [span]}]}]}
    assert list(otlp_records(document, where="x")) == [
        SpanRecord(
            name="chat",
            trace_id="0a" * 16,
            span_id="0b" * 8,
            parent_id=None,
            kind=3,
            start_ns=7,
            end_ns=8,
            attributes={"mixed": "[1]", "map": '{"a":true}', "bytes": "AAE="},
            error="",
        )
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b'{"resourceSpans": 5}',
        b'{"resourceSpans": [5]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{}]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": 1, "spanId": "b"}]}]}]}',
        b'{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "x"}]}]}]}',
        b'{"resourceLogs": [{"scopeLogs": [{"scope": 5, "logRecords": []}]}]}',
    ],
)
def test_other_lines_are_refused_in_one_line(line: bytes) -> None:
    with pytest.raises(InvalidJSON) as caught:
        decode_line(line, where="x.jsonl:3")
    assert str(caught.value).startswith("x.jsonl:3: ")
    assert "\n" not in str(caught.value)


def test_an_event_without_a_parent_has_none() -> None:
    event = EventRecord("tracedance.turn", "0a" * 16, "0b" * 8, 5, {})
    assert decode_line(whole(event), where="line") == [event]
