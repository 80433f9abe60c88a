"""Go through the records of a log so that an error names the one it stands in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tracedance_sdk.formats.places import Misfit, expect
from tracedance_sdk.trace import Json


def take_each(
    items: Iterable[Json], take: Callable[[int, dict[str, Any]], object], *steps: str
) -> None:
    """Give every record, which must be an object, to `take` with its index.

    Args:
        items: The records, in order.
        take: Takes index and record.
        steps: Where the list stands, below what the caller was given.

    Raises:
        Misfit: A record of another shape, with its index in the path.
    """
    for index, item in enumerate(items):
        try:
            take(index, expect(item, dict))
        except Misfit as misfit:
            raise misfit.below(*steps, index) from None
