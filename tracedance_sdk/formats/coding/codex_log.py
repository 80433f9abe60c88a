"""A Codex session while it is read: which turn is open, and which event belongs to which call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from tracedance_sdk.formats.coding.codex_outputs import Ending
from tracedance_sdk.formats.coding.lenient import count_at, object_at, objects_at, rest, text_at
from tracedance_sdk.formats.coding.session import Session
from tracedance_sdk.trace import UNKNOWN, Json

_SCHEMAS: Final = ("parameters", "inputSchema", "input_schema")
_SETTINGS: Final = ("effort", "summary", "service_tier")
_MOST_TOOLS: Final = 10_000


class CodexLog(Session):
    """The turns of a Codex session.

    Codex records items one by one. A turn of the model's is what it says and asks for until
    something comes back to it, or until the tokens of its answer are counted. Where it goes on
    after a result and no tokens were counted in between, the border is a guess, and noted.
    """

    def __init__(self) -> None:
        super().__init__("codex")
        self.model: str | None = None
        self.settings: dict[str, Json] = {}
        self.tools: dict[str, dict[str, Json]] = {}
        self._is_open = False
        self._is_counted = True
        self._total: Json = None
        self._eventless: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self._endings: list[tuple[dict[str, Any], Ending]] = []
        self._opened: dict[str, Any] | None = None
        """The turn of the model's that was opened last."""
        self._stopped: list[dict[str, Any]] = []
        """The turns that were cut short."""

    def open_turn(self, at: str | None) -> dict[str, Any]:
        """Return the model's open turn; a new one where none is open."""
        last = self.last
        if self._is_open and last is not None:
            if at is not None:
                last["ended_at"] = at
            return last
        if not self._is_counted:
            self.note("boundary_guessed", f"turns[{len(self.turns)}]")
        self._is_open, self._is_counted = True, False
        settings = dict(self.settings) or None
        self._opened = self.say(
            "assistant", origin="agent", model=self.model, settings=settings, started_at=at
        )
        return self._opened

    def heard(self) -> None:
        """End the model's turn at a message to it, which leaves no doubt about the border."""
        self._is_open, self._is_counted = False, True

    def call(self, name: str, call_id: str | None, **fields: Any) -> dict[str, Any]:
        """Add a call to the last turn, and expect its event."""
        call = self.request(name, call_id=call_id, **fields)
        self._eventless[call["id"]].append(call)
        return call

    def end(
        self,
        call_id: str | None,
        ending: Ending,
        *,
        name: str | None = None,
        closes: bool = True,
        **extra: Any,
    ) -> None:
        """Add what an item says of a call's end to the call.

        Args:
            call_id: The call's id.
            ending: What the item says.
            name: The tool's name, where the item has it.
            closes: The model's turn ends here.
            **extra: Further fields of the client's own for the result.
        """
        self.answer(
            call_id,
            name=name,
            content=ending.content,
            ok=ending.ok,
            exit_code=ending.exit_code,
            interrupted=ending.interrupted or None,
            **self.own(extra),
        )
        call = self.answered
        if call is not None:
            if ending.duration_ms is not None:
                call.setdefault("duration_ms", ending.duration_ms)
            if call.get("bound_by") == "synthetic":
                self._eventless[call["id"]].append(call)
        if closes:
            self._is_open = False

    def expecting(self, call_id: str | None) -> dict[str, Any] | None:
        """Return the latest call of an id that no event was found for; None when there is none."""
        waiting = self._eventless.get(call_id or "")
        return waiting.pop() if waiting else None

    def ended(self, call: dict[str, Any], ending: Ending) -> None:
        """Remember what an event says of a call's end: what its output does not say is added."""
        self._endings.append((call, ending))

    def count(self, info: Mapping[str, Any]) -> bool:
        """Take the count of the tokens of one answer; return whether it is one not yet taken."""
        total, usage = info.get("total_token_usage"), object_at(info, "last_token_usage")
        if not usage or (total is not None and total == self._total):
            return False
        self._total = total
        self._is_open, self._is_counted = False, True
        turn = self._opened
        if turn is None or "usage" in turn:
            return False
        turn["usage"] = read_usage(usage)
        return True

    def stop(self) -> None:
        """Mark the last turn's calls as cut short, unless their results come after all."""
        if self._opened is not None and all(
            self._opened is not turn for turn in self._stopped[-1:]
        ):
            self._stopped.append(self._opened)

    def settle(self) -> None:
        """Put together what items and events said of each call."""
        for call, ending in self._endings:
            _merge(call, ending)
        for call in (call for turn in self._stopped for call in turn["calls"]):
            if call.get("codex", {}).get("status") != "completed":
                call.setdefault("result", {"ok": None, "interrupted": True})

    def offer(self, value: Json) -> None:
        """Take the definitions of tools out of a list, or a group of lists."""
        pending = [value]
        while pending and len(self.tools) < _MOST_TOOLS:
            item = pending.pop()
            if isinstance(item, list):
                pending.extend(reversed(item))
            elif isinstance(item, dict) and "tools" in item:
                pending.append(objects_at(item, "tools"))
            elif isinstance(item, dict) and (name := text_at(item, "name")) is not None:
                self.tools.setdefault(name, self._definition(name, item))

    def _definition(self, name: str, item: Mapping[str, Any]) -> dict[str, Json]:
        schema = next((item[key] for key in _SCHEMAS if isinstance(item.get(key), dict)), None)
        found: dict[str, Json] = {"name": name, "origin": "recorded"}
        found |= self.own(rest(item, "name", "description", "type", *_SCHEMAS))
        if (description := text_at(item, "description")) is not None:
            found["description"] = description
        if schema is not None:
            found["parameters"] = schema
        return found

    def set_context(self, context: Mapping[str, Any]) -> None:
        """Take the model and its settings for the turns to come."""
        self.model = text_at(context, "model") or self.model
        found = {key: context.get(key) for key in _SETTINGS}
        self.settings = {key: value for key, value in found.items() if value is not None}


def read_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usage of one answer; cached tokens are part of the input already."""
    found = {
        "input_tokens": count_at(usage, "input_tokens"),
        "output_tokens": count_at(usage, "output_tokens"),
        "cache_read_tokens": count_at(usage, "cached_input_tokens"),
        "cache_write_tokens": count_at(usage, "cache_write_input_tokens"),
        "reasoning_tokens": count_at(usage, "reasoning_output_tokens"),
    }
    return {key: value for key, value in found.items() if value is not None}


def _merge(call: dict[str, Any], ending: Ending) -> None:
    result = call.setdefault("result", {"ok": None})
    if "content" not in result and ending.content is not UNKNOWN:
        result["content"] = ending.content
    if result["ok"] is None:
        result["ok"] = ending.ok
    if ending.exit_code is not None:
        result.setdefault("exit_code", ending.exit_code)
    if ending.error is not None:
        result.setdefault("error", ending.error)
    if ending.duration_ms is not None:
        call["duration_ms"] = ending.duration_ms
