"""τ²-bench's result files: ``info``, ``tasks`` and ``simulations``, plain or gzipped.

Verdicts of a judge, one a line in files named ``*judge*`` beside, are joined to the simulations
they are about, under ``metadata["annotations"]``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import ImportProblem, Misfit, Place, RecordCollector, Signature
from tracedance_sdk.formats.benchmarks import documents_beside, files_beside, trace_from_simulation
from tracedance_sdk.trace import Json, Trace


def read(record: Json, place: Place, uri: str) -> Iterator[Trace | ImportProblem]:
    """Yield a trace for every simulation, in the file's order."""
    fields = place.expect(record, dict)
    info = place.optional(fields, "info", dict) or {}
    tasks = place.optional(fields, "tasks", list) or []
    known = {str(task.get("id")): task for task in tasks if isinstance(task, dict)}
    verdicts = _verdicts(Path(uri))
    for index, simulation in enumerate(place.field(fields, "simulations", list)):
        at = place.at("simulations", index)
        named = simulation if isinstance(simulation, dict) else {}
        try:
            yield trace_from_simulation(
                simulation,
                at,
                info=info,
                task=known.get(str(named.get("task_id"))),
                annotations=verdicts.get(str(named.get("id")), ()),
                uri=uri,
            )
        except Misfit as misfit:
            yield ImportProblem(uri, str(at.located(misfit)))
        except TraceDanceError as error:
            yield ImportProblem(uri, str(error))


def _verdicts(path: Path) -> dict[str, list[Json]]:
    """Return the verdicts beside a file, by the simulation they are about."""
    found: defaultdict[str, list[Json]] = defaultdict(list)
    files = files_beside(path.parent, "*judge*.json", "*judge*.jsonl", "*verdict*.json*")
    for _, document in documents_beside(files):
        for verdict in document if isinstance(document, list) else (document,):
            if isinstance(verdict, dict) and "judge_response" in verdict:
                found[str(verdict.get("simulation_id"))].append(_without_copy(verdict))
    return found


def _without_copy(verdict: dict[str, Json]) -> dict[str, Json]:
    """Return a verdict without the prompt that some tools write twice."""
    if verdict.get("prompt") == verdict.get("judge_prompt"):
        return {key: item for key, item in verdict.items() if key != "prompt"}
    return verdict


collector = RecordCollector(
    "tau2_bench",
    (
        Signature.of("info.agent_info", "info.environment_info", "timestamp"),
        Signature.of("simulations[].messages", "simulations[].task_id", "tasks"),
    ),
    read,
    is_list=False,
    companions=(
        Signature.of("judge_response", "simulation_id"),
        Signature.of("user_scenario", "evaluation_criteria", least_depth=1),
        Signature.of("products", names=("db.json", "db.json.gz")),
        Signature.of(names=("db.json", "db.json.gz"), contains=(b'"flights"',)),
    ),
)
