"""An application for WSGI servers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import tracedance_sdk as td
from tests.durability.service_agent import answer


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    text = answer(environ["PATH_INFO"].rpartition("/")[2])
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [text.encode()]


if os.environ.get("RECORD_AT_START"):
    # uWSGI's master runs no Python once the program is loaded.
    answer("start")
    td.flush()
