"""mini-swe-agent's trajectories as traces: its message list, and bare ones of its fixtures.

Its one tool is ``bash``. Newer releases ask for it with tool calls; older ones with a code block
in the text, which is the request and nothing else in the message is.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

from tracedance_sdk.formats.benchmarks.stepping import take_each
from tracedance_sdk.formats.benchmarks.swebench import Verdict
from tracedance_sdk.formats.benchmarks.usages import usage_fields
from tracedance_sdk.formats.places import Place, expect, field, optional
from tracedance_sdk.formats.transcript import Transcript
from tracedance_sdk.trace import (
    UNKNOWN,
    ErrorInfo,
    Json,
    Outcome,
    Source,
    Trace,
    imported_trace_id,
    source_digest,
)

NAME: Final = "mini_swe_agent"

_BLOCK: Final = re.compile(r"```(?:mswea_bash_command|bash)[ \t]*\n(.*?)\n?```", re.DOTALL)
_RETURN_CODE: Final = re.compile(r"\s*<returncode>(-?\d{1,9})</returncode>")
_EXTRA: Final = frozenset({"actions", "cost", "response", "timestamp"})
_RESPONSE: Final = frozenset({"choices", "usage", "model", "created"})
_RESULT_EXTRA: Final = frozenset({"raw_output", "returncode", "timestamp"})


def trace_from_mini_swe_agent(
    record: Json,
    place: Place,
    *,
    instance: str,
    uri: str | None = None,
    verdict: Verdict | None = None,
) -> Trace:
    """Build the trace of a run.

    The harness's last message holds what the closing command submitted: it is that call's result.

    Args:
        record: The parsed file: an object with ``messages``, or the bare list of them.
        place: Where it stands, for errors.
        instance: What the file is named after, where it does not say what its task is.
        uri: The file.
        verdict: SWE-bench's, from a file beside it.

    Raises:
        InvalidTrace: Not such a file.
        Misfit: A message of another shape.
    """
    is_bare = isinstance(record, list)
    fields: dict[str, Any] = {} if is_bare else place.expect(record, dict)
    messages = place.expect(record, list) if is_bare else place.field(fields, "messages", list)
    info = optional(fields, "info", dict) or {}
    log = _Log(info)
    take_each(messages, log.take, *([] if is_bare else ["messages"]))
    own = optional(fields, "instance_id", str) or ""
    task = own or instance
    # The first reply has a time and an id; a bare list is known by all it says.
    telling = messages if is_bare else messages[:3]
    return log.turns.trace(
        imported_trace_id(NAME, source_digest(telling), own),
        where=place.where,
        group=task,
        task_id=task,
        agent={"name": "mini-swe-agent", "version": optional(info, "mini_version", str)},
        system_prompt=log.system_prompt,
        outcome=_outcome(info, log.closing, verdict),
        source=Source(collector=NAME, uri=uri, native_id=task),
        metadata=_metadata(fields, info),
    )


class _Log:
    def __init__(self, info: dict[str, Any]) -> None:
        self.turns = Transcript()
        self.system_prompt: str | None = None
        self.closing: dict[str, Json] = {}
        """What the harness's last message says beyond the submission."""
        config = info.get("config")
        model = config.get("model") if isinstance(config, dict) else None
        given = model if isinstance(model, dict) else {}
        name, settings = given.get("model_name"), given.get("model_kwargs")
        self._model = name if isinstance(name, str) else None
        self._settings = settings if isinstance(settings, dict) and settings else None
        self._asked_in_text = False
        self._has_begun = False

    def take(self, index: int, message: dict[str, Any]) -> None:
        role = field(message, "role", str)
        content = message.get("content")
        extra = optional(message, "extra", dict) or {}
        if role == "assistant":
            self._speak(message, content, extra)
        elif role == "tool":
            self._answer(optional(message, "tool_call_id", str), content, extra)
        elif role == "exit":
            self._close(content, extra)
        elif index == 0 and role == "system" and isinstance(content, str):
            self.system_prompt = content
        elif role == "user" and self._asked_in_text:
            self._asked_in_text = False
            self._answer(None, content, extra)
        else:
            self.turns.say(
                "system" if role == "system" else "user",
                content if isinstance(content, (str, list)) else None,
                origin="harness" if role == "system" or self._has_begun else "human",
                mini_swe_agent=extra or None,
            )

    def _speak(self, message: dict[str, Any], content: Json, extra: dict[str, Any]) -> None:
        self._has_begun = True
        response = optional(extra, "response", dict) or {}
        kept = {k: v for k, v in extra.items() if k not in _EXTRA}
        told = {
            k: v for k, v in response.items() if k not in ("choices", "usage", "model", "created")
        }
        if told:
            kept["response"] = told
        reasoning = message.get("reasoning_content")
        parts = [{"type": "reasoning", "text": reasoning}] if isinstance(reasoning, str) else []
        if isinstance(content, str) and content:
            parts.append({"type": "text", "text": content})
        self.turns.say(
            "assistant",
            parts,
            origin="agent",
            model=optional(response, "model", str) or self._model,
            settings=self._settings,
            usage=usage_fields(response.get("usage"), cost_usd=extra.get("cost")),
            finish_reason=_finish_reason(response),
            started_at=_time(response.get("created")),
            ended_at=_time(extra.get("timestamp")),
            mini_swe_agent=kept or None,
        )
        requests = optional(message, "tool_calls", list) or []
        for item in requests:
            entry = expect(item, dict)
            function = field(entry, "function", dict)
            given = function.get("arguments")
            self.turns.request(
                field(function, "name", str),
                call_id=optional(entry, "id", str),
                arguments=UNKNOWN if isinstance(given, str) or given is None else given,
                text=given if isinstance(given, str) else None,
            )
        if not requests and isinstance(content, str):
            self._ask_in_text(content)

    def _ask_in_text(self, content: str) -> None:
        """Take the command out of the one code block that a message may hold."""
        blocks = _BLOCK.findall(content)
        if len(blocks) == 1:
            self._asked_in_text = True
            self.turns.request("bash", arguments={"command": blocks[0]})

    def _answer(self, call_id: str | None, content: Json, extra: dict[str, Any]) -> None:
        code = extra.get("returncode")
        shown = content if isinstance(content, str) else ""
        if code is None and (found := _RETURN_CODE.match(shown)):
            code = int(found[1])
        if not isinstance(code, int) or isinstance(code, bool):
            code = None
        kept = {k: v for k, v in extra.items() if k not in _RESULT_EXTRA and v not in ("", None)}
        raw = extra.get("raw_output")
        if isinstance(raw, str) and raw not in shown:
            kept["raw_output"] = raw
        error = extra.get("exception_info")
        self.turns.answer(
            call_id,
            content=content,
            ok=None if code is None else code == 0,
            exit_code=code,
            error=_error(extra) if error else None,
            ended_at=_time(extra.get("timestamp")),
            mini_swe_agent=kept or None,
        )

    def _close(self, content: Json, extra: dict[str, Any]) -> None:
        """Take the harness's last message; only a submission comes from a command."""
        self.closing = {k: v for k, v in extra.items() if v != content}
        last = self.turns.last
        calls = last["calls"] if last is not None else []
        is_open = bool(calls) and "result" not in calls[-1]
        if is_open and extra.get("exit_status") == "Submitted":
            result = self.turns.answer(calls[-1]["id"], content=content)
            result["mini_swe_agent"] = {"role": "exit"}
        elif content:
            self.turns.say("user", content if isinstance(content, str) else None, origin="harness")


