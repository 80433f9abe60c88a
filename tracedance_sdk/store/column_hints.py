"""What a query that names a column that is not there is told: the columns that are."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Final

from tracedance_sdk.errors import shown

WHERE_TOLD: Final = "docs/store.md"
"""The page that says what each column holds."""

_LONGEST: Final = 320
"""Characters of the columns of all views."""

_UNKNOWN: Final = (
    re.compile(r'Referenced column "(?P<name>.*)" (?:was )?not found'),
    re.compile(r'Values list "(?P<of>.*)" does not have a column named "(?P<name>.*)"'),
    re.compile(r'Table "(?P<of>.*)" does not have a column named "(?P<name>.*)"'),
)


def unknown_column(
    message: str, views: Collection[str], columns: Mapping[str, Sequence[str]]
) -> str | None:
    """Return what to say instead of DuckDB's message about a column that is not there.

    Args:
        message: DuckDB's, its first line.
        views: Those that the query asks.
        columns: View → the names of its columns.

    Returns:
        One line: those of a like name, then the columns of the views; None where the message is
        about something else.

    Example:
        >>> unknown_column(
        ...     'Referenced column "agnt" not found in FROM clause!',
        ...     ["traces"],
        ...     {"traces": ["task_id", "agent"]},
        ... )
        "no column 'agnt': perhaps agent; traces has task_id, agent (what they hold: docs/store.md)"
    """
    found = next((match for form in _UNKNOWN if (match := form.search(message))), None)
    if found is None or not views:
        return None
    name, of = found["name"], found.groupdict().get("of", "").casefold()
    asked = [of] if of in views else [view for view in columns if view in views]
    folded = {column.casefold(): column for view in asked for column in columns[view]}
    near = [folded[like] for like in difflib.get_close_matches(name.casefold(), folded)]
    perhaps = f": perhaps {' or '.join(near)}" if near else ""
    told = "; ".join(
        f"{view} has {_listed(columns[view], _LONGEST // len(asked))}" for view in asked
    )
    return f"no column {shown(name)}{perhaps}; {told} (what they hold: {WHERE_TOLD})"


def _listed(names: Sequence[str], room: int) -> str:
    ends = accumulate(len(name) + 2 for name in names)
    kept = sum(end <= room for end in ends)
    more = f", ... ({len(names)} in all)" if kept < len(names) else ""
    return ", ".join(names[:kept]) + more
