"""What integrations know of a run's conversation, so that every message is recorded once."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from tracedance_sdk.formats import (
    SUBAGENT_TASK,
    Heard,
    Message,
    ModelRequest,
    SeenCall,
    SeenResult,
)
from tracedance_sdk.formats import read_arguments as read_text
from tracedance_sdk.recording.calls import start_call
from tracedance_sdk.recording.describing import describe_further
from tracedance_sdk.recording.failures import Failure
from tracedance_sdk.recording.identifiers import new_call_id
from tracedance_sdk.recording.scopes import scope_in
from tracedance_sdk.recording.told_calls import ToldCall
from tracedance_sdk.recording.values import freeze
from tracedance_sdk.trace import UNKNOWN, Json

if TYPE_CHECKING:
    from tracedance_sdk.recording.runs import Run
    from tracedance_sdk.recording.turns import TurnLog
    from tracedance_sdk.trace import Role, Turn


_MOST_WAITING: Final = 1000
"""Calls whose arguments are remembered until somebody tells their result."""


_ALL_BEFORE: Final = "before"
"""What a request follows that repeats nothing, and has no reply to name."""


class Shown(NamedTuple):
    """What a model was shown, of what its run has told.

    Attributes:
        continues: It is what was told before, and what was new.
        told: How many turns had been told by then.
    """

    continues: bool
    told: int


class Talk:
    """The conversation of one run, as its models were shown it.

    Every request repeats what came before; what is new in it becomes turns, and results of calls
    that nobody saw being made. Safe to use from several threads.
    """

    def __init__(self, run: Run, turns: TurnLog) -> None:
        self._run = run
        self._turns = turns
        self._heard = Heard()
        self._lock = threading.RLock()
        self._is_telling = False
        self._told = 0
        # None where the last reply has no id that is known.
        self._last_reply: str | None = ""
        self._described: tuple[str | None, Sequence[Mapping[str, Any]]] = None, ()
        # By call: what it was asked with, and whether that surely holds nothing to mask.
        self._arguments: dict[str, tuple[Json, bool]] = {}
        # Whoever called a sub-agent wrote all that it is asked before it says something.
        self._wants_task = run.identity.parent_call_id is not None
        for waiting in turns.waiting:
            self._overhear(waiting.told)
        turns.told = self._overhear

    def hear(self, request: ModelRequest, *, is_asked: bool = False) -> Shown:
        """Record what is new in a request, and return what its model was shown.

        Args:
            request: The request, or a conversation that no model is asked about.
            is_asked: A model is asked: it answers the last message.
        """
        with self._lock:
            self._describe(request)
            after_all = request.follows is not None
            new = self._heard.new_in(request.messages, after_all=after_all, is_asked=is_asked)
            if self._wants_task and any(m.speaker == "assistant" for m in request.messages):
                self._wants_task = False  # It was handed a conversation, not a task.
            for message in new:
                self._tell(message)
            follows_others = self._last_reply is not None and request.follows not in (
                None,
                _ALL_BEFORE,
                self._last_reply,
            )
            return Shown(self._heard.is_whole and not follows_others, self._told)

    def _describe(self, request: ModelRequest) -> None:
        """Put on record what the request tells of its agent, unless the last one told the same."""
        told = request.system, request.tools
        if told[0] != self._described[0] or (told[1] and told[1] != self._described[1]):
            describe_further(self._run, system_prompt=request.system, tools=request.tools)
            self._described = told

    def answer(self, message: Message, facts: dict[str, Any], *, shown: Shown) -> None:
        """Record what a model said.

        Args:
            message: Its reply.
            facts: Further fields of the turn.
            shown: What it was shown.
        """
        with self._lock:
            self._wants_task = self._wants_task and not message.pieces
            self._heard.remember(message)
            if "error" not in facts:
                self._last_reply = facts.get("response_id")
            if not shown.continues or shown.told != self._told:
                # Other turns came in between, or what it was shown is not the turns before.
                facts = {**facts, "context_rewritten": True}
            self._record("assistant", message.parts, message.calls, name=message.name, **facts)
            for result in message.results:
                # Of calls that the provider made itself, such as a search of the web.
                self._take(result)

    def other_prompt(self, system: str | None) -> str | None:
        """Return the system prompt of a request where it is not the run's."""
        return None if system == self._run.description.system_prompt else system

    def _tell(self, message: Message) -> None:
        results, speaker = message.results, message.speaker
        if speaker == "assistant":
            self._say("assistant", message, {"copied_context": True})
        for result in results:
            self._take(result)
        if speaker == "tool":
            self._say("user", message, {"origin": "environment"})
        elif speaker != "assistant":
            self._say(speaker, message, self._of_user() if speaker == "user" else {})

    def _of_user(self) -> dict[str, Any]:
        """Return who wrote a user's message: before a sub-agent's first reply, its caller did."""
        if not self._wants_task:
            return {}
        return {"origin": "agent", "origin_rule": SUBAGENT_TASK}

    def _say(self, role: Role, message: Message, facts: dict[str, Any]) -> None:
        """Record what a message says beside results, if it does."""
        parts, calls = message.parts, message.calls
        if parts or calls:
            self._record(role, parts, calls, name=message.name, **facts)

    def _record(
        self, role: Role, parts: Iterable[object], asked: Iterable[SeenCall], **facts: Any
    ) -> None:
        calls = [_request(call) for call in asked]
        self._told += 1
        self._is_telling = True
        is_clean = False
        try:
            is_clean = self._turns.record(role, parts, calls, is_lasting=True, **facts)
        finally:
            self._is_telling = False
            for call in calls:
                self._arguments[call["id"]] = call.get("arguments"), is_clean
            while len(self._arguments) > _MOST_WAITING:
                del self._arguments[next(iter(self._arguments))]

    def _take(self, result: SeenResult) -> None:
        """Record a result that only a message told: its call was made where nobody looked."""
        asked = self._run.ledger.unanswered(result.call_id)
        if asked is None:
            return
        arguments, is_clean = self._arguments.pop(asked.id or "", (None, False))
        scope = scope_in(self._run)
        if scope.call_id is not None:
            scope = self._run.root
        call = start_call(
            scope,
            asked.name,
            arguments,
            form=ToldCall,
            call_id=asked.id,
            as_requested=True,
            is_clean=is_clean,
        )
        if result.ok is None and result.error is None:
            call.end_now(None if result.content is UNKNOWN else result.content)
            return
        content = None if result.content is UNKNOWN else self._text(result.content)
        call.finish(content, ok=result.ok, failure=_failure(result))

    def _text(self, content: Json) -> str:
        return self._run.text(freeze(content))

    def _overhear(self, told: Mapping[str, Any]) -> None:
        """Take a turn that was reported by hand."""
        if not self._is_telling:
            self._told += 1
            self._heard.remember(_message(told))


