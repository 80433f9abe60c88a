"""Agent Data Protocol: trajectories of many data sets in one standard form.

An item is an action (of an API, of code, or a message) or an observation. What the agent thought
beside an action (``description``) is text of its turn, and the next observation is the result.
"""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.formats.benchmarks.stepping import take_each
from tracedance_sdk.formats.places import Place, field, optional
from tracedance_sdk.formats.transcript import Transcript, text_part
from tracedance_sdk.trace import (
    UNKNOWN,
    Json,
    Outcome,
    Source,
    Trace,
    imported_trace_id,
    source_digest,
)

NAME: Final = "adp"

_SHELLS: Final = frozenset({"bash", "sh", "shell"})
_VERDICTS: Final = ("resolved", "target", "success")


def trace_from_adp(record: Json, place: Place, *, uri: str | None = None) -> Trace:
    """Build the trace of a trajectory in standard form.

    Args:
        record: ``{id, content, details}``.
        place: Where it stands, for errors.
        uri: The file.

    Raises:
        InvalidTrace: No such record.
        Misfit: An item of another shape.
    """
    fields = place.expect(record, dict)
    native_id = place.field(fields, "id", str)
    items = place.field(fields, "content", list)
    details = optional(fields, "details", dict) or {}
    model = optional(details, "model_name", str) or optional(details, "model", str)
    log = _Log(model)
    take_each(items, log.take, "content")
    is_swe_agent = (model or "").startswith("swe-agent")
    return log.turns.trace(
        imported_trace_id(NAME, source_digest(items), native_id),
        where=place.where,
        group=native_id,
        task_id=native_id,
        agent={"name": "swe-agent"} if is_swe_agent else None,
        outcome=_outcome(details),
        source=Source(collector=NAME, uri=uri, native_id=native_id),
        metadata={k: v for k, v in fields.items() if k not in ("id", "content", "details")},
    )


def _outcome(details: dict[str, Any]) -> Outcome | None:
    if not details:
        return None
    found = [details[key] for key in _VERDICTS if isinstance(details.get(key), bool)]
    return Outcome(success=found[0] if found else None, details=details)


class _Log:
    def __init__(self, model: str | None) -> None:
        self.turns = Transcript()
        self._model = model
        self._open = False
        """Whether the last turn's call has no result yet."""
        self._has_begun = False

    def take(self, _index: int, item: dict[str, Any]) -> None:
        kind = field(item, "class_", str)
        if kind == "api_action":
            name = field(item, "function", str)
            self._act(item, name, item.get("kwargs", UNKNOWN), known=("function", "kwargs"))
        elif kind == "code_action":
            language = optional(item, "language", str) or "code"
            word = "command" if language in _SHELLS else "code"
            arguments = {word: item.get("content")}
            self._act(item, language, arguments, known=("language", "content"))
        elif kind == "message_action":
            self._speak(item, optional(item, "content", str), known=("content",))
            self._open = False
        else:
            self._observe(kind, item)

    def _speak(self, item: dict[str, Any], text: str | None, *, known: tuple[str, ...]) -> None:
        self._has_begun = True
        thought = optional(item, "description", str)
        kept = {k: v for k, v in item.items() if k not in ("description", *known)}
        self.turns.say(
            "assistant",
            [text_part(part) for part in (thought, text) if part],
            origin="agent",
            model=self._model,
            adp=kept,
        )

    def _act(
        self, item: dict[str, Any], name: str, arguments: Json, *, known: tuple[str, ...]
    ) -> None:
        self._speak(item, None, known=known)
        self.turns.request(name, arguments=arguments)
        self._open = True

    def _observe(self, kind: str, item: dict[str, Any]) -> None:
        text = optional(item, "content", str)
        is_text = kind == "text_observation" and text is not None
        kept = {k: v for k, v in item.items() if k != "content" and v is not None}
        if self._open:
            self._open = False
            self.turns.answer(content=text if is_text else item, adp=kept if is_text else None)
            return
        is_users = optional(item, "source", str) == "user"
        self.turns.say(
            "user",
            text,
            origin="human" if not self._has_begun else "harness" if is_users else "environment",
            adp=kept,
        )
