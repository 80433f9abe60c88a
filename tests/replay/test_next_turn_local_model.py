"""A real model takes the next turn, through all three APIs: at most eight calls, no network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.replay.test_next_turn_verb import CHAT, rows
from tests.support.local_model import CONTEXT_TOKENS, local_model
from tests.support.scripted_models import APIS
from tests.support.shared_data import shared_data
from tracedance_sdk.cli import run

pytestmark = pytest.mark.timeout(300)
REAL = ("openai-agents-2025", "langgraph-python-2025", "claude-agent-2025")
"""Small real traces with tools."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with local_model() as found:
        yield found


def ask(address: str, api: str, out: Path, *sources: Path) -> tuple[int, list[Any]]:
    model = f"{api}:local@{address}" + ("" if api == "anthropic" else "/v1")
    options = ("--max-tokens", "150", "--temperature", "0", "--concurrency", "1", "--retries", "0")
    names = map(str, sources)
    code = run(["next-turn", *names, "--model", model, "--out", str(out), "--offline", *options])
    return code, rows(out)


@pytest.mark.parametrize("api", APIS)
def test_a_model_goes_on_where_a_room_was_to_be_booked(
    api: str, address: str, tmp_path: Path
) -> None:
    source = tmp_path / "chat.json"
    # Without the last turn and its call, the call is the turn to take.
    source.write_text(json.dumps({**CHAT, "messages": CHAT["messages"][:-1]}))
    code, (row,) = ask(address, api, tmp_path / "out", source)
    assert (code, row.missing_reason) == (0, None)
    (call,) = row.model_extra["reply"]["calls"]
    assert call["name"] == "book_room"
    assert row.usage["output_tokens"] > 5


def test_real_contexts_are_answered(address: str, tmp_path: Path) -> None:
    folder = shared_data("langfuse-framework-traces")
    sources = [next(folder.rglob(f"{name}*.trace.json")) for name in REAL]
    code, found = ask(address, "openai", tmp_path / "out", *sources)
    assert len(found) == 3
    # A small model now and then writes a call that its server cannot read.
    answers = [row for row in found if row.missing_reason is None]
    assert len(answers) >= 2
    assert code == (0 if len(answers) == 3 else 3)


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_context_that_is_too_long_is_told_apart(api: str, address: str, tmp_path: Path) -> None:
    long = {"role": "user", "content": "word " * (2 * CONTEXT_TOKENS)}
    source = tmp_path / "chat.json"
    source.write_text(json.dumps({"messages": [long, {"role": "assistant", "content": "Yes."}]}))
    code, (row,) = ask(address, api, tmp_path / "out", source)
    assert (code, row.model_extra["missing"]) == (3, "context_too_long")
