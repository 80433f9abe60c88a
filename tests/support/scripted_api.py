"""A server on the loopback: it answers a provider's SDK from a script and keeps the requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, NamedTuple


class ScriptedAPI(NamedTuple):
    """A running server.

    Attributes:
        url: Its address.
        requests: The bodies it was sent so far, in order, as they were.
    """

    url: str
    requests: list[bytes]


@contextmanager
def scripted_api(*replies: dict[str, Any], status: int = 200) -> Iterator[ScriptedAPI]:
    """Serve these replies one after another."""
    waiting = [json.dumps(reply).encode() for reply in replies]
    requests: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(self.rfile.read(int(self.headers["content-length"])))
            body = waiting[len(requests) - 1]
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield ScriptedAPI(f"http://127.0.0.1:{server.server_port}", requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
