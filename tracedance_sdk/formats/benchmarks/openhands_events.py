"""OpenHands' event streams: actions and observations, each an event with an id and a source.

An action of the agent is a call, asked for by the model response in its metadata; the observation
whose ``cause`` it is, its result. Events that are neither said nor done (states of the agent,
recalled knowledge) are kept in order under ``metadata["events"]``.
"""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.formats.benchmarks.openhands_results import failed_edit
from tracedance_sdk.formats.benchmarks.usages import usage_fields
from tracedance_sdk.formats.openai_tools import tools_from_chat
from tracedance_sdk.formats.places import Place, expect, optional
from tracedance_sdk.formats.transcript import Transcript, media_part, text_part
from tracedance_sdk.trace import UNKNOWN, Json, Origin, Role, ToolDefinition

_NOT_ARGUMENTS: Final = frozenset(
    {"thought", "confirmation_state", "hidden", "security_risk", "blocking", "is_input"}
)
_SPEAKERS: Final[dict[str, tuple[Role, Origin]]] = {
    "user": ("user", "human"),
    "agent": ("assistant", "agent"),
    "environment": ("user", "environment"),
}
_ASIDE: Final = frozenset({"null", "agent_state_changed", "recall", "change_agent_state"})


class EventLog:
    """Goes through a stream of events and says what it finds.

    Attributes:
        transcript: The turns.
        system_prompt: Of the run, where an event has it.
        tools: As recorded in that event.
        version: Of OpenHands.
        aside: Events that are no part of the conversation.
        finished: Whether the agent said it was done.
        started_at: Time of the first event, as ISO-8601 text.
        ended_at: Time of the last.
    """

    def __init__(self, place: Place) -> None:
        self.transcript = Transcript()
        self.system_prompt: str | None = None
        self.tools: list[ToolDefinition] = []
        self.version: str | None = None
        self.aside: list[Json] = []
        self.finished = False
        self.started_at: str | None = None
        self.ended_at: str | None = None
        self._place = place
        self._calls: dict[int, dict[str, Any]] = {}
        """Calls without a result, by the id of their event."""
        self._response: str | None = None
        """Id of the model response that the last turn stands for."""

    def take(self, event: dict[str, Any]) -> None:
        """Take the next event.

        Raises:
            Misfit: A field of another type.
        """
        time = _time(event)
        self.started_at = self.started_at or time
        self.ended_at = time or self.ended_at
        action, observation = optional(event, "action", str), optional(event, "observation", str)
        source = optional(event, "source", str)
        if action is not None and action not in _ASIDE:
            self._act(action, source, event)
        elif observation is not None and observation not in _ASIDE:
            self._observe(observation, event)
        else:
            self.aside.append(event)

    def _act(self, action: str, source: str | None, event: dict[str, Any]) -> None:
        args = optional(event, "args", dict) or {}
        asked = optional(event, "tool_call_metadata", dict)
        if action == "system":
            self._set_up(args)
        elif action == "message" and asked is None:
            self._speak(source, args, event)
        elif source == "agent":
            self.finished = self.finished or action == "finish"
            self._reply(args, asked, event)
            self._request(action, args, asked, event)
        elif source == "user":
            self.transcript.say("user", origin="human", started_at=_time(event))
            self._request(action, args, asked, event, is_users=True)
        else:
            self.aside.append(event)

    def _set_up(self, args: dict[str, Any]) -> None:
        self.system_prompt = optional(args, "content", str)
        self.version = optional(args, "openhands_version", str)
        self.tools = tools_from_chat(args.get("tools"), self._place.at("tools"))

    def _speak(self, source: str | None, args: dict[str, Any], event: dict[str, Any]) -> None:
        text = optional(args, "content", str) or ""
        parts = [text_part(text)] if text else []
        for image in optional(args, "image_urls", list) or []:
            uri = image if isinstance(image, str) else None
            parts.append(media_part("image", uri=uri, data=UNKNOWN if uri else image))
        self._response = None
        role, origin = _SPEAKERS.get(source or "", _SPEAKERS["environment"])
        kept = {k: v for k, v in args.items() if k not in ("content", "image_urls")}
        self.transcript.say(
            role,
            parts,
            origin=origin,
            started_at=_time(event),
            openhands={**_told(event, text), "args": kept},
        )

    def _reply(
        self, args: dict[str, Any], asked: dict[str, Any] | None, event: dict[str, Any]
    ) -> None:
        """Open the agent's turn, unless this is another call of the same model response."""
        response = optional(asked or {}, "model_response", dict) or {}
        identity = optional(response, "id", str)
        last = self.transcript.last
        is_same = identity is not None and identity == self._response
        if is_same and last is not None and last["role"] == "assistant":
            return
        self._response = identity
        choice = _first(response.get("choices"))
        message = optional(choice, "message", dict) or {}
        text = message.get("content") or args.get("thought")
        known = ("choices", "usage", "model")
        beyond = {k: v for k, v in response.items() if k not in known and v is not None}
        self.transcript.say(
            "assistant",
            text if isinstance(text, str) else None,
            origin="agent",
            model=optional(response, "model", str),
            finish_reason=optional(choice, "finish_reason", str),
            usage=usage_fields(response.get("usage")),
            started_at=_time(event),
            openhands={"response": beyond} if beyond else None,
        )

    def _request(
        self,
        action: str,
        args: dict[str, Any],
        asked: dict[str, Any] | None,
        event: dict[str, Any],
        *,
        is_users: bool = False,
    ) -> None:
        call_id = optional(asked or {}, "tool_call_id", str)
        name = optional(asked or {}, "function_name", str)
        text = _written_arguments(asked or {}, call_id)
        given = {key: item for key, item in args.items() if key not in _NOT_ARGUMENTS}
        call = self.transcript.request(
            name or action,
            call_id=call_id,
            arguments=UNKNOWN if text is not None else given,
            text=text,
            requested_by="user" if is_users else "agent",
            started_at=_time(event),
            openhands={
                "action": action,
                "args": args,
                **_told(event),
            },
        )
        identity = event.get("id")
        if isinstance(identity, int):
            self._calls[identity] = call

    def _observe(self, kind: str, event: dict[str, Any]) -> None:
        cause = event.get("cause")
        call = self._calls.pop(cause, None) if isinstance(cause, int) else None
        asked = optional(event, "tool_call_metadata", dict) or {}
        call_id = call["id"] if call is not None else optional(asked, "tool_call_id", str)
        content = event.get("content")
        extras = optional(event, "extras", dict) or {}
        if call_id is None:
            self.transcript.say(
                "user",
                content if isinstance(content, str) else None,
                origin="environment",
                started_at=_time(event),
                openhands={"observation": kind, "extras": extras, **_told(event, content)},
            )
            return
        self.transcript.answer(
            call_id,
            name=optional(asked, "function_name", str),
            content=UNKNOWN if "content" not in event else content,
            ended_at=event.get("timestamp"),
            openhands={"observation": kind, "extras": extras, **_told(event, content)},
            **_success(kind, event, extras),
        )


