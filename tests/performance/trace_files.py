"""What reading foreign traces and grading stored ones costs beside parsing the same bytes."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from tests.performance.measuring import Budget, Chunk, Effort, Measured, compare, timed
from tests.performance.sample_data import conversation, record_of_size
from tests.support.shared_data import SHARED_DATA

TAU_BENCH = SHARED_DATA / "tau-bench" / "historical_trajectories" / "gpt-4o-airline.json.gz"
PARSED = "orjson.loads of the same bytes, objects kept"


def generated_chats(effort: Effort) -> Measured:
    """Files of one conversation each, in the chat format."""
    with tempfile.TemporaryDirectory(prefix="tracedance-bench-") as folder:
        paths = []
        for seed in range(effort.calls(100)):
            paths.append(Path(folder, f"chat-{seed:04d}.json"))
            paths[-1].write_bytes(orjson.dumps({"messages": conversation(seed)}))
        return _importing("openai_chat", paths, effort)


def generated_runs(effort: Effort) -> Measured:
    """One file of many conversations, in the format of tau-bench's results."""
    runs = [
        {
            "task_id": number // 4,
            "trial": number % 4,
            "reward": float(number % 2),
            "info": {"task": {"user_id": f"u{number}", "actions": [], "outputs": []}},
            "traj": conversation(number),
        }
        for number in range(effort.calls(200))
    ]
    with _file(orjson.dumps(runs)) as path:
        return _importing("tau_bench", [path], effort)


def tau_bench(effort: Effort) -> Measured | str:
    """The 200 real airline conversations, unpacked."""
    if not TAU_BENCH.is_file():
        return "data: tau-bench absent"
    with _file(gzip.decompress(TAU_BENCH.read_bytes())) as path:
        return _importing("tau_bench", [path], effort)


def own_files(effort: Effort) -> Measured:
    """One file of stored traces, one a line, as `save_trace` writes them."""
    data = b"\n".join([stored_trace()] * effort.calls(100))
    with _file(data, name="traces.jsonl") as path:
        return _importing("trace_json", [path], effort)


def traceeval_files(effort: Effort) -> Measured:
    """One file of the same traces in TraceEval's format."""
    from tracedance_sdk.formats import load_trace, traceeval_from_trace

    line = orjson.dumps(traceeval_from_trace(load_trace(stored_trace())))
    with _file(b"\n".join([line] * effort.calls(100)), name="traces.jsonl") as path:
        return _importing("traceeval", [path], effort)


def _importing(collector: str, paths: list[Path], effort: Effort) -> Measured:
    from tracedance_sdk.formats import ImportProblem, load_collectors

    collect = next(item for item in load_collectors() if item.name == collector).collect

    def ours() -> list[object]:
        found: list[object] = [trace for path in paths for trace in collect(path)]
        problems = [item for item in found if isinstance(item, ImportProblem)]
        if problems:
            raise RuntimeError(f"{len(problems)} problems, the first: {problems[0]}")
        return found

    return compare(timed(ours, 1), parsing(paths), rounds=effort.rounds)


def parsing(paths: list[Path]) -> Chunk:
    """Return the baseline: the files' JSON parsed and kept."""

    def parsed(path: Path) -> object:
        data = path.read_bytes()
        if path.suffix != ".jsonl":
            return orjson.loads(data)
        return [orjson.loads(line) for line in data.split(b"\n")]

    return timed(lambda: [parsed(path) for path in paths], 1)


@contextmanager
def _file(data: bytes, *, name: str = "traces.json") -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tracedance-bench-") as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        yield path


def stored_trace() -> bytes:
    """Return the document of a run of 12 calls over a state of 20 records."""
    from tracedance_sdk.formats import trace_from_messages
    from tracedance_sdk.trace import encode_json

    trace = trace_from_messages(conversation(1, n_calls=12), trace_id="stored")
    records = {f"R{number}": record_of_size(300, seed=number) for number in range(20)}
    after = {**records, "R3": {**records["R3"], "count": 1000}}
    return encode_json(
        trace.model_copy(
            update={
                "task_id": "bench",
                "initial_state": {"records": records},
                "final_state": {"records": after},
            }
        )
    )


SPEC: dict[str, Any] = {
    "task": {"id": "bench", "description": "Change one record."},
    "requiredOutcomes": [
        {
            "id": "changed",
            "name": "Record changed",
            "description": "The count of R3 is 1000.",
            "expectedState": {"records": {"R3": {"count": 1000}}},
        }
    ],
    "actionCriteria": [
        {
            "id": "inputs",
            "name": "Right inputs",
            "description": "Each tool is used at its own steps.",
            "rules": [
                {
                    "actionType": f"tool_{n}",
                    "acceptableInputs": [{"step": step} for step in range(n, 12, 4)],
                }
                for n in range(4)
            ],
        }
    ],
    "criticalErrorCriteria": [
        {
            "id": "no-delete",
            "name": "Nothing deleted",
            "description": "No record is deleted.",
            "rules": [{"actionType": "delete", "description": "deleted", "matches": {}}],
        }
    ],
}


def grading(effort: Effort) -> Measured:
    """From the file's bytes to the report."""
    import tracedance_sdk as td
    from tracedance_sdk.grading import read_spec
    from tracedance_sdk.trace import Trace

    spec = read_spec(SPEC, versioned=False)
    data = stored_trace()
    with _file(data) as path:
        report = td.evaluate(td.load_trace(path), spec)
        if report.verdict != "pass":
            raise RuntimeError(f"verdict {report.verdict!r} where pass is expected")

        def theirs() -> object:
            return Trace.model_validate(orjson.loads(path.read_bytes()))

        n_calls = effort.calls(30)
        return compare(
            timed(lambda: td.evaluate(td.load_trace(path), spec), n_calls),
            timed(theirs, n_calls),
            rounds=effort.rounds,
        )


BUDGETS = (
    Budget(
        "import-chats",
        "importing generated chat files, one conversation each, redaction off",
        PARSED,
        4.0,
        "x",
        generated_chats,
    ),
    Budget(
        "import-runs",
        "importing one generated file of 200 conversations, redaction off",
        PARSED,
        4.0,
        "x",
        generated_runs,
    ),
    Budget(
        "import-tau-bench",
        "importing the 200 airline conversations of tau-bench, redaction off",
        PARSED,
        4.0,
        "x",
        tau_bench,
    ),
    Budget(
        "import-own",
        "importing one file of 100 stored traces, redaction off",
        PARSED,
        4.0,
        "x",
        own_files,
    ),
    Budget(
        "import-traceeval",
        "importing the same traces in TraceEval's format, redaction off",
        PARSED,
        4.0,
        "x",
        traceeval_files,
    ),
    Budget(
        "grading",
        "grading a stored trace: read, check, grade (3 criteria and the frame condition)",
        "orjson.loads and pydantic validation of it",
        2.0,
        "x",
        grading,
    ),
)
