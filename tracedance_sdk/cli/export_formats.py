"""Traces as lines of other formats, and what each of them has no place for."""

from __future__ import annotations

import contextlib
import gzip
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from tracedance_sdk.errors import InvalidOption, TraceDanceError, UnreadableFile
from tracedance_sdk.formats import chat_document, write_atif
from tracedance_sdk.otel import otlp_lines
from tracedance_sdk.trace import UNKNOWN, Agent, ToolDefinition, Trace, encode_json

_OF_TRACES: Final = (
    "outcome", "parent", "session_id", "task_id", "group", "metadata", "started_at", "ended_at",
    "source",
)  # fmt: skip


class Export:
    """Writes traces as lines, and counts what gets lost on the way.

    Args:
        form: A key of `FORMATS`.

    Attributes:
        written: Traces so far.
        lost: What the format has no place for → how often.
        open: What is written without something that nobody knows → how often.
        problems: Traces that could not be written, one line each.
    """

    def __init__(self, form: str) -> None:
        self._form = FORMATS[form]
        self.written = 0
        self.lost: Counter[str] = Counter()
        self.open: Counter[str] = Counter()
        self.problems: list[str] = []

    def lines(self, traces: Iterable[Trace]) -> Iterator[bytes]:
        """Yield the lines of all traces, without line ends."""
        for trace in traces:
            try:
                lines = list(self._form.write(trace))
            except (TraceDanceError, TypeError, ValueError) as error:
                self.problems.append(f"trace {trace.id:.64} cannot be written: {error}")
                continue
            self.written += 1
            self.lost.update(self._form.losses(trace))
            self.open.update(self._form.left_open(trace))
            yield from lines


def write_lines(path: Path, lines: Iterable[bytes], *, force: bool = False) -> None:
    """Write lines to a file, whole or not at all; compressed where its name ends in ``.gz``.

    Args:
        path: The file; its folder must be there.
        lines: Without line ends.
        force: Replace the file when it is there.

    Raises:
        InvalidOption: The file is there.
        UnreadableFile: It cannot be written.
    """
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as raw:
            if path.name.endswith(".gz"):
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
                    packed.writelines(line + b"\n" for line in lines)
            else:
                raw.writelines(line + b"\n" for line in lines)
            raw.flush()
            os.fsync(raw.fileno())
        if force:
            draft.replace(path)
        else:
            os.link(draft, path)
    except FileExistsError:
        raise InvalidOption(f"{str(path)!r} is there already; --force replaces it") from None
    except TraceDanceError:
        # From the source of the lines.
        raise
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be written: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def _trace_json(trace: Trace) -> Iterator[bytes]:
    yield encode_json(trace)


def _atif(trace: Trace) -> Iterator[bytes]:
    yield orjson.dumps(write_atif(trace))


def _otlp(trace: Trace) -> Iterator[bytes]:
    return otlp_lines(trace)


def _chat(trace: Trace) -> Iterator[bytes]:
    yield orjson.dumps(chat_document(trace))


def _nothing(_trace: Trace) -> Iterator[str]:
    return iter(())


def _not_in_chats(trace: Trace) -> Iterator[str]:
    for name in ("initial_state", "final_state"):
        if getattr(trace, name) is not UNKNOWN:
            yield f"the trace's {name}"
    for name in _OF_TRACES:
        if getattr(trace, name):
            yield f"the trace's {name}"
    if trace.agent != Agent():
        yield "the trace's agent"
    yield from ("where a tool's definition comes from" for t in trace.tools if _is_added(t))
    yield from _turns_not_in_chats(trace)
    yield from _calls_not_in_chats(trace)


def _is_added(tool: ToolDefinition) -> bool:
    return tool.origin != "recorded"


def _turns_not_in_chats(trace: Trace) -> Iterator[str]:
    for turn in trace.turns:
        for name in ("model", "usage", "settings", "started_at", "ended_at", "finish_reason"):
            if getattr(turn, name) is not None:
                yield f"a turn's {name}"


def _calls_not_in_chats(trace: Trace) -> Iterator[str]:
    for call in trace.calls:
        if call.requested_by != "agent":
            yield "calls that are not the agent's"
            continue
        for name in ("started_at", "duration_ms", "state_change"):
            if getattr(call, name) is not None:
                yield f"a call's {name}"
        result = call.result
        if result is None:
            continue
        if result.ok is not None:
            yield "whether a call succeeded"
        if result.error is not None:
            is_text = result.content is UNKNOWN
            yield "a call's error" + (", written as its result" if is_text else "")
        if result.interrupted:
            yield "that a call was interrupted"
        if result.exit_code is not None:
            yield "a call's exit_code"


def _left_open_in_chats(trace: Trace) -> Iterator[str]:
    """Yield what is not written as nobody knows it, which other programs may refuse."""
    for call in trace.actions:
        if call.arguments is UNKNOWN and call.raw_arguments is None:
            yield "calls without arguments, as they are unknown"
        if call.result is None:
            yield "calls without a result, as none was recorded"
        elif call.result.content is UNKNOWN and call.result.error is None:
            yield "results without content, as none was seen"


class _Form(NamedTuple):
    """A format: how a trace is written, what of it gets lost, and what is left open."""

    write: Callable[[Trace], Iterator[bytes]]
    losses: Callable[[Trace], Iterator[str]] = _nothing
    left_open: Callable[[Trace], Iterator[str]] = _nothing


FORMATS: Final = {
    "atif": _Form(_atif),
    "openai-chat": _Form(_chat, _not_in_chats, _left_open_in_chats),
    "otlp": _Form(_otlp),
    "trace-json": _Form(_trace_json),
}
"""The formats by name."""
