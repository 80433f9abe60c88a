"""A call that nobody saw being made: a message told its result, some time after it."""

from __future__ import annotations

from tracedance_sdk.journal import Attributes
from tracedance_sdk.otel import TIMES_UNKNOWN
from tracedance_sdk.recording.calls import OpenCall
from tracedance_sdk.recording.scopes import Scope
from tracedance_sdk.recording.values import freeze


class ToldCall(OpenCall):
    """A call of which only messages tell. When it was made, and how long it took, is not known.

    Its span stands where its result was told, and says so.
    """

    __slots__ = ()

    def __init__(
        self, parent: Scope, name: str, attributes: Attributes, *, call_id: str, turn: int
    ) -> None:
        marked = {**attributes, TIMES_UNKNOWN: True}
        super().__init__(parent, name, marked, call_id=call_id, turn=turn)

    def end_now(self, content: object) -> None:
        """End with a result of which nobody says whether the call succeeded."""
        self.finish(self.run.text(freeze(content)), ok=None)
