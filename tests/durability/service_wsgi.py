"""An application for WSGI servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tests.durability.service_agent import answer


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    text = answer(environ["PATH_INFO"].rpartition("/")[2])
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [text.encode()]
