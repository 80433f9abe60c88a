"""tau-bench's few-shot conversations: one text a line, without names or arguments of calls.

``assistant: None`` is a message that asked for a call; ``tool:`` is what came back.
"""

from __future__ import annotations

import re
from typing import Final

from tracedance_sdk.formats.places import Place
from tracedance_sdk.formats.transcript import Transcript
from tracedance_sdk.trace import Json, Source, Trace, imported_trace_id, source_digest

NAME: Final = "tau_bench_few_shot"

_MESSAGE: Final = re.compile(r"^(user|assistant|tool): ", re.MULTILINE)


def trace_from_few_shot(record: Json, place: Place, *, uri: str | None = None) -> Trace:
    """Build the trace of a conversation.

    Messages begin where a line starts with a speaker, which a message may hold as well: the
    borders are noted as guessed. Calls are named ``unknown`` and their arguments are unknown, so
    that the trace is fit for reading alone.

    Args:
        record: ``{"messages_display": text}``.
        place: Where it stands, for errors.
        uri: The file.

    Raises:
        InvalidTrace: No such record.
    """
    fields = place.expect(record, dict)
    text = place.field(fields, "messages_display", str)
    log = Transcript()
    log.note("boundary_guessed", "turns")
    pieces = _MESSAGE.split(text)
    opening = pieces[0].strip()
    if opening:
        log.say("user", opening, origin="harness")
    for speaker, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        words = piece.removesuffix("\n")
        if speaker == "user":
            log.say("user", words, origin="human")
        elif speaker == "assistant":
            log.say("assistant", "" if words == "None" else words, origin="agent")
        else:
            _answer(log, words)
    digest = source_digest(text)
    return log.trace(
        imported_trace_id(NAME, "", digest),
        where=place.where,
        agent={"name": "tau-bench"},
        source=Source(collector=NAME, uri=uri, native_id=digest),
        metadata={k: v for k, v in fields.items() if k != "messages_display"},
    )


def _answer(log: Transcript, words: str) -> None:
    has_failed = words.startswith(("Error:", "Unknown action"))
    message = words.removeprefix("Error:").strip()
    call = log.request("unknown", bound_by="order")
    log.note("content_off", f"turns[{len(log.turns) - 1}]")
    log.answer(
        call["id"],
        content=words,
        ok=not has_failed,
        error={"type": "Error", "message": message} if has_failed else None,
    )
