"""Match an executed call to the request in the model's turn that asked for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tracedance_sdk.trace.model import BoundBy


class Request(NamedTuple):
    """A call as the model asked for it: its id (None when the API gave none), name and key."""

    id: str | None
    name: str
    key: str


def bind(
    requests: Sequence[Request],
    taken: Collection[int],
    *,
    call_id: str | None,
    name: str,
    key: str,
) -> tuple[int, BoundBy] | None:
    """Find the request that an executed call answers.

    Tried in order: the first free request with the call's id, then with its canonical key, then
    with its name.

    Args:
        requests: Of the open turn, in the model's order.
        taken: Positions already bound.
        call_id: The executed call's id, when the framework passes it on.
        name: The executed tool.
        key: The executed call's canonical key.

    Returns:
        Position and how it was found, or None when nothing fits.
    """
    free = [(place, request) for place, request in enumerate(requests) if place not in taken]
    if call_id is not None:
        for place, request in free:
            if request.id == call_id:
                return place, "id"
    for place, request in free:
        if request.key == key:
            return place, "key"
    for place, request in free:
        if request.name == name:
            return place, "order"
    return None
