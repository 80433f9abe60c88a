"""ATIF trajectories: the interchange format of Harbor and Terminal-Bench.

A file holds one trajectory, a list of them, or one a line. Sub-agents embedded in a trajectory
become traces of their own. A run that goes on in another file (``continued_trajectory_ref``) is one
trace for each file, of the same session.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracedance_sdk.formats import Place, RecordCollector, Signature, traces_from_atif
from tracedance_sdk.trace import Json, Trace


def _read(value: Json, place: Place, uri: str) -> Iterator[Trace]:
    return traces_from_atif(value, place, uri=uri)


_VERSIONS = [f"ATIF-v1.{minor}" for minor in range(20)]

collector = RecordCollector(
    "atif",
    [
        Signature.of("schema_version", "agent", "steps"),
        Signature.of(values={"schema_version": _VERSIONS}),
    ],
    _read,
)
