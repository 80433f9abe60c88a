"""A run as anchors and rule judges look at it: turns and calls, each with its derived signs.

It is made of the rows of a store's views, or of a trace that lies in no store; both give the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

from tracedance_sdk.store import Deriver, TraceRows, rows_of_trace
from tracedance_sdk.trace import Json, Trace, parse_json


class SeenCall:
    """A call with its result, as the run shows it.

    Attributes:
        index: Among all calls of the run.
        turn: Index of the turn that requested it.
        name: The tool.
        signs: The columns of the view `features` for it, such as ``failed`` or ``command``.
    """

    __slots__ = ("__dict__", "_row", "index", "name", "signs", "turn")

    def __init__(self, row: Mapping[str, Any], signs: Mapping[str, Any]) -> None:
        self._row = row
        self.signs = signs
        self.index: int = row["call"]
        self.turn: int = row["turn"]
        self.name: str = row["name"]

    @cached_property
    def arguments(self) -> Json:
        """The arguments; None when unknown."""
        text = self._row["arguments"]
        return None if text is None else parse_json(text, where="arguments")

    @cached_property
    def arguments_text(self) -> str:
        """The arguments as JSON, else as the model wrote them."""
        return str(self._row["arguments"] or self._row["raw_arguments"] or "")

    @cached_property
    def result(self) -> str:
        """The result's text with its error's; empty when there is none."""
        row = self._row
        told = (row["result"], row["error_message"])
        texts = [text for text in told if text]
        return texts[0] if len(texts) == 2 and texts[1] in texts[0] else "\n".join(texts)

    @property
    def has_result(self) -> bool:
        """Whether a result was recorded."""
        return bool(self._row["has_result"])

    @property
    def by_agent(self) -> bool:
        """Whether the agent asked for it, and no simulated user or tool."""
        return bool(self._row["requested_by"] == "agent")

    @cached_property
    def command(self) -> str:
        """Of a shell: its text; else empty."""
        return str(self.signs["command"] or "")

    @property
    def commands(self) -> list[str]:
        """Of a shell: its commands, one by one."""
        return list(self.signs["commands"] or ())

    @property
    def paths(self) -> list[str]:
        """Paths that its arguments or its command name."""
        return list(self.signs["paths"] or ())


class SeenTurn:
    """A turn with its calls, as the run shows it.

    Attributes:
        index: In the run, from 0.
        calls: What it requests, in order.
        signs: The columns of the view `features` for it, such as ``claims_tests_pass``.
    """

    __slots__ = ("__dict__", "_row", "calls", "index", "signs")

    def __init__(self, row: Mapping[str, Any], signs: Mapping[str, Any]) -> None:
        self._row = row
        self.signs = signs
        self.index: int = row["turn"]
        self.calls: list[SeenCall] = []

    @cached_property
    def role(self) -> str:
        """Who has the word: system, user or assistant."""
        return str(self._row["role"])

    @cached_property
    def origin(self) -> str:
        """Who really wrote it: human, harness, agent or environment."""
        return str(self.signs["origin"])

    @cached_property
    def text(self) -> str:
        """What it says, without reasoning."""
        return str(self._row["text"] or "")

    @property
    def is_human(self) -> bool:
        """Whether a person wrote it."""
        return self.role == "user" and self.origin == "human"

    @property
    def is_agent(self) -> bool:
        """Whether it is a turn of the agent's model."""
        return self.role == "assistant" and not self._row["synthetic"]

    @property
    def model(self) -> str | None:
        """The model that wrote it."""
        value: str | None = self._row["model"]
        return value

    @property
    def started_at(self) -> datetime | None:
        """When it began."""
        value: datetime | None = self._row["started_at"]
        return value


class Run:
    """Turns and calls of one trace, in order.

    Attributes:
        trace_id: Of the trace.
        turns: By index.
    """

    def __init__(self, rows: TraceRows) -> None:
        self.trace_id = rows.trace_id
        self._prompt = rows.system_prompt
        turn_signs: dict[int, Mapping[str, Any]] = {}
        call_signs: dict[int, Mapping[str, Any]] = {}
        for row in rows.features:
            if row["event"] == "turn":
                turn_signs[row["turn"]] = row
            else:
                call_signs[row["call"]] = row
        self.turns = [SeenTurn(row, turn_signs[row["turn"]]) for row in rows.turns]
        places = {turn.index: turn for turn in self.turns}
        for row in rows.calls:
            places[row["turn"]].calls.append(SeenCall(row, call_signs[row["call"]]))

    @classmethod
    def of(cls, trace: Trace, *, deriver: Deriver | None = None) -> Run:
        """Return a trace as a run.

        Args:
            trace: Any trace.
            deriver: Remembers tools from trace to trace; by default one is made.
        """
        return cls(rows_of_trace(trace, deriver=deriver))

    def calls(self, *, start: int = 0, before: int | None = None) -> Iterator[SeenCall]:
        """Yield the calls of the turns from one index up to, and without, another."""
        for turn in self.turns[start:before]:
            yield from turn.calls

    @cached_property
    def system_prompt(self) -> str:
        """What the system prompt says, empty without one; read when it is first asked for."""
        return self._prompt() or ""

    def call(self, index: int) -> SeenCall | None:
        """Return the call with an index among all calls, or None."""
        return self._by_index.get(index)

    @cached_property
    def _by_index(self) -> dict[int, SeenCall]:
        return {call.index: call for turn in self.turns for call in turn.calls}

    def next_agent_turn(self, after: int) -> SeenTurn | None:
        """Return the first turn of the agent's model after a turn, or None."""
        later = (self.turns[place] for place in range(after + 1, len(self.turns)))
        return next((turn for turn in later if turn.is_agent), None)
