"""Small stores for tests of benchmarks: sessions that retry, and a server that answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.store.stored import agent, call, human, run
from tests.support.scripted_models import Answer, Request, saying
from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import Trace

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
ADDRESS = "ann.lee@corp-mail.com"


def retrying(number: int, **fields: Any) -> Trace:
    """Return a session in which a failed call is made again, unlike the others in its words."""
    words = " ".join(f"word{number}x{place}" for place in range(60))
    again = ("Bash", {"command": f"make target{number}"})
    failed = f"make: *** No rule to make target{number}. Stop. Token {SECRET}"
    turns = (
        human(f"{words}. Write to {ADDRESS} when it is done."),
        {
            **agent("I try.", call(*again, failed, ok=False)),
            "content": [
                {"type": "reasoning", "text": "canary-of-reasoning"},
                {"type": "text", "text": "I try."},
            ],
        },
        agent(f"Once more, number {number}.", call(*again, failed, ok=False), model="claude-x-4"),
        agent(f"It fails still, number {number}, afterwards."),
    )
    own: dict[str, Any] = {
        "agent": {"name": "claude-code"},
        "metadata": {"title": f"It fails still, number {number}, afterwards."},
        "started_at": f"2026-03-{1 + number % 28:02}T10:00:00Z",
    }
    name = fields.pop("id", f"t{number:04}")
    return run(name, *turns, **{**own, **fields})


def fine(number: int) -> Trace:
    """Return a session in which nothing is wrong."""
    return run(
        f"f{number:04}",
        human(f"Say hello to number {number}."),
        agent("Hello.", call("Bash", {"command": f"echo hello {number}"}, "hello", ok=True)),
        agent={"name": "codex"},
    )


def store_of(folder: Path, number: int = 6, **fields: Any) -> TraceStore:
    """Return a store with sessions that retry, and as many that do not."""
    store = TraceStore.create(folder)
    store.add([retrying(n, **fields) for n in range(number)] + [fine(n) for n in range(number)])
    store.index()
    return store


def taking(*commands: str) -> Callable[[Request, int], Answer]:
    """Serve a model that runs these commands, one for each request, in a circle."""

    def script(_request: Request, number: int) -> Answer:
        command = json.dumps({"command": commands[number % len(commands)]})
        return Answer(saying("openai", "So.", ("Bash", command)))

    return script


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the documents of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
