"""Send what waits, of every run of the process."""

from __future__ import annotations

from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.pipeline import EXPORTS


def flush() -> bool:
    """Send what waits to be exported, of all runs of the process, for at most 2 s.

    Recorders flush when their statement ends, and the interpreter's exit does; runs of `agent` are
    sent in the background. Call this where a process stops without either: at the end of a Celery
    worker, before a function platform freezes the process.

    Returns:
        Whether nothing waits any more; True when nothing is exported.

    Example:
        >>> flush()
        True
    """
    exports = EXPORTS.everything()
    for export in exports:
        GUARD.attempt("flush", PROCESS_FAULTS, export.flush)
    return all(export.idle for export in exports)
