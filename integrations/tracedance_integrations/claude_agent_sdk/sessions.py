"""A conversation with Claude Code: everything that it sends, in the order in which it does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import wrapt

from tracedance_integrations.claude_agent_sdk.speakers import ClaudeCall, Speaker, prompt
from tracedance_sdk.formats import read_message
from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating import start_agent
from tracedance_sdk.recording.scopes import find_scope, open_runs

_AGENT: Final = "claude-code"
_EVENTS: Final = (
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SubagentStop",
)  # fmt: skip

_SESSIONS: Final[WeakKeyDictionary[Any, Session]] = WeakKeyDictionary()


async def _note(_: object, __: object, ___: object) -> dict[str, Any]:
    """Answer nothing: what a hook tells is read where it comes in."""
    return {}


def listen(query: Any) -> None:
    """Have a conversation that is about to begin recorded, if a recorder is open here."""
    if query in _SESSIONS or not open_runs or find_scope() is None:
        return
    session = Session(query)
    query.hooks = {
        **query.hooks,
        **{e: [*query.hooks.get(e, ()), {"matcher": None, "hooks": [_note]}] for e in _EVENTS},
    }
    query.transport = _Heard(query.transport, session)
    _SESSIONS[query] = session


def session_of(query: Any) -> Session | None:
    """Return the session of a conversation that is recorded."""
    return _SESSIONS.get(query)


class _Heard(wrapt.ObjectProxy[Any]):
    """The transport of a conversation, whose messages the session is shown."""

    def __init__(self, transport: Any, session: Session) -> None:
        super().__init__(transport)
        self._self_session = session

    def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yield what comes."""
        return self._heard(self.__wrapped__.read_messages())

    async def _heard(self, messages: Any) -> AsyncIterator[dict[str, Any]]:
        async for message in messages:
            GUARD.attempt("message", PROCESS_FAULTS, self._self_session.take, message)
            yield message