def _error(extra: dict[str, Any]) -> dict[str, str]:
    kind = extra.get("exception_type")
    return {
        "type": kind if isinstance(kind, str) and kind else "Exception",
        "message": str(extra.get("exception_info")),
    }


def _finish_reason(response: dict[str, Any]) -> str | None:
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    found = first.get("finish_reason") if isinstance(first, dict) else None
    return found if isinstance(found, str) else None


def _time(seconds: Json) -> str | None:
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return None


def _outcome(
    info: dict[str, Any], closing: dict[str, Json], verdict: Verdict | None
) -> Outcome | None:
    told = optional(info, "exit_status", str) or closing.get("exit_status")
    status = told if isinstance(told, str) and told else None
    details: dict[str, Json] = {**closing}
    details.update((k, info[k]) for k in ("exit_status", "submission") if k in info)
    if verdict is not None:
        details["report"] = {**verdict.details, "file": verdict.file}
    if status is None and not details:
        return None
    has_submitted = None if status is None else status == "Submitted"
    return Outcome(
        success=None if verdict is None else verdict.resolved,
        ended=has_submitted,
        error=ErrorInfo(type=status) if has_submitted is False and status else None,
        details=details,
    )


def _metadata(fields: dict[str, Any], info: dict[str, Any]) -> dict[str, Json]:
    kept = ("info", "messages", "instance_id")
    found: dict[str, Json] = {k: v for k, v in fields.items() if k not in kept}
    skipped = ("exit_status", "submission", "mini_version")
    found.update((k, v) for k, v in info.items() if k not in skipped)
    return found
