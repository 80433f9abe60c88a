"""Spans leave when the interpreter exits without close, in forked processes too, within bounds."""

from __future__ import annotations

import textwrap
import time

import pytest

from tests.durability.hosts import run_program
from tests.durability.receivers import RECEIVERS, Manner

BEGIN = """
import os, sys
import tracedance_sdk as td

@td.tool
def lookup(n):
    return n

"""


def program(body: str) -> str:
    return BEGIN + textwrap.dedent(body)


ENDS = {
    "the end of the program": "",
    "sys.exit": "sys.exit(0)",
    "an exception": "raise ValueError('no')",
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("protocol", RECEIVERS)
def test_an_open_recorder_is_exported_when_the_interpreter_exits(protocol: str, end: str) -> None:
    text = program(
        """
        recorder = td.TraceRecorder()
        recorder.__enter__()
        lookup(1)
        """
    )
    with RECEIVERS[protocol]() as (endpoint, received):
        run_program(
            text + ENDS[end],
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
        )

    assert sorted(received.names()) == ["execute_tool lookup", "invoke_agent agent"]


@pytest.mark.parametrize("protocol", RECEIVERS)
def test_an_agent_that_nobody_flushes_is_exported_at_exit(protocol: str) -> None:
    text = program(
        """
        @td.agent
        def answer():
            return lookup(1)

        answer()
        """
    )
    with RECEIVERS[protocol]() as (endpoint, received):
        run_program(
            text, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol
        )

    assert sorted(received.names()) == ["execute_tool lookup", "invoke_agent answer"]


@pytest.mark.parametrize("protocol", RECEIVERS)
def test_the_exit_waits_two_seconds_for_a_receiver_that_hangs_and_says_so(protocol: str) -> None:
    text = program(
        """
        @td.agent
        def answer():
            return lookup(1)

        answer()
        """
    )
    with RECEIVERS[protocol](Manner(hang=True)) as (endpoint, _):
        began = time.monotonic()
        errors = run_program(
            text, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol
        )
        took = time.monotonic() - began

    assert "tracedance gave up exporting 2 spans" in errors
    assert 2 <= took < 6


@pytest.mark.parametrize("protocol", RECEIVERS)
def test_a_forked_process_exports_its_own_spans_over_connections_of_its_own(
    protocol: str,
) -> None:
    text = program(
        """
        with td.TraceRecorder(task_id="parent") as recorder:
            lookup(0)
        children = []
        for n in range(3):
            child = os.fork()
            if child == 0:
                with td.TraceRecorder(task_id=f"child {n}") as recorder:
                    lookup(n)
                summary = recorder.close()
                os._exit(0 if summary.exported == 2 else 1)
            children.append(child)
        with td.TraceRecorder(task_id="parent again") as recorder:
            lookup(0)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        assert codes == [0, 0, 0], codes
        assert recorder.close().exported == 2
        """
    )
    with RECEIVERS[protocol]() as (endpoint, received):
        run_program(
            text, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol
        )

    assert len(received.spans) == 2 * 5
    assert len({span.trace_id for span in received.spans}) == 5
    assert len({span.span_id for span in received.spans}) == 10


def test_what_waited_in_the_parent_is_sent_once_by_the_parent() -> None:
    text = program(
        """
        with td.TraceRecorder() as recorder:
            for n in range(5):
                lookup(n)
            child = os.fork()
            if child == 0:
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
        """
    )
    with RECEIVERS["http/protobuf"]() as (endpoint, received):
        run_program(text, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)

    assert len(received.spans) == 6
    assert len({span.span_id for span in received.spans}) == 6


def test_instrumented_clients_make_no_spans_of_an_export() -> None:
    text = program(
        """
        from opentelemetry import context
        from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY
        import requests

        send, seen = requests.Session.send, []

        def watched(self, request, **options):
            seen.append(context.get_value(_SUPPRESS_INSTRUMENTATION_KEY))
            return send(self, request, **options)

        requests.Session.send = watched
        with td.TraceRecorder() as recorder:
            lookup(1)
        assert recorder.close().exported == 2
        assert seen and all(seen), seen
        """
    )
    with RECEIVERS["http/protobuf"]() as (endpoint, _):
        run_program(text, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
