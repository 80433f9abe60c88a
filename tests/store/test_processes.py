"""Importers that are killed, importers beside one another, memory."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.store import importer
from tests.store.stored import files_of, partitions_of
from tracedance_sdk.store import TraceStore

ROOT = Path(__file__).resolve().parents[2]
KILLS = 30
KILL_SECONDS = 20.0


def start(folder: Path, prefix: str, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, importer.__file__, str(folder), prefix, str(count)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.skipif(sys.platform == "win32", reason="platform: no SIGKILL")
def test_a_store_whose_importers_are_killed_stays_readable_and_loses_nothing_committed(
    tmp_path: Path,
) -> None:
    chance = random.Random(7)
    deadline = time.monotonic() + KILL_SECONDS
    seen: set[str] = set()
    rounds = 0
    while rounds < KILLS and (rounds < 5 or time.monotonic() < deadline):
        process = start(tmp_path, "k", 300)
        time.sleep(chance.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        ids = {trace.id for trace in TraceStore.open(tmp_path)}
        assert ids >= seen, "a trace that was committed is gone"
        seen = ids
        rounds += 1
    store = TraceStore.open(tmp_path, tools="recorded")
    summary = store.add(importer.runs("k", 300))
    assert (summary.added, summary.unchanged) == (300 - len(seen), len(seen))
    assert {trace.id: trace for trace in store} == {t.id: t for t in importer.runs("k", 300)}
    for path in (tmp_path / "parts").iterdir():
        os.utime(path, (1, 1))
    for path in tmp_path.glob("manifest-*"):
        os.utime(path, (1, 1))
    store.compact()
    named = {path.name for path in tmp_path.glob("manifest-*")}
    named |= {file.path.name for file in store.files()}
    left = set(files_of(tmp_path)) - named
    assert not {name for name in left if name.startswith(".draft")}
    assert len(store) == 300


@pytest.mark.skipif(sys.platform == "win32", reason="platform: no SIGKILL")
def test_a_store_that_is_killed_while_it_is_tidied_stays_whole(tmp_path: Path) -> None:
    chance = random.Random(11)
    store = TraceStore.create(tmp_path)
    store.add(importer.runs("tidy", 40))
    removed = set(range(0, 40, 7))
    found: list[int] = []
    for _ in range(8):
        process = start(tmp_path, "tidy", 40)
        time.sleep(chance.uniform(0.1, 0.8))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        store = TraceStore.open(tmp_path)
        found = [int(trace.id.removeprefix("tidy-")) for trace in store]
        assert len(set(found)) == len(found)
        assert set(range(40)) - removed <= set(found)
        assert store.select("SELECT count(*) FROM turns").rows == ((len(found),),)
    store.index()
    assert store.select("SELECT count(*) FROM features").rows == ((len(found),),)


def test_importers_beside_one_another_all_succeed(tmp_path: Path) -> None:
    TraceStore.create(tmp_path)
    processes = [start(tmp_path, prefix, 120) for prefix in ("a", "b", "a")]
    outputs = [process.communicate(timeout=100)[0].decode() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    store = TraceStore.open(tmp_path, tools="recorded")
    found = sorted(trace.id for trace in store)
    assert found == sorted(trace.id for p in ("a", "b") for trace in importer.runs(p, 120))
    places = partitions_of(tmp_path)
    for prefix in ("a", "b"):
        for session in range(40):
            family = {places[f"{prefix}-{3 * session + n}"] for n in range(3)}
            assert len(family) == 1
    assert sum("added=120" in text for text in outputs) >= 1


MEASURE = """
import json, sys
from tests.support.peak_memory import peak_kib
from tracedance_sdk.store import TraceStore, adding
from tests.store.importer import runs
from tracedance_sdk.trace import Text, Trace, Turn

adding.BATCH_BYTES = 2_000_000

def big(count):
    for number in range(count):
        content = (Text(text=f"{number} " + "lorem ipsum %d " % number * 2_000),)
        turn = Turn(index=0, role="user", origin="human", content=content)
        yield Trace(id=f"t{number}", turns=(turn,))

store = TraceStore.create(sys.argv[1])
store.add(big(200))
before = peak_kib()
store.add(big(int(sys.argv[2])))
print(json.dumps([before, peak_kib()]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="platform: no /proc")
def test_adding_keeps_no_traces_in_memory(tmp_path: Path) -> None:
    growth = {}
    for count in (400, 3200):
        command = [sys.executable, "-c", MEASURE, str(tmp_path / str(count)), str(count)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        output = subprocess.run(command, capture_output=True, check=True, env=environment).stdout
        before, after = json.loads(output)
        growth[count] = (after - before) / 1024
    # 2,800 further traces are 90 MB of text; what is kept of each is some 3 KB.
    assert growth[3200] < growth[400] + 45, growth
