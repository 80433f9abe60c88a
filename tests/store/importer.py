"""A program that imports: run by tests in processes of their own, which may be killed.

``python importer.py FOLDER PREFIX COUNT``: adds ``COUNT`` traces named ``PREFIX-0`` and so on, in
batches that become a partition each. With the prefix ``tidy`` it goes on to index, remove, add
again and compact, round after round.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta

from tracedance_sdk.store import TraceStore, adding
from tracedance_sdk.trace import Text, Trace, Turn


def runs(prefix: str, count: int) -> Iterator[Trace]:
    for number in range(count):
        content = (Text(text=f"{prefix} {number} " + "x" * 200),)
        turn = Turn(index=0, role="user", origin="human", content=content)
        yield Trace(id=f"{prefix}-{number}", session_id=f"{prefix}-{number // 3}", turns=(turn,))


def main() -> None:
    folder, prefix, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    adding.BATCH_BYTES = 4_000  # type: ignore[misc]  # small parts, so that there are many
    store = TraceStore.create(folder)
    print("ready", flush=True)
    print(store.add(runs(prefix, count)), flush=True)
    while prefix == "tidy":
        store.index()
        store.remove([f"tidy-{number}" for number in range(0, count, 7)])
        store.compact(grace=timedelta(0))
        store.add(runs(prefix, count))


if __name__ == "__main__":
    main()
