"""Magentic-One's logs as AgentRx has them: bare lists of who said what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracedance_sdk.formats.benchmarks.speakers import read_speakers
from tracedance_sdk.formats.places import Misfit, Place
from tracedance_sdk.trace import Json, Source, Trace, imported_trace_id, source_digest

NAME: Final = "agentrx"


def trace_from_magentic(
    messages: Json,
    place: Place,
    *,
    name: str,
    annotations: Sequence[Json] = (),
    uri: str | None = None,
) -> Trace:
    """Build the trace of a log; its turns have the indices of the messages.

    Args:
        messages: The parsed list of ``{content, role}``.
        place: Where it stands, for errors.
        name: The id of the trajectory, which is the file's name.
        annotations: What humans say of its failures, kept as it is.
        uri: The file.

    Raises:
        InvalidTrace: No such list.
    """
    entries = place.expect(messages, list)
    try:
        log = read_speakers(entries, key=NAME)
    except Misfit as misfit:
        raise place.located(misfit) from None
    return log.trace(
        imported_trace_id(NAME, source_digest(entries), ""),
        where=place.where,
        group=name,
        task_id=name,
        agent={"name": "magentic-one"},
        source=Source(collector=NAME, uri=uri, native_id=name),
        metadata={"annotations": list(annotations)} if annotations else None,
    )
