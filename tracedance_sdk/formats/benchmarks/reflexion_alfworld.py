"""Reflexion's ALFWorld results: what came of a trial, and the reflections it was given.

The steps of the runs were never published, so that such a trace has no turns and says so.
"""

from __future__ import annotations

from typing import Final

from tracedance_sdk.formats.places import Place
from tracedance_sdk.formats.transcript import Transcript
from tracedance_sdk.trace import Json, Outcome, Source, Trace, imported_trace_id

NAME: Final = "reflexion"


def trace_from_alfworld(
    record: Json, place: Place, *, run: str, trial: int | None, uri: str | None = None
) -> Trace:
    """Build the trace of one environment in one trial.

    Args:
        record: ``{name, memory, is_success}``.
        place: Where it stands, for errors.
        run: What the trials are called together: the folder of the files.
        trial: Number of the trial, from 0, as in the file's name.
        uri: The file.

    Returns:
        A trace without turns. Trials of one environment share a `session_id`; the reflections so
        far are ``metadata["memory"]``.

    Raises:
        InvalidTrace: No such record.
    """
    fields = place.expect(record, dict)
    name = place.field(fields, "name", str)
    known = ("name", "is_success")
    log = Transcript()
    log.note("content_off", "turns")
    native_id = f"{run}/trial_{trial}/{name}"
    return log.trace(
        imported_trace_id(NAME, "alfworld", native_id),
        where=place.where,
        session_id=f"{run}/{name}",
        group=name,
        task_id=name,
        agent={"name": "reflexion"},
        outcome=Outcome(success=place.field(fields, "is_success", bool)),
        source=Source(collector=NAME, uri=uri, native_id=native_id),
        metadata={**{k: v for k, v in fields.items() if k not in known}, "trial": trial},
    )
