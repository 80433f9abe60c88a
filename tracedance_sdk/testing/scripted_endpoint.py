"""A model endpoint on the loopback that plays scenes: OpenAI's two APIs and Anthropic's.

Replies are streamed when they are asked for so. What it answers depends on the request alone: the
agent is known by its system prompt, the step by how often the model has spoken in it. Repeated
requests get the same answer.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple

from tracedance_sdk.testing.scenes import Scene, Step
from tracedance_sdk.testing.streamed_replies import EVENTS

MODEL: Final = "scripted-1"
"""The model's name in every reply."""

CHAT: Final = "openai"
RESPONSES: Final = "openai-responses"
ANTHROPIC: Final = "anthropic"


class Said(NamedTuple):
    """What the model says, before it takes an API's form.

    Attributes:
        key: Names the turn: a part of every id in it.
        text: Its words; None for none.
        calls: Id, name and arguments of each call.
        input_tokens: As counted.
        output_tokens: The same.
    """

    key: str
    text: str | None
    calls: tuple[tuple[str, str, Any], ...]
    input_tokens: int
    output_tokens: int


class Endpoint(NamedTuple):
    """A running endpoint.

    Attributes:
        url: Its address, without a path: what Anthropic's clients want.
        requests: The bodies it was sent, in order.
    """

    url: str
    requests: list[dict[str, Any]]

    @property
    def openai_url(self) -> str:
        """The address that OpenAI's clients want."""
        return f"{self.url}/v1"


def said_in(scene: Scene, turn: int) -> Said:
    """Return what the model of a scene says in its turn, from 0."""
    step = scene.steps[turn]
    key = f"{scene.agent}_{turn}"
    calls = tuple((f"call_{key}_{n}", name, args) for n, (name, args) in enumerate(step.calls))
    return Said(key, step.text, calls, 100 + turn, 10 + turn)


