"""Traces as lines of other formats, and what each of them has no place for."""

from __future__ import annotations

import contextlib
import gzip
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from tracedance_sdk.errors import InvalidOption, TraceDanceError, UnreadableFile
from tracedance_sdk.formats import messages_from_trace, tools_from_trace, write_atif
from tracedance_sdk.otel import otlp_lines
from tracedance_sdk.trace import UNKNOWN, Trace, encode_json


class Export:
    """Writes traces as lines, and counts what gets lost on the way.

    Args:
        form: A key of `FORMATS`.

    Attributes:
        written: Traces so far.
        lost: What the format has no place for → how often.
        problems: Traces that could not be written, one line each.
    """

    def __init__(self, form: str) -> None:
        self._write, self._losses = FORMATS[form]
        self.written = 0
        self.lost: Counter[str] = Counter()
        self.problems: list[str] = []

    def lines(self, traces: Iterable[Trace]) -> Iterator[bytes]:
        """Yield the lines of all traces, without line ends."""
        for trace in traces:
            try:
                lines = list(self._write(trace))
            except (TraceDanceError, TypeError, ValueError) as error:
                self.problems.append(f"trace {trace.id:.64} cannot be written: {error}")
                continue
            self.written += 1
            self.lost.update(self._losses(trace))
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
    document: dict[str, Any] = {"id": trace.id, "messages": messages_from_trace(trace)}
    tools = tools_from_trace(trace)
    if tools:
        document["tools"] = tools
    yield orjson.dumps(document)


def _nothing(_trace: Trace) -> Iterator[str]:
    return iter(())


def _not_in_chats(trace: Trace) -> Iterator[str]:
    for name in ("initial_state", "final_state"):
        if getattr(trace, name) is not UNKNOWN:
            yield f"the trace's {name}"
    for name in ("outcome", "parent", "session_id", "task_id", "group", "metadata"):
        if getattr(trace, name):
            yield f"the trace's {name}"
    for turn in trace.turns:
        for name in ("model", "usage", "settings", "started_at", "finish_reason"):
            if getattr(turn, name) is not None:
                yield f"a turn's {name}"
    yield from _calls_not_in_chats(trace)


def _calls_not_in_chats(trace: Trace) -> Iterator[str]:
    for call in trace.calls:
        if call.requested_by != "agent":
            yield "calls that are not the agent's"
        elif call.result is not None and call.result.ok is not None:
            yield "whether a call succeeded"


FORMATS: Final[
    dict[str, tuple[Callable[[Trace], Iterator[bytes]], Callable[[Trace], Iterator[str]]]]
] = {
    "atif": (_atif, _nothing),
    "openai-chat": (_chat, _not_in_chats),
    "otlp": (_otlp, _nothing),
    "trace-json": (_trace_json, _nothing),
}
"""Name → how a trace is written, and what of it gets lost."""
