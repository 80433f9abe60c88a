"""How many contexts of real traces each API takes, by reason: one of each trace, as a request."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from pydantic import TypeAdapter

from tests.formats.test_context_writing import WRITERS
from tests.support.shared_data import SHARED_DATA, shared_data
from tests.support.tables import AddRow
from tracedance_sdk.errors import Unsendable
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.replay import DecisionPoint, decision_points

FOLDERS = (
    sorted(path.name for path in SHARED_DATA.iterdir() if path.is_dir())
    if SHARED_DATA.is_dir()
    else ["whoandwhen"]
)
PARAMS = {
    "chat": ("openai.types.chat.completion_create_params", "CompletionCreateParamsNonStreaming"),
    "responses": (
        "openai.types.responses.response_create_params",
        "ResponseCreateParamsNonStreaming",
    ),
    "anthropic": ("anthropic.types.message_create_params", "MessageCreateParamsNonStreaming"),
}
MOST = 600
"""Traces of a folder; of more, a seeded sample."""


def params_of(api: str) -> TypeAdapter[Any]:
    module, name = PARAMS[api]
    return TypeAdapter(getattr(pytest.importorskip(module), name))


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_context_of_every_trace_is_a_whole_request_or_refused(
    folder: str, add_row: AddRow
) -> None:
    types = {api: params_of(api) for api in WRITERS}
    found = [item.trace for item in collect_paths([shared_data(folder)]) if item.trace is not None]
    draw = random.Random(2026)
    traces = found if len(found) <= MOST else draw.sample(found, MOST)
    written, refused = Counter[str](), {api: Counter[str]() for api in WRITERS}
    n_contexts = 0
    for trace in traces:
        points = [point for point in decision_points(trace) if isinstance(point, DecisionPoint)]
        if not points:
            continue
        point = draw.choice(points)
        turns, prompt = point.context
        n_contexts += 1
        for api, write in WRITERS.items():
            try:
                request = write(turns, system_prompt=prompt, tools=point.trace.tools)
            except Unsendable as error:
                refused[api][error.kind] += 1
                continue
            types[api].validate_python({"model": "m", "max_tokens": 1, **request})
            written[api] += 1
    for api in WRITERS:
        add_row(
            "contexts of real traces",
            folder=folder,
            api=api,
            traces=f"{len(traces)} of {len(found)}",
            contexts=n_contexts,
            written=written[api],
            refused=", ".join(f"{n} {kind}" for kind, n in refused[api].most_common()) or "-",
        )
        assert written[api] + refused[api].total() == n_contexts
    openai_kinds = {*refused["chat"], *refused["responses"]}
    assert not openai_kinds & {"begins with the assistant", "ends with the assistant"}
    assert written["chat"] == written["responses"] >= written["anthropic"]
