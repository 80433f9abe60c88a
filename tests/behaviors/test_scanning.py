"""A store is scanned: the same answer whoever shares the work, and however often it was stopped."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.store.stored import agent, call, human, run
from tracedance_sdk.behaviors import (
    Caps,
    StoreScan,
    Wanted,
    frequencies,
    packaged_behaviors,
    parse_behavior,
    read_occurrences,
    scan_store,
    write_occurrences,
)
from tracedance_sdk.behaviors.scanning.kept_outcomes import KeptOutcomes
from tracedance_sdk.behaviors.scanning.partition import partition_outcome
from tracedance_sdk.cli import run as tracedance
from tracedance_sdk.cli.scan_jobs import held_for_scan
from tracedance_sdk.errors import InvalidOption, InvalidQuery, InvalidTrace, UnknownFormat
from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import Trace

RETRIES = [Wanted(packaged_behaviors()["F01"], {"min_repeats": 1})]


def retrying(number: int, *, words: str | None = None, **fields: Any) -> Trace:
    """Return a session in which a failed call is made again; `words` make its context its own."""
    told = words or " ".join(f"word{number}x{place}" for place in range(60))
    again = ("Bash", {"command": f"make target{number if words is None else ''}"})
    return run(
        f"t{number:04}",
        human(told),
        agent("I try.", call(*again, "error: no rule to make target", ok=False)),
        agent("Again.", call(*again, "error: no rule to make target", ok=False)),
        **{"agent": {"name": "claude-code"}, **fields},
    )


def fine(number: int, **fields: Any) -> Trace:
    return run(
        f"f{number:04}",
        human(f"Say hello to number {number}."),
        agent("Hello.", call("Bash", {"command": "echo hello"}, "hello", ok=True)),
        **fields,
    )


def store_of(folder: Path, *batches: list[Trace]) -> TraceStore:
    """Return an indexed store with one partition for each batch."""
    store = TraceStore.create(folder)
    for batch in batches:
        store.add(batch)
    store.index()
    return store


def plain(scan: StoreScan) -> object:
    return json.loads(
        json.dumps(
            [
                scan.funnels,
                {k: [one.model_dump() for one in v] for k, v in scan.occurrences.items()},
                scan.sessions,
                scan.errors,
            ]
        )
    )


def test_several_processes_find_what_one_finds(tmp_path: Path) -> None:
    batches = [[retrying(n + 10 * k) for n in range(3)] + [fine(k)] for k in range(4)]
    store = store_of(tmp_path / "s", *batches)
    assert len(store.partitions()) == 4
    alone = scan_store(store, RETRIES)
    assert plain(scan_store(store, RETRIES, processes=3)) == plain(alone)
    (funnel,) = alone.funnels
    assert (funnel.sessions, funnel.traces, funnel.hits, funnel.kept) == (16, 16, 12, 12)


def test_a_scan_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    store = store_of(tmp_path / "s", *[[retrying(k)] for k in range(3)])
    told: list[tuple[int, bool]] = []

    def interrupted(done: int, _total: int, /, *, was_kept: bool) -> None:
        told.append((done, was_kept))
        if done == 2 and not was_kept:
            raise KeyboardInterrupt

    kept = tmp_path / "kept"
    with pytest.raises(KeyboardInterrupt):
        scan_store(store, RETRIES, kept=kept, on_partition=interrupted)
    told.clear()

    def noting(done: int, _total: int, /, *, was_kept: bool) -> None:
        told.append((done, was_kept))

    resumed = scan_store(store, RETRIES, kept=kept, on_partition=noting)
    assert told == [(1, True), (2, True), (3, False)]
    assert plain(resumed) == plain(scan_store(store, RETRIES))


def test_a_scan_that_is_killed_is_resumed_with_the_same_answer(tmp_path: Path) -> None:
    store = store_of(tmp_path / "s", *[[retrying(k * 50 + n) for n in range(50)] for k in range(6)])
    out = tmp_path / "out"
    command = [str(Path(sys.executable).with_name("tracedance")), "scan", str(tmp_path / "s")]
    command += ["--behavior", "F01", "--out", str(out), "--json"]
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        ends = time.monotonic() + 60
        had = len(list(out.glob("partitions/*.json")))
        while time.monotonic() < ends and process.poll() is None:
            if len(list(out.glob("partitions/*.json"))) > had:
                break
            time.sleep(0.005)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    document = json.loads(done.stdout)["behaviors"][0]
    expected = scan_store(store, RETRIES)
    assert document["funnel"] == expected.funnels[0]._asdict()
    assert list(read_occurrences(out / "occurrences.jsonl")) == expected.occurrences["F01"]


def test_what_is_kept_of_another_question_is_not_used(tmp_path: Path) -> None:
    store = store_of(tmp_path / "s", [retrying(1)])
    kept = tmp_path / "kept"
    assert scan_store(store, RETRIES, kept=kept).funnels[0].hits == 1
    more = [Wanted(packaged_behaviors()["F01"], {"min_repeats": 2})]
    assert scan_store(store, more, kept=kept).funnels[0].hits == 0
    assert scan_store(store, RETRIES, kept=kept, where="agent = 'codex'").funnels[0].hits == 0
    store.add([retrying(2)])
    assert scan_store(store, RETRIES, kept=kept).funnels[0].hits == 2
    store.remove(["t0001"])
    assert scan_store(store, RETRIES, kept=kept).funnels[0].hits == 1


@pytest.mark.parametrize("damage", [b"", b"{", b'{"format": "other"}', b"[]", b"\xff\xfe"])
def test_a_kept_outcome_that_is_damaged_is_found_anew(tmp_path: Path, damage: bytes) -> None:
    store = store_of(tmp_path / "s", [retrying(1)])
    kept = tmp_path / "kept"
    first = plain(scan_store(store, RETRIES, kept=kept))
    (path,) = kept.glob("*.json")
    path.write_bytes(damage)
    assert plain(scan_store(store, RETRIES, kept=kept)) == first


def test_an_outcome_is_read_back_as_it_was(tmp_path: Path) -> None:
    store = store_of(tmp_path / "s", [retrying(1, metadata={"cwd": "/home/ann/app"}), fine(2)])
    (key,) = store.partitions()
    outcome = partition_outcome(tmp_path / "s", key, RETRIES)
    keeper = KeptOutcomes(tmp_path / "kept", RETRIES, "true")
    keeper.keep(key, outcome)
    assert keeper.get(key) == outcome
    assert outcome.occurrences[0].user == "ann"


def test_near_duplicates_are_left_out_and_counted(tmp_path: Path) -> None:
    words = " ".join(f"same{place}" for place in range(200))
    copies = [retrying(n, words=words) for n in range(4)]
    store = store_of(tmp_path / "s", [*copies, retrying(9)])
    scan = scan_store(store, RETRIES)
    (funnel,) = scan.funnels
    assert (funnel.hits, funnel.near_duplicates, funnel.kept) == (5, 3, 2)
    first = next(one for one in scan.kept("F01") if one.trace_id != "t0009")
    dropped = [one.dropped for one in scan.occurrences["F01"] if one.dropped]
    assert dropped == [f"near-duplicate of {first.id}"] * 3
    everything = scan_store(store, RETRIES, caps=Caps(similarity=None))
    assert everything.funnels[0].kept == 5


def test_so_many_of_a_session_a_project_and_a_user_are_kept(tmp_path: Path) -> None:
    same: dict[str, Any] = {"metadata": {"project": "shop", "cwd": "/home/ann/shop"}}
    traces = [retrying(n, session_id="one", **same) for n in range(4)]
    traces += [retrying(n, **same) for n in range(10, 13)]
    traces += [retrying(20, metadata={"project": "other", "cwd": "/home/ann/other"})]
    store = store_of(tmp_path / "s", traces)

    def dropped(caps: Caps) -> list[str]:
        found = scan_store(store, RETRIES, caps=caps).occurrences["F01"]
        return sorted(one.dropped for one in found if one.dropped)

    assert dropped(Caps()) == ["session"] * 2
    assert dropped(Caps(session=1)) == ["session"] * 3
    assert dropped(Caps(project=3)) == ["project"] * 2 + ["session"] * 2
    assert dropped(Caps(session=None, user=2)) == ["user"] * 6
    kept = scan_store(store, RETRIES, caps=Caps(session=2)).kept("F01")
    assert sorted(one.trace_id for one in kept if one.session == "one") == ["t0000", "t0001"]


def test_the_order_depends_on_the_seed_alone(tmp_path: Path) -> None:
    traces = [retrying(n) for n in range(12)]
    one = store_of(tmp_path / "a", traces)
    other = store_of(tmp_path / "b", *[[trace] for trace in reversed(traces)])

    def order(store: TraceStore, seed: int) -> list[str]:
        return [one.id for one in scan_store(store, RETRIES, caps=Caps(seed=seed)).kept("F01")]

    assert order(one, 1) == order(other, 1)
    assert order(one, 1) != order(one, 2)
    assert sorted(order(one, 1)) == sorted(order(one, 2))


def test_rates_are_of_sessions_and_by_what_is_asked(tmp_path: Path) -> None:
    def at(week: int) -> dict[str, Any]:
        return {"started_at": f"2026-01-{5 + 7 * week:02}T10:00:00Z"}

    store = store_of(
        tmp_path / "s",
        [
            retrying(1, session_id="s1", **at(0)),
            retrying(2, session_id="s1", **at(1)),
            retrying(3, **at(1), agent={"name": "codex"}),
            fine(4, **at(0)),
            fine(5),
        ],
    )
    scan = scan_store(store, RETRIES)
    (overall,) = frequencies(scan)
    assert (overall.sessions, overall.hit_sessions) == (4, 2)
    assert overall.rate is not None
    assert overall.rate.value == 0.5
    weeks = {
        rate.value: (rate.sessions, rate.hit_sessions) for rate in frequencies(scan, by="week")
    }
    assert weeks == {"": (1, 0), "2026-W02": (2, 1), "2026-W03": (1, 1)}
    agents = {r.value: (r.sessions, r.hit_sessions) for r in frequencies(scan, by="agent")}
    assert agents["codex"] == (1, 1)
    assert agents["claude-code"] == (1, 1)
    with pytest.raises(InvalidOption, match="by='month'"):
        frequencies(scan, by="month")


def test_wrong_questions_are_refused(tmp_path: Path) -> None:
    store = store_of(tmp_path / "s", [retrying(1)])
    with pytest.raises(InvalidOption, match="each behaviour is wanted once"):
        scan_store(store, [])
    with pytest.raises(InvalidOption, match="each behaviour is wanted once"):
        scan_store(store, RETRIES * 2)
    with pytest.raises(InvalidQuery):
        scan_store(store, RETRIES, where="1 = 1) UNION SELECT * FROM read_csv('/etc/passwd'")
    with pytest.raises(InvalidQuery):
        scan_store(store, RETRIES, where="nothing = 1")


def test_occurrences_are_read_back_and_odd_files_refused(tmp_path: Path) -> None:
    store = store_of(tmp_path / "s", [retrying(1)])
    found = scan_store(store, RETRIES).occurrences["F01"]
    path = tmp_path / "o.jsonl"
    write_occurrences(path, found, note="mine", version=7)
    assert list(read_occurrences(path)) == found
    first = '{"format":"tracedance.occurrences","version":1,"note":"mine"}'
    assert path.read_text().splitlines()[0] == first
    path.write_text(path.read_text() + '{"id": 1}\n')
    with pytest.raises(InvalidTrace, match="line 3"):
        list(read_occurrences(path))
    path.write_text("{}\n")
    with pytest.raises(UnknownFormat):
        list(read_occurrences(path))


def test_a_behaviour_without_a_second_stage_takes_what_its_sql_names(tmp_path: Path) -> None:
    document = {
        "format": "tracedance.behavior",
        "version": 1,
        "id": "X01",
        "name": "Says hello",
        "frame": "claim",
        "definition": "d",
        "criterion": "c",
        "question": "q",
        "levels": {0: "bad", 5: "good"},
        "anchor": {"sql": "SELECT trace_id, turn FROM turns WHERE text = 'Hello.'"},
    }
    store = store_of(tmp_path / "s", [fine(1), retrying(2)])
    scan = scan_store(store, [Wanted(parse_behavior(document), {})])
    assert [(one.trace_id, one.turn) for one in scan.kept("X01")] == [("f0001", 1)]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are read from /proc")
def test_processes_of_a_scan_that_was_killed_end_too(tmp_path: Path) -> None:
    store_of(tmp_path / "s", *[[retrying(k * 20 + n) for n in range(20)] for k in range(6)])
    command = [str(Path(sys.executable).with_name("tracedance")), "scan", str(tmp_path / "s")]
    command += ["--jobs", "2", "--json", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    ends = time.monotonic() + 60
    while time.monotonic() < ends and process.poll() is None:
        if list(tmp_path.glob("out/partitions/*.json")):
            break
        time.sleep(0.005)
    assert len(in_session(process.pid)) >= 3, "it is killed with its processes at work"
    process.kill()
    process.wait()
    ends = time.monotonic() + 30
    while time.monotonic() < ends and in_session(process.pid):
        time.sleep(0.1)
    left = in_session(process.pid)
    for number in left:
        os.kill(number, signal.SIGKILL)
    assert left == []


def in_session(leader: int) -> list[int]:
    """Return the processes of a session, without those that ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            told = path.read_text().rpartition(")")[2].split()
            if int(told[3]) == leader and told[0] != "Z":
                found.append(int(path.parent.name))
    return found