@contextmanager
def scripted_models(*scenes: Scene) -> Iterator[Endpoint]:
    """Play scenes, and those of their helpers, until the statement is left.

    Example:
        >>> from tracedance_sdk.testing import Desk, mail, scripted_models
        >>> with scripted_models(mail(Desk())) as endpoint:
        ...     endpoint.url.startswith("http://127.0.0.1:")
        True
    """
    cast = [scene for given in scenes for scene in given.cast]
    requests: list[dict[str, Any]] = []
    replies: dict[str, tuple[Scene, int]] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            requests.append(body)
            try:
                self._answer(_api_of(self.path), body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _answer(self, api: str, body: dict[str, Any]) -> None:
            before = replies.get(_goes_on_from(body))
            scene = _scene_of(cast, body, api) if before is None else before[0]
            turn = _turns_in(body, api) + (0 if before is None else before[1])
            step = scene.steps[turn] if scene is not None and turn < len(scene.steps) else None
            if scene is None or step is None or step.status:
                status = 400 if step is None or not step.status else step.status
                self._send(json.dumps(_error(api, scene, turn)).encode(), status=status)
                return
            _wait(step)
            said = said_in(scene, turn)
            for api_key in ("resp", "msg"):
                replies[f"{api_key}_{said.key}"] = (scene, turn + 1)
            data, kind = _written(api, said, body)
            self._send(data, kind=kind, until=_half_of(data, step) if step.breaks_off else None)

        def _send(
            self,
            data: bytes,
            *,
            status: int = 200,
            kind: str = "application/json",
            until: int | None = None,
        ) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[:until])
            if until is not None:
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """Say nothing of clients that went away."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Endpoint(f"http://127.0.0.1:{server.server_port}", requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _wait(step: Step) -> None:
    if step.delay_s:
        time.sleep(step.delay_s)


def _written(api: str, said: Said, body: dict[str, Any]) -> tuple[bytes, str]:
    """Return a reply, and its media type."""
    if body.get("stream"):
        return b"".join(EVENTS[api](said, REPLIES[api](said), body)), "text/event-stream"
    return json.dumps(REPLIES[api](said)).encode(), "application/json"


def _half_of(data: bytes, step: Step) -> int:
    """Return where a reply breaks off: after the event with the first half of its words."""
    words = step.text or ""
    begun = data.find(json.dumps(words[: len(words) // 2])[1:-1].encode())
    return data.find(b"\n\n", begun) + 2 if begun >= 0 else len(data) // 2


def _api_of(path: str) -> str:
    if path.endswith("/chat/completions"):
        return CHAT
    return RESPONSES if path.endswith("/responses") else ANTHROPIC


def _scene_of(cast: Iterable[Scene], body: dict[str, Any], api: str) -> Scene | None:
    listed = body.get("input" if api == RESPONSES else "messages")
    lead = [m for m in _items(listed) if _role(m) in ("system", "developer")]
    shown = json.dumps([body.get("instructions"), body.get("system"), lead], ensure_ascii=False)
    for scene in cast:
        if json.dumps(scene.system, ensure_ascii=False)[1:-1] in shown:
            return scene
    return None


def _goes_on_from(body: dict[str, Any]) -> str:
    """Return the id of the reply whose conversation a request goes on with; empty for none."""
    thread = body.get("thread")
    if isinstance(thread, dict):
        return str(thread.get("previous_message_id", ""))
    return str(body.get("previous_response_id") or "")


def _turns_in(body: dict[str, Any], api: str) -> int:
    """Return how often the model has spoken in what it is sent."""
    listed = body.get("input" if api == RESPONSES else "messages")
    turns, is_speaking = 0, False
    for message in _items(listed):
        kind = message.get("type") if isinstance(message, dict) else None
        speaks = _role(message) == "assistant" or kind in ("function_call", "reasoning")
        if api == RESPONSES:
            turns += speaks and not is_speaking
        else:
            turns += speaks
        is_speaking = speaks
    return turns


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _error(api: str, scene: Scene | None, turn: int) -> dict[str, Any]:
    who = "no agent of the play" if scene is None else f"{scene.agent}, turn {turn}"
    error = {"type": "invalid_request_error", "message": f"the script refuses this: {who}"}
    return {"type": "error", "error": error} if api == ANTHROPIC else {"error": error}


def _chat(said: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.calls:
        message["tool_calls"] = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for call_id, name, arguments in said.calls
        ]
    return {
        "id": f"chatcmpl_{said.key}",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "tool_calls" if said.calls else "stop",
            }
        ],
        "usage": {
            "prompt_tokens": said.input_tokens,
            "completion_tokens": said.output_tokens,
            "total_tokens": said.input_tokens + said.output_tokens,
        },
    }


def _responses(said: Said) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if said.text is not None:
        part = {"type": "output_text", "text": said.text, "annotations": []}
        message = {"type": "message", "id": f"msg_{said.key}", "role": "assistant"}
        output.append({**message, "status": "completed", "content": [part]})
    output += [
        {
            "type": "function_call",
            "id": f"fc_{call_id}",
            "call_id": call_id,
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for call_id, name, arguments in said.calls
    ]
    return {
        "id": f"resp_{said.key}",
        "object": "response",
        "created_at": 1,
        "model": MODEL,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "output": output,
        "usage": {
            "input_tokens": said.input_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": said.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": said.input_tokens + said.output_tokens,
        },
    }


def _anthropic(said: Said) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if said.text is not None:
        content.append({"type": "text", "text": said.text})
    content += [
        {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        for call_id, name, arguments in said.calls
    ]
    return {
        "id": f"msg_{said.key}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": content,
        "stop_reason": "tool_use" if said.calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": said.input_tokens, "output_tokens": said.output_tokens},
    }


REPLIES: Final = {CHAT: _chat, RESPONSES: _responses, ANTHROPIC: _anthropic}
"""By API: makes the body of a reply."""