def _told(event: dict[str, Any], content: Json = None) -> dict[str, Json]:
    """Return what an event says of itself beyond what it says or does."""
    wanted = ("id", "timeout", "llm_metrics")
    found: dict[str, Json] = {key: event[key] for key in wanted if key in event}
    summary = event.get("message")
    return found if summary in (None, "", content) else {**found, "message": summary}


def _success(kind: str, event: dict[str, Any], extras: dict[str, Any]) -> dict[str, Any]:
    told = extras.get("metadata")
    code = told.get("exit_code") if isinstance(told, dict) else extras.get("exit_code")
    has_code = isinstance(code, int) and not isinstance(code, bool)
    success = event.get("success")
    content = event.get("content")
    text = content if isinstance(content, str) else ""
    if kind == "error":
        return {"ok": False, "error": {"type": "error", "message": text}}
    if not isinstance(success, bool) and not has_code:
        return failed_edit(text)
    ok = success if isinstance(success, bool) else code == 0
    return {"ok": ok, "exit_code": code if has_code else None}


def _written_arguments(asked: dict[str, Any], call_id: str | None) -> str | None:
    """Return the arguments of a call as the model wrote them."""
    response = optional(asked, "model_response", dict) or {}
    message = optional(_first(response.get("choices")), "message", dict) or {}
    for entry in optional(message, "tool_calls", list) or []:
        fields = expect(entry, dict)
        if fields.get("id") == call_id:
            return optional(optional(fields, "function", dict) or {}, "arguments", str)
    return None


def _first(choices: Json) -> dict[str, Any]:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _time(event: dict[str, Any]) -> str | None:
    return optional(event, "timestamp", str)