def test_a_folder_that_a_scan_writes_into_is_refused_to_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store_of(tmp_path / "s", [retrying(1)])
    out = tmp_path / "out"
    command = ["scan", str(tmp_path / "s"), "--behavior", "F01", "--out", str(out)]
    with held_for_scan(out):
        assert tracedance(command) == 2
        assert list(out.iterdir()) == []
    error = capsys.readouterr().err
    assert "is being written by another scan; name another folder, or wait" in error
    assert error.count("\n") == 1
    assert tracedance(command) == 0
    left = [out / ".occurrences.jsonl.123.tmp", out / "partitions" / "abc.123.tmp"]
    for draft in left:
        draft.write_bytes(b"cut o")
    assert tracedance(command) == 0
    assert not any(draft.exists() for draft in left), "drafts of a killed scan are cleared away"


def test_a_folder_that_was_made_for_nothing_is_taken_away(tmp_path: Path) -> None:
    store_of(tmp_path / "s", [retrying(1)])
    out = tmp_path / "new" / "out"
    assert tracedance(["scan", str(tmp_path / "s"), "--out", str(out), "--where", "no = 1"]) == 2
    assert not out.exists()


def test_a_folder_that_cannot_be_made_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store_of(tmp_path / "s", [retrying(1)])
    (tmp_path / "file").write_text("mine")
    command = ["scan", str(tmp_path / "s"), "--behavior", "F01", "--out"]
    for out in (tmp_path / "file", tmp_path / "file" / "out"):
        assert tracedance([*command, str(out)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are read from /proc")
def test_ctrl_c_ends_all_processes_of_a_scan_without_a_word(tmp_path: Path) -> None:
    store_of(tmp_path / "s", *[[retrying(k * 20 + n) for n in range(20)] for k in range(6)])
    command = [str(Path(sys.executable).with_name("tracedance")), "scan", str(tmp_path / "s")]
    command += ["--jobs", "2", "--json"]
    codes = []
    for delay in (0.0, 0.3, 0.8):  # while Python starts in them, while they load, while they work
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        ends = time.monotonic() + 60
        while time.monotonic() < ends and len(in_session(process.pid)) < 3:
            time.sleep(0.01)
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=60)
        codes.append(process.returncode)
        assert told.strip() == b""
        while time.monotonic() < ends and in_session(process.pid):
            time.sleep(0.1)
        assert in_session(process.pid) == []
    assert codes[0] == 130
    assert set(codes) <= {130, 0}, "it may be done before it is interrupted"
