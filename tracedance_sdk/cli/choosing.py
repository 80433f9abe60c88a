"""How `--trace ID` chooses a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracedance_sdk.trace import Trace


def is_chosen(trace: Trace, wanted: str | None) -> bool:
    """Whether a trace is wanted: its id starts so, or it has this id at its source.

    Args:
        trace: The trace.
        wanted: What the user gave; None chooses every trace.
    """
    if wanted is None:
        return True
    native_id = trace.source.native_id if trace.source is not None else None
    return trace.id.startswith(wanted) or native_id == wanted
