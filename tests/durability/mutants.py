"""Recorders that break one promise each, to show that the check of killed runs sees it.

They exist in the killed program alone: `apply` replaces methods of the library in this process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from tracedance_sdk.journal import EventRecord, SpanRecord
from tracedance_sdk.otel import CALL_START, RUN_START
from tracedance_sdk.recording.runs import Run


def _start_after_the_body() -> None:
    """The start record of a call is written when the body is over."""
    write, write_span = Run.write, Run.write_span
    held: dict[str, EventRecord] = {}

    def hold(run: Run, record: Any) -> None:
        if record.name == CALL_START:
            held[record.span_id] = record
        else:
            write(run, record)

    def release(run: Run, record: SpanRecord) -> None:
        start = held.pop(record.span_id, None)
        if start is not None:
            write(run, start)
        write_span(run, record)

    _replace(write=hold, write_span=release)


def _end_after_the_return() -> None:
    """The end record of a call is written a moment after its caller went on."""
    write_span = Run.write_span

    def later(run: Run, record: SpanRecord) -> None:
        threading.Timer(0.002, write_span, (run, record)).start()

    _replace(write_span=later)


def _records_in_a_buffer() -> None:
    """Records are handed to the operating system eight at a time."""
    write = Run._keep
    held: list[tuple[Run, Any]] = []

    def keep(run: Run, record: Any) -> None:
        held.append((run, record))
        if len(held) >= 8:
            for item in held:
                write(*item)
            held.clear()

    _replace(_keep=keep)


def _run_start_after_the_first_call() -> None:
    """The start record of the run is written when the first call has begun."""
    write = Run.write
    held: list[EventRecord] = []

    def hold(run: Run, record: Any) -> None:
        if record.name == RUN_START:
            held.append(record)
            return
        write(run, record)
        if record.name == CALL_START:
            while held:
                write(run, held.pop())

    _replace(write=hold)


def _result_of_another() -> None:
    """A call's end record now and then holds the result of the call before."""
    write_span = Run.write_span
    last: list[Any] = []

    def mix(run: Run, record: SpanRecord) -> None:
        result = record.attributes.get("gen_ai.tool.call.result")
        if last and result is not None and record.start_ns % 3 == 0:
            attributes = {**record.attributes, "gen_ai.tool.call.result": last[-1]}
            record = record._replace(attributes=attributes)
        last[:] = [result] if result is not None else last
        write_span(run, record)

    _replace(write_span=mix)


def _replace(**methods: Callable[..., None]) -> None:
    for name, method in methods.items():
        setattr(Run, name, method)


MUTANTS: Final[dict[str, Callable[[], None]]] = {
    "start after the body": _start_after_the_body,
    "end after the return": _end_after_the_return,
    "records in a buffer": _records_in_a_buffer,
    "run start after the first call": _run_start_after_the_first_call,
    "result of another call": _result_of_another,
}
"""What is wrong with it → makes the recorder of this process like that."""