def talk_of(run: Run) -> Talk:
    """Return the conversation of a run; made when first asked for.

    Raises:
        RuntimeError: The run has not begun.
    """
    talk: Talk | None = run.talk
    if talk is None:
        if run.turns is None:
            raise RuntimeError("the run has not begun")
        talk = run.talk = Talk(run, run.turns)
    return talk


def _failure(result: SeenResult) -> Any:
    if result.error is not None:
        kind, text = result.error.get("type", "ToolError"), result.error.get("message", "")
        return Failure(kind, text, interrupted=False)
    if result.ok is False:
        return Failure("ToolError", str(result.content), interrupted=False)
    return None


def _request(call: SeenCall) -> dict[str, Any]:
    found: dict[str, Any] = {"id": call.id or new_call_id(), "name": call.name}
    if call.text is not None:
        arguments, raw = read_text(call.text)
        if arguments is not UNKNOWN:
            found["arguments"] = arguments
        if raw is not None:
            found["raw_arguments"] = raw
    elif call.arguments is not UNKNOWN:
        # They may be part of a message that the program goes on to change.
        found["arguments"] = orjson.loads(freeze(call.arguments))
    return found


def _message(document: Mapping[str, Any]) -> Message:
    """Return the document of a turn as the message it was."""
    calls = (
        SeenCall(
            call["name"], call["id"], call.get("arguments", UNKNOWN), call.get("raw_arguments")
        )
        for call in document["calls"]
    )
    return Message(document["role"], (*document["content"], *calls), document.get("name"))


def pieces_of(turn: Turn) -> Message:
    """Return a turn as the message it was."""
    calls: Iterable[SeenCall] = (
        SeenCall(call.name, call.id, call.arguments, call.raw_arguments) for call in turn.calls
    )
    parts: Sequence[Any] = [part.model_dump(exclude_none=True) for part in turn.content]
    return Message(turn.role, (*parts, *calls), turn.name)
