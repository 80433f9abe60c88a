"""Headers hold keys: one that cannot be used is refused without its text."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.util.re import parse_env_headers

import tracedance_sdk as td
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording.otlp_headers import check_headers

GENERAL, OF_TRACES = "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
SECRET = "S3cretPw"  # made up


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        (f"Authorization: Bearer {SECRET}", "header 1 is not name=value"),
        (f"x-team=shop,Bearer {SECRET}", "header 2 is not name=value"),
        (f"Bad Key={SECRET}", "header 1 is not name=value"),
        (f"={SECRET}", "header 1 is not name=value"),
        (f"x={SECRET}%0aa", "header 1 has a value that no request can hold"),
        (f"x={SECRET}%C3%A9", "header 1 has a value that no request can hold"),
        (f"x={SECRET}é", "header 1 has characters in its value that must be encoded"),
        (f'x="{SECRET}"', "header 1 has characters in its value that must be encoded"),
    ],
)
def test_a_header_that_cannot_be_used_is_refused_without_its_text(
    headers: str, problem: str
) -> None:
    for variable in (GENERAL, OF_TRACES):
        with pytest.raises(InvalidOption) as caught:
            check_headers({variable: headers})
        assert str(caught.value).startswith(f"{variable}: {problem}; ")
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "headers", ["", "a=b", "a=b, c = d ,", "Authorization=Basic%20abc==", "a=Bearer b c", "a="]
)
def test_headers_that_can_be_used_pass(headers: str) -> None:
    check_headers({GENERAL: headers})


def test_headers_for_spans_alone_take_the_place_of_the_others() -> None:
    check_headers({OF_TRACES: "a=b", GENERAL: "not used"})


@given(st.text(st.sampled_from('aZ=, \t:;%0é"\\/\x7f\n'), max_size=12))
def test_what_passes_is_never_quoted_by_opentelemetry(headers: str) -> None:
    try:
        check_headers({GENERAL: headers})
    except InvalidOption:
        return
    quoted: list[logging.LogRecord] = []
    logger = logging.getLogger("opentelemetry.util.re")
    logger.addFilter(quoted.append)  # type: ignore[arg-type]  # returns None, which drops it
    try:
        parse_env_headers(headers, liberal=True)
    finally:
        logger.removeFilter(quoted.append)  # type: ignore[arg-type]
    assert [record.getMessage() for record in quoted if record.args[0].strip()] == []  # type: ignore[index,union-attr]


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.usefixtures("forgiving")
def test_a_run_goes_on_without_export_and_no_log_holds_the_header(
    protocol: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1/")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    monkeypatch.setenv(GENERAL, f"Authorization: Bearer {SECRET}")
    with (
        caplog.at_level(logging.DEBUG),
        td.TraceRecorder() as recorder,
        recorder.call("look", {"n": 1}) as call,
    ):
        call.result = 2
    assert recorder.trace.calls[0].result is not None
    assert recorder.close().faults == {"pipeline: InvalidOption": 1}
    assert "header 1 is not name=value" in caplog.text
    assert SECRET not in caplog.text
