"""Traces for tests of the store, and small questions about one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import Trace, assess, build


def run(trace_id: str, *turns: dict[str, Any], **fields: Any) -> Trace:
    """Return a trace with these turns, counted through; one turn of a human where none is given."""
    found, calls = [], 0
    for index, turn in enumerate(turns or (human("hello"),)):
        own = []
        for call in turn.get("calls", ()):
            own.append({"id": f"c{calls}", **call, "index": calls})
            calls += 1
        found.append({**turn, "index": index, "calls": own})
    return assess(build({"id": trace_id, "turns": found, **fields}, trace_id))


def human(text: str, **fields: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "origin": "human",
        "content": [{"type": "text", "text": text}],
        **fields,
    }


def agent(text: str, *calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}] if text else []
    return {"role": "assistant", "origin": "agent", "content": content, "calls": calls, **fields}


def call(name: str, arguments: Any, result: Any = "", **fields: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "result": {"content": result, **fields}}


def of_session(trace_id: str, session: str, **fields: Any) -> Trace:
    return run(trace_id, session_id=session, **fields)


def files_of(folder: Path) -> list[str]:
    """Return the names of a store's data files and manifests, sorted."""
    parts = [path.name for path in (folder / "parts").iterdir() if path.name != ".lock"]
    return sorted(parts + [path.name for path in folder.glob("manifest-*")])


def recorded(folder: Path) -> TraceStore:
    """Open a store that gives traces back as they were put in."""
    return TraceStore.open(folder, tools="recorded")


def partitions_of(folder: Path) -> dict[str, int]:
    """Return for each trace the place of its partition in the present manifest."""
    from tracedance_sdk.store.folder import LocalFolder, present
    from tracedance_sdk.store.moving import read_traces

    place = LocalFolder(folder)
    return {
        trace.id: number
        for number, part in enumerate(present(place).manifest.partitions)
        for _, trace in read_traces(place, part)
    }
