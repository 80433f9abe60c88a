"""One agent of a session, Claude Code itself or a sub-agent: its answers and its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from tracedance_sdk.formats import Message, ModelRequest, read_message, turn_from_anthropic
from tracedance_sdk.recording.calls import start_call
from tracedance_sdk.recording.failures import Failure
from tracedance_sdk.recording.integrating import (
    AgentOperation,
    ModelCall,
    ModelReply,
    overhear,
    reply_of,
    start_model_call,
)
from tracedance_sdk.recording.scopes import find_scope
from tracedance_sdk.recording.shared_calls import SharedCall

_ERROR: Final = "ToolError"


class ModelRequestFailed(Exception):
    """Claude Code gave up asking the model; the message is its own."""


class ClaudeCall(SharedCall):
    """A call of Claude Code's, whose tools of the program's own are called by longer names."""

    __slots__ = ()

    def is_made_by(self, name: str, *, prefixed: bool = True) -> bool:
        """Whether a function of this name, called here, is the body of this call."""
        return super().is_made_by(name, prefixed=prefixed)


class Speaker:
    """One agent at work.

    What the SDK is sent comes block by block; an answer is recorded once something else comes, and
    only then the start of the calls in it, so that they find the turn that asks for them.

    Args:
        operation: Its run.
        system: Its system prompt, where known.
        tools: Returns the definitions of its tools that are known.
    """

    def __init__(
        self,
        operation: AgentOperation,
        *,
        system: str | None,
        tools: Callable[[], Sequence[Mapping[str, Any]]],
    ) -> None:
        self.calls: dict[str, ClaudeCall] = {}
        self._operation = operation
        self._system = system
        self._tools = tools
        self._said: dict[str, Any] | None = None
        self._call: ModelCall | None = None
        self._waiting: list[dict[str, Any]] = []
        self._asked: set[str] = set()
        self._is_over = False

    def within(self, action: Callable[[], Any]) -> Any:
        """Do something while the agent's run is the current one."""
        tokens = self._operation.enter()
        try:
            return action()
        finally:
            self._operation.leave(tokens)

    def hear(self, message: Message | None) -> None:
        """Take what the agent is told."""
        self.pause()
        if message is not None:
            self.within(lambda: overhear(lambda: ModelRequest((message,), follows="before")))

    def say(self, message: dict[str, Any], *, is_failure: bool) -> None:
        """Take a part of what its model says."""
        if self._said is not None and self._said["id"] != message.get("id"):
            self.pause()
        if self._said is None:
            asked = ModelRequest((), self._system, self._tools(), follows="before")
            self._call = self.within(lambda: start_model_call(lambda: asked))
            self._said = {**message, "id": message.get("id"), "content": []}
            self._said["usage"] = {**(message.get("usage") or {})}
            # What it is when an answer begins.
            self._said["usage"].pop("output_tokens", None)
        blocks = message.get("content") or []
        self._said["content"] += blocks
        self._asked.update(block["id"] for block in blocks if block.get("type") == "tool_use")
        if is_failure:
            self._fail()

    def learn(self, event: dict[str, Any]) -> None:
        """Take an event of the model's stream, which only some programs ask for."""
        if self._said is not None and event.get("type") == "message_delta":
            self._said["usage"] |= event.get("usage") or {}
            self._said["stop_reason"] = (event.get("delta") or {}).get("stop_reason")

    def pause(self) -> None:
        """Record the answer that has come, and the calls that have begun in it."""
        said, call, self._said, self._call = self._said, self._call, None, None
        if said is not None and call is not None:
            self.within(lambda: call.succeed(partial(_reply, said)))
        waiting, self._waiting = self._waiting, []
        for asked in waiting:
            self.begin(asked)

    def _is_recorded(self, call_id: str) -> bool:
        """Whether the answer that asks for a call is on record."""
        said = self._said["content"] if self._said is not None else ()
        return call_id in self._asked and all(block.get("id") != call_id for block in said)

    def begin(self, asked: dict[str, Any]) -> None:
        """Take the beginning of a call, of which a hook tells."""
        if self._is_recorded(asked["tool_use_id"]):
            self.within(lambda: self._start(asked))
        else:
            self._waiting.append(asked)

    def finish(self, asked: dict[str, Any]) -> None:
        """Take the end of a call, of which a hook tells."""
        self.pause()
        call_id = asked["tool_use_id"]
        if call_id not in self._asked:
            # No answer that asks for it was sent.
            self._asked.add(call_id)
            self.pause()
        call = self.calls.pop(call_id, None)
        if call is None:
            return
        if "error" not in asked:
            call.succeed(asked.get("tool_response"))
            return
        text = str(asked["error"])
        cut = asked.get("is_interrupt") is True
        call.fail_softly(text, Failure(_ERROR, text, interrupted=cut))

    def answered(self, block: dict[str, Any]) -> None:
        """Take the result of a call of whose end no hook told, such as one that was forbidden."""
        call = self.calls.pop(str(block.get("tool_use_id")), None)
        if call is None:
            return
        content = block.get("content")
        if block.get("is_error") is True:
            call.fail_softly(content, Failure(_ERROR, str(content), interrupted=False))
        else:
            call.succeed(content)

    def end(self) -> None:
        """End: what it was about to say is recorded."""
        if not self._is_over:
            self.pause()
            self._is_over = True
            self._operation.exhaust()

    def _start(self, asked: dict[str, Any]) -> None:
        scope = find_scope()
        if scope is not None:
            call_id = asked["tool_use_id"]
            self.calls[call_id] = start_call(
                scope, asked["tool_name"], asked.get("tool_input"), form=ClaudeCall, call_id=call_id
            )

    def _fail(self) -> None:
        said, call, self._said, self._call = self._said, self._call, None, None
        texts = [block.get("text") or "" for block in (said or {}).get("content", ())]
        if call is not None:
            error = ModelRequestFailed("\n".join(texts))
            self.within(lambda: call.fail(error))


def _reply(said: dict[str, Any]) -> ModelReply:
    turn = turn_from_anthropic({**said, "type": "message", "role": "assistant"})
    return reply_of(turn, response_id=said["id"])


def prompt(text: str) -> Message | None:
    """Return what a user says as a message."""
    return read_message({"role": "user", "content": text})
