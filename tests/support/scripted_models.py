"""A scripted endpoint on the loopback for models: it answers OpenAI's and Anthropic's APIs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Answer(NamedTuple):
    """What the endpoint does with one request.

    Attributes:
        body: An object sent as JSON, or bytes sent as they are.
        status: Of HTTP.
        headers: Further ones.
        content_type: Of the body.
        delay_s: Before anything is sent.
        drop_after: Bytes after which the connection is cut; None for none.
        stall_s: Silence before that cut.
        drip_s: Pause after each byte; 0 for none.
        endless: Sent after the body, again and again, until the other side goes away.
    """

    body: Any = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    delay_s: float = 0
    drop_after: int | None = None
    stall_s: float = 0
    drip_s: float = 0
    endless: bytes = b""


class Request(NamedTuple):
    """What the endpoint was sent."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class ScriptedModels(NamedTuple):
    """A running endpoint.

    Attributes:
        url: Its address, without a path.
        requests: What it was sent, in order.
        most_at_once: The most requests that were open at a time, as the only item.
    """

    url: str
    requests: list[Request]
    most_at_once: list[int]

    def name(self, api: str, model: str = "gpt-x") -> str:
        """Return the name of a model here."""
        return f"{api}:{model}@{self.url}" + ("" if api == "anthropic" else "/v1")


@contextmanager
def scripted_models(script: Callable[[Request, int], Answer]) -> Iterator[ScriptedModels]:
    """Serve what a function says of each request and its number, from 0."""
    requests: list[Request] = []
    most = [0]
    running = [0]
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["content-length"]))
            request = Request(self.path, dict(self.headers.items()), json.loads(data))
            with lock:
                number = len(requests)
                requests.append(request)
                running[0] += 1
                most[0] = max(most[0], running[0])
            try:
                self._answer(script(request, number))
            except (BrokenPipeError, ConnectionResetError):
                pass
            finally:
                with lock:
                    running[0] -= 1

        def _answer(self, answer: Answer) -> None:
            time.sleep(answer.delay_s)
            is_raw = isinstance(answer.body, bytes)
            body = answer.body if is_raw else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            self.send_header("content-type", answer.content_type)
            if answer.endless:
                self.close_connection = True
            else:
                self.send_header("content-length", str(len(body)))
            for name, value in answer.headers:
                self.send_header(name, value)
            self.end_headers()
            for part in _parts(answer, body):
                self.wfile.write(part)
                self.wfile.flush()
            if answer.drop_after is not None:
                self.close_connection = True
                self.connection.shutdown(2)

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
        yield ScriptedModels(f"http://127.0.0.1:{server.server_port}", requests, most)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _parts(answer: Answer, body: bytes) -> Iterator[bytes]:
    """Yield what is sent, in pieces, with the pauses between them."""
    if answer.drop_after is not None:
        yield body[: answer.drop_after]
        time.sleep(answer.stall_s)
        return
    if not answer.drip_s:
        yield body
    for place in range(len(body) if answer.drip_s else 0):
        yield body[place : place + 1]
        time.sleep(answer.drip_s)
    while answer.endless:
        yield answer.endless
        time.sleep(0.02)


APIS = ("openai", "openai-responses", "anthropic")


def saying(api: str, text: str | None = "Done.", *calls: tuple[str, str], **odd: Any) -> Any:
    """Return the body of a reply.

    Args:
        api: Whose shape.
        text: What it says; None for nothing.
        *calls: Names and arguments (JSON text) of calls it asks for.
        **odd: ``end`` is the reason why it ended, ``refusal`` a text that declines.
    """
    return {"openai": _chat, "openai-responses": _responses, "anthropic": _anthropic}[api](
        text, calls, odd.get("end"), odd.get("refusal")
    )


_Calls = tuple[tuple[str, str], ...]


def _chat(text: str | None, calls: _Calls, end: str | None, refusal: str | None) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": refusal}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": given}}
            for n, (name, given) in enumerate(calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": end or "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {"object": "chat.completion", "model": "gpt-x-1", "choices": [choice], "usage": usage}


def _responses(text: str | None, calls: _Calls, end: str | None, refusal: str | None) -> Any:
    part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
    if refusal is not None:
        part = {"type": "refusal", "refusal": refusal}
    output: list[Any] = []
    if text is not None or refusal is not None:
        output.append({"type": "message", "id": "m", "role": "assistant", "content": [part]})
    output += [
        {"type": "function_call", "call_id": f"c{n}", "name": name, "arguments": given}
        for n, (name, given) in enumerate(calls)
    ]
    return {
        "id": "resp_1",
        "object": "response",
        "model": "gpt-x-1",
        "status": "completed" if end is None else "incomplete",
        "incomplete_details": None if end is None else {"reason": end},
        "output": output,
        "usage": {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
    }


def _anthropic(text: str | None, calls: _Calls, end: str | None, refusal: str | None) -> Any:
    said = refusal if refusal is not None else text
    content: list[Any] = [] if said is None else [{"type": "text", "text": said}]
    content += [
        {"type": "tool_use", "id": f"c{n}", "name": name, "input": json.loads(given)}
        for n, (name, given) in enumerate(calls)
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "gpt-x-1",
        "content": content,
        "stop_reason": end or ("refusal" if refusal is not None else "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }
