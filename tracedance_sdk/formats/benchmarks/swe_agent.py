"""SWE-agent's trajectories (``.traj``), of all its releases and parsers, as traces.

A step is a thought, an action, an observation and the state after it. The action is a command
line; with function calling the request beside it in the history has a name and arguments, else
the first word names the tool when the prompt documents it, and the rest is a shell's.
"""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.formats.benchmarks.swe_agent_commands import (
    command_name,
    command_result,
    documented_commands,
    documented_functions,
)
from tracedance_sdk.formats.benchmarks.swe_agent_steps import Step, opening_length, read_steps
from tracedance_sdk.formats.benchmarks.swebench import Verdict
from tracedance_sdk.formats.places import Misfit, Place, expect, field, optional
from tracedance_sdk.formats.transcript import Transcript, text_part
from tracedance_sdk.trace import (
    UNKNOWN,
    ErrorInfo,
    Json,
    Origin,
    Outcome,
    Source,
    ToolDefinition,
    Trace,
    imported_trace_id,
    parse_json,
    source_digest,
)

NAME: Final = "swe_agent"

_EXITS: Final = frozenset(
    {
        "exit_cost", "exit_context", "exit_format", "exit_error", "exit_api", "exit_early",
        "exit_environment_error", "exit_command_timeout", "exit_total_execution_time",
    }
)  # fmt: skip
_STEP_FIELDS: Final = frozenset(
    {"action", "observation", "response", "state", "thought", "execution_time", "query", "messages"}
)


def trace_from_swe_agent(
    record: Json,
    place: Place,
    *,
    instance: str,
    uri: str | None = None,
    verdict: Verdict | None = None,
) -> Trace:
    """Build the trace of a trajectory.

    Demonstrations that the prompt held are turns of origin ``harness`` without calls. What the
    model wrote and saw around thought, command and observation is kept under ``swe_agent``.

    Args:
        record: The parsed file.
        place: Where it stands, for errors.
        instance: What the file is named after, where it does not say what its task is.
        uri: The file.
        verdict: SWE-bench's, from a file beside it; a trajectory itself never tells success.

    Raises:
        InvalidTrace: No trajectory, or fields of a wrong type.
        Misfit: The same, within the steps.
    """
    fields = place.expect(record, dict)
    history = [expect(item, dict) for item in optional(fields, "history", list) or []]
    config = _object(fields.get("replay_config"))
    log = _Log(config)
    start = opening_length(history)
    prompt = log.open(history[:start])
    tools = documented_commands(prompt or "") or documented_functions(_command_docs(config))
    log.document(tools)
    steps, unmatched = read_steps(fields, history[start:])
    for index, step in enumerate(steps):
        try:
            log.take(step)
        except Misfit as misfit:
            raise misfit.below("trajectory", index) from None
    info = optional(fields, "info", dict) or {}
    statement = config.get("problem_statement")
    named = statement.get("id") if isinstance(statement, dict) else None
    own = named if isinstance(named, str) else ""
    task = own or instance
    model = log.model or "unknown"
    return log.turns.trace(
        imported_trace_id(NAME, _namespace(fields, model), own),
        where=place.where,
        group=task,
        task_id=task,
        agent={"name": "swe-agent"},
        system_prompt=prompt,
        tools=tools,
        outcome=_outcome(info, verdict),
        source=Source(collector=NAME, uri=uri, native_id=task),
        metadata=_metadata(fields, info, history, unmatched),
    )


def _object(value: Json) -> dict[str, Any]:
    """Return an object, which some releases write as JSON text."""
    found = _parsed(value)
    return found if isinstance(found, dict) else {}