class Session:
    """What is known of one conversation.

    Args:
        query: The SDK's object that holds it.
    """

    def __init__(self, query: Any) -> None:
        # Not the query itself, which would then never be freed.
        self._callbacks = query.hook_callbacks
        self._agents: Mapping[str, Any] = getattr(query, "_agents", None) or {}
        self._tools: dict[str, dict[str, Any]] = {}
        self._tasks: dict[str, dict[str, Any]] = {}
        self._main = Speaker(
            start_agent(_AGENT),
            system=_system_prompt(getattr(query.transport, "_options", None)),
            tools=lambda: list(self._tools.values()),
        )
        self._subs: dict[str, Speaker] = {}
        self._by_agent: dict[str, Speaker] = {}
        self._asking: dict[str, Speaker] = {}

    def take(self, message: dict[str, Any]) -> None:
        """Take what Claude Code sends."""
        kind = message.get("type")
        if kind == "control_request":
            self._asked(message.get("request") or {})
        elif kind == "stream_event":
            self._speaker(message).learn(message.get("event") or {})
        elif kind == "assistant":
            self._say(message)
        elif kind == "user":
            self._tell(message)
        elif kind == "result":
            self._pause()

    def end(self) -> None:
        """End, whatever is still open."""
        for speaker in (*self._subs.values(), self._main):
            GUARD.attempt("end", PROCESS_FAULTS, speaker.end)

    def call_of(self, _: str, message: Mapping[str, Any]) -> ClaudeCall | None:
        """Return the open call that a request to one of the program's own servers is about."""
        meta = (message.get("params") or {}).get("_meta") or {}
        call_id = str(meta.get("claudecode/toolUseId"))
        calls = (s.calls.get(call_id) for s in (self._main, *self._subs.values()))
        return next((call for call in calls if call is not None), None)

    def take_answer(self, answer: Any, server: str, message: Mapping[str, Any]) -> None:
        """Take the definitions of tools that one of the program's own servers lists."""
        if message.get("method") != "tools/list" or not isinstance(answer, dict):
            return
        for tool in (answer.get("result") or {}).get("tools", ()):
            name = f"mcp__{server}__{tool['name']}"
            definition = {
                "name": name,
                "description": tool.get("description"),
                "parameters": tool.get("inputSchema"),
            }
            self._tools[name] = {k: v for k, v in definition.items() if v is not None}

    def _asked(self, request: dict[str, Any]) -> None:
        """Take what Claude Code asks the program: to run a hook, or a tool of its own."""
        if request.get("subtype") == "mcp_message":
            self._pause()
        elif self._callbacks.get(str(request.get("callback_id"))) is _note:
            self._hook(request.get("input") or {})

    def _hook(self, told: dict[str, Any]) -> None:
        event = told.get("hook_event_name")
        speaker = self._asking.get(str(told.get("tool_use_id"))) or self._by_agent.get(
            str(told.get("agent_id")), self._main
        )
        if event == "PreToolUse":
            self._tasks[told["tool_use_id"]] = told.get("tool_input") or {}
            speaker.begin(told)
        elif event in ("PostToolUse", "PostToolUseFailure"):
            speaker.finish(told)
        elif event == "UserPromptSubmit":
            speaker.hear(prompt(str(told.get("prompt"))))
        elif event == "SubagentStop" and speaker is not self._main:
            speaker.end()
        else:
            speaker.pause()

    def _say(self, message: dict[str, Any]) -> None:
        # Older versions only say which sort of error of the API it was.
        failed = message.get("is_api_error_message") is True or bool(message.get("error"))
        speaker, said = self._speaker(message), message.get("message") or {}
        for block in said.get("content") or ():
            if block.get("type") == "tool_use":
                self._asking[block["id"]] = speaker
        speaker.say(said, is_failure=failed)

    def _tell(self, message: dict[str, Any]) -> None:
        """Take what the model is told: results, and what the harness writes."""
        speaker = self._speaker(message)
        inner = message.get("message") or {}
        blocks = inner.get("content")
        speaker.pause()
        for block in blocks if isinstance(blocks, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_result":
                speaker.answered(block)
        speaker.hear(read_message(inner))

    def _pause(self) -> None:
        for speaker in (self._main, *self._subs.values()):
            speaker.pause()

    def _speaker(self, message: dict[str, Any]) -> Speaker:
        """Return the agent that a message is of."""
        call_id = message.get("parent_tool_use_id")
        if not isinstance(call_id, str):
            return self._main
        if call_id not in self._subs:
            self._subs[call_id] = self._begun(call_id, message)
        speaker = self._subs[call_id]
        self._by_agent.setdefault(str(message.get("agent_id")), speaker)
        return speaker

    def _begun(self, call_id: str, message: dict[str, Any]) -> Speaker:
        task = self._tasks.get(call_id, {})
        name = str(message.get("subagent_type") or task.get("subagent_type") or "sub-agent")
        defined = self._agents.get(name) or {}
        operation = self._main.within(lambda: start_agent(name, call_id=call_id))
        speaker = Speaker(
            operation,
            system=defined.get("prompt"),
            tools=lambda: _allowed(self._tools, defined.get("tools")),
        )
        if message.get("type") != "user" and isinstance(task.get("prompt"), str):
            speaker.hear(prompt(task["prompt"]))
        return speaker


def _allowed(
    tools: Mapping[str, Mapping[str, Any]], named: Sequence[str] | None
) -> list[Mapping[str, Any]]:
    return [tool for name, tool in tools.items() if named is None or name in named]


def _system_prompt(options: Any) -> str | None:
    """Return the system prompt that a program gives; Claude Code's own is not known."""
    given = getattr(options, "system_prompt", None)
    if isinstance(given, dict):
        given = given.get("prompt") if given.get("type") == "custom" else None
    return given if isinstance(given, str) and given else None
