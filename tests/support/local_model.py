"""A real small model behind OpenAI's and Anthropic's APIs, on this machine.

`make test-local-model` fetches it and sets ``LOCAL_LLM_GGUF``; without it such tests are skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

TEMPLATE = Path(__file__).parents[1] / "fixtures" / "chatml_tools.jinja"
"""The model's own template yields no calls of tools."""

CONTEXT_TOKENS = 4096
MOST_CALLS = 20
"""That next turns and judges send together; replays and benchmarks send so many each."""

_sent: list[int] = []


@contextmanager
def local_model() -> Iterator[str]:
    """Serve the model and give its address, without a path; it answers to the name ``local``."""
    path = os.environ.get("LOCAL_LLM_GGUF")
    if not path:
        pytest.skip("local model: LOCAL_LLM_GGUF is not set")
    # Threads that wait actively take ten times as long beside another busy process.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    server: Any = pytest.importorskip("xllamacpp", reason="local model: xllamacpp is absent")
    params = server.CommonParams()
    params.model.path = path
    params.model_alias = {"local"}
    params.n_ctx, params.n_parallel = CONTEXT_TOKENS, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.chat_template = TEMPLATE.read_text(encoding="utf-8")
    params.ui, params.offline, params.cache_ram_mib, params.verbosity = False, True, 0, 1
    running = server.Server(params)
    yield running.listening_address
    del running


def name_at(address: str, api: str) -> str:
    """Return the model's name behind one of its endpoints."""
    return f"{api}:local@{address}" + ("" if api == "anthropic" else "/v1")


def count_calls(out: Path) -> None:
    """Count the calls that a verb sent for a result set; there must not be too many.

    The SDKs must not have tried again, as that is not counted.
    """
    manifest = json.loads((out / "manifest.json").read_bytes())
    _sent.append(manifest["calls"]["sent"])
    assert sum(_sent) <= MOST_CALLS, _sent