def _parsed(value: Json) -> Json:
    """Return what a text says as JSON; the text itself where it is none."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value, where="text")
    except InvalidJSON:
        return value


def _command_docs(config: dict[str, Any]) -> str:
    agent = config.get("agent")
    tools = agent.get("tools") if isinstance(agent, dict) else None
    found = tools.get("command_docs") if isinstance(tools, dict) else None
    return found if isinstance(found, str) else ""


class _Log:
    """Goes through a trajectory and says what it finds."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.turns = Transcript()
        agent = config.get("agent")
        model = agent.get("model") if isinstance(agent, dict) else None
        settings = model if isinstance(model, dict) else {}
        name = settings.get("name")
        self.model = name if isinstance(name, str) and name else None
        wanted = ("temperature", "top_p")
        self._settings = {k: settings[k] for k in wanted if settings.get(k) is not None} or None
        self._documented: frozenset[str] = frozenset()

    def document(self, tools: list[ToolDefinition]) -> None:
        """Take note of the commands that are SWE-agent's own."""
        self._documented = frozenset(tool.name for tool in tools)

    def open(self, messages: list[dict[str, Any]]) -> str | None:
        """Say what stands before the first step; return the system prompt."""
        prompt: str | None = None
        for index, message in enumerate(messages):
            role = field(message, "role", str)
            content = message.get("content")
            text = content if isinstance(content, str) else None
            if index == 0 and role == "system" and text is not None:
                prompt = text
                continue
            extra = _rest(message, "role", "content", "agent", "message_type")
            if role == "system":
                self.turns.say("system", text, origin="harness", swe_agent=extra)
            elif role == "assistant":
                self.turns.say("assistant", text, origin="harness", swe_agent=extra)
            else:
                origin: Origin = "harness" if message.get("is_demo") else "human"
                self.turns.say("user", text, origin=origin, swe_agent=extra)
            if text is None and content is not None and self.turns.last is not None:
                self.turns.last["swe_agent"] = {**(extra or {}), "content": content}
        return prompt

    def take(self, step: Step) -> None:
        fields = step.fields
        action = optional(fields, "action", str) or ""
        thought = optional(fields, "thought", str) or ""
        response = optional(fields, "response", str)
        extra: dict[str, Json] = {k: v for k, v in fields.items() if k not in _STEP_FIELDS}
        if action.strip() in _EXITS or (not action and thought.startswith("Exit")):
            extra.update(_rest(fields, "response", "thought", "query", "messages") or {})
            self.turns.say("assistant", response or thought, origin="harness", swe_agent=extra)
            return
        if response is not None and response != thought:
            extra["response"] = _around(response, thought, action)
        told = {"content": response, "thought": thought}
        other = {k: v for k, v in step.message.items() if k in told and v != told[k]}
        if other:
            extra["history"] = other
        parts = [text_part(thought)] if thought else []
        self.turns.say(
            "assistant",
            parts,
            origin="agent",
            model=self.model,
            settings=self._settings,
            swe_agent=extra or None,
        )
        self._call(step, action)
        for message in step.shown[1:]:
            text = message.get("content")
            self.turns.say("user", text if isinstance(text, str) else None, origin="harness")

    def _call(self, step: Step, action: str) -> None:
        requests = optional(step.message, "tool_calls", list) or []
        asked = [self._request(expect(item, dict), action) for item in requests]
        if not asked:
            if not action.strip():
                return
            name = command_name(action, self._documented)
            asked = [self.turns.request(name, arguments={"command": action})]
        observation = step.fields.get("observation")
        if observation is None:
            return
        text = observation if isinstance(observation, str) else ""
        seconds = optional(step.fields, "execution_time", float)
        call = asked[0]
        self.turns.answer(
            call["id"],
            content=observation,
            swe_agent=_after(step, text) or None,
            **command_result(text),
        )
        call["bound_by"] = "id" if requests else "order"
        if seconds is not None:
            call["duration_ms"] = seconds * 1000.0

    def _request(self, entry: dict[str, Any], action: str) -> dict[str, Any]:
        function = field(entry, "function", dict)
        given = function.get("arguments")
        return self.turns.request(
            field(function, "name", str),
            call_id=optional(entry, "id", str),
            arguments=UNKNOWN if isinstance(given, str) or given is None else given,
            text=given if isinstance(given, str) else None,
            swe_agent={"action": action},
        )


def _around(response: str, thought: str, action: str) -> Json:
    """Return what the model wrote around thought and command; all of it where they differ."""
    rest = response.removeprefix(thought)
    start = rest.rfind(action.strip("\n")) if action.strip() else -1
    if start < 0 or not response.startswith(thought):
        return response
    end = start + len(action.strip("\n"))
    return {"before_action": rest[:start], "after_action": rest[end:]}


def _after(step: Step, observation: str) -> dict[str, Json]:
    """Return the state after a step, and what the model was shown around the observation."""
    found: dict[str, Json] = {}
    state = step.fields.get("state")
    if state is not None:
        found["state"] = _parsed(state)
    text = step.shown[0].get("content") if step.shown else None
    if isinstance(text, str) and text != observation:
        before, inner, after = text.partition(observation) if observation else ("", "", text)
        found["shown"] = {"before": before, "after": after} if inner else text
    elif text is not None and not isinstance(text, str):
        found["shown"] = text
    return found


def _rest(fields: dict[str, Any], *known: str) -> dict[str, Json] | None:
    return {key: item for key, item in fields.items() if key not in known} or None


def _namespace(fields: dict[str, Any], model: str) -> str:
    """Return what keeps two runs of one task apart, from what does not change while a run grows.

    A step that says how long it took tells one run from another; where none does, only the whole
    trajectory can.
    """
    steps = fields.get("trajectory")
    first = steps[0] if isinstance(steps, list) and steps else None
    if isinstance(first, dict) and first.get("execution_time") is not None:
        told = {k: v for k, v in first.items() if k not in ("query", "messages")}
        return f"{model}/{source_digest(told)}"
    return f"{model}/{source_digest(steps or fields.get('history'))}"


def _outcome(info: dict[str, Any], verdict: Verdict | None) -> Outcome | None:
    status = optional(info, "exit_status", str)
    details: dict[str, Json] = {k: v for k, v in info.items() if k != "model_stats"}
    if verdict is not None:
        details["report"] = {**verdict.details, "file": verdict.file}
    if status is None and not details:
        return None
    stopped = (status or "").removeprefix("submitted").strip(" ()")
    return Outcome(
        success=None if verdict is None else verdict.resolved,
        ended=None if status is None else status == "submitted",
        error=ErrorInfo(type=stopped) if stopped else None,
        details=details,
    )


def _metadata(
    fields: dict[str, Any],
    info: dict[str, Any],
    history: list[dict[str, Any]],
    unmatched: list[dict[str, Any]],
) -> dict[str, Json]:
    kept = ("history", "trajectory", "info")
    found: dict[str, Json] = {k: v for k, v in fields.items() if k not in kept}
    if isinstance(found.get("replay_config"), str):
        found["replay_config"] = _object(found["replay_config"]) or found["replay_config"]
    if "model_stats" in info:
        found["model_stats"] = info["model_stats"]
    agents = {name for item in history if isinstance(name := item.get("agent"), str)}
    if agents:
        found["agents"] = sorted(agents)
    if unmatched:
        found["unmatched_history"] = unmatched
    return found
