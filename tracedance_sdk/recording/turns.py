"""The turns of a run as the program reports them, each on record before the next thing happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from tracedance_sdk.journal import CLIENT, Attributes, EventRecord, SpanRecord
from tracedance_sdk.otel import CHAT, INPUT_MESSAGES, TURN, joined_messages, turn_attributes
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.identifiers import new_span_id

if TYPE_CHECKING:
    from tracedance_sdk.recording.runs import Run
    from tracedance_sdk.recording.settled_turns import SettledTurn
    from tracedance_sdk.trace import Role


class Waiting(NamedTuple):
    """A turn that the next chat span brings along.

    Attributes:
        told: Its document, as it was reported.
        message: Its message in a list, as JSON.
    """

    told: Mapping[str, Any]
    message: str


class TurnLog:
    """Records turns.

    Attributes:
        waiting: Turns since the last chat span.
        told: Called with the document of each turn that was recorded, as it was reported; None
            while nobody wants to know.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self.waiting: list[Waiting] = []
        self.told: Callable[[Mapping[str, Any]], object] | None = None
        self._settled: Callable[..., SettledTurn] | None = None

    def messages_waiting(self) -> str | None:
        """Return the JSON of the messages since the last chat span; None when there is none."""
        return joined_messages([waiting.message for waiting in self.waiting])

    def record(
        self,
        role: Role,
        content: object,
        calls: Iterable[object],
        *,
        is_lasting: bool = False,
        **facts: Any,
    ) -> bool:
        """Record a turn that has happened, and return whether it surely held nothing to mask.

        Args:
            role: Of the turn.
            content: What was said.
            calls: What the turn asks for.
            is_lasting: See `settled_turn`.
            facts: Further fields of the turn.

        Raises:
            InvalidOption: A role or call that cannot be used.
            InvalidTrace: Another field of a wrong type.
        """
        if self._settled is None:
            from tracedance_sdk.recording.settled_turns import settled_turn

            self._settled = settled_turn
        if facts.get("started_at") is None:
            facts["started_at"] = datetime.now(UTC)
        turn = self._settled(self._run, role, content, calls, facts, is_lasting=is_lasting)
        written = turn.facts
        is_copied = "copied_context" in written
        written["index"] = self._run.ledger.add_turn(role, turn.requests, is_copied=is_copied)
        GUARD.attempt("turn", self._run.faults, self._write, turn)
        if self.told is not None:
            self.told(turn.told)
        return turn.is_clean

    def _write(self, turn: SettledTurn) -> None:
        message = turn.message
        if message["role"] != "assistant":
            attributes = turn_attributes(message)
            self.waiting.append(Waiting(turn.told, str(attributes[INPUT_MESSAGES])))
            self._write_event(self._run.stubbed(attributes))
            return
        before = self.messages_waiting()
        self.waiting = []
        self._write_chat(turn, self._run.stubbed(turn_attributes(message, before=before)))

    def _write_event(self, attributes: Attributes) -> None:
        run = self._run
        span_id = run.identity.span_id
        run.write(EventRecord(TURN, run.otel_trace_id, span_id, time_ns(), attributes))

    def _write_chat(self, turn: SettledTurn, attributes: Attributes) -> None:
        run = self._run
        start_ns = _ns(turn.started_at)
        end_ns = max(start_ns, _ns(turn.ended_at))
        model = turn.facts.get("model")
        name = CHAT if model is None else f"{CHAT} {model}"
        span: Any = None
        if run.spans is not None:
            span = GUARD.attempt(
                "span",
                run.faults,
                run.spans.start,
                name,
                attributes,
                parent=run.root,
                start_ns=start_ns,
                kind=CLIENT,
            )
        record = SpanRecord(
            name,
            run.otel_trace_id,
            new_span_id() if run.spans is None or span is None else run.spans.span_id(span),
            run.identity.span_id,
            CLIENT,
            start_ns,
            end_ns,
            attributes,
        )
        run.write_span(record)
        if run.spans is not None and span is not None:
            run.spans.end(span, record)


def _ns(moment: datetime | None) -> int:
    return time_ns() if moment is None else round(moment.timestamp() * 1e6) * 1000
