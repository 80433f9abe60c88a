"""`tracedance import` as its users run it."""

from __future__ import annotations

import gzip
import json
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from inline_snapshot import snapshot

import tracedance_sdk as td
from tests.cli.conftest import Ran, Tracedance, in_process_of_its_own
from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import Parent, Trace

SECRET = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA" * 3


def chat(name: str, *, answer: str | None = "done", text: str = "Refund order 7.") -> str:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "refund", "arguments": '{"order": 7}'},
    }
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    if answer is not None:
        messages.append({"role": "tool", "tool_call_id": "c1", "content": answer})
    return json.dumps({"id": name, "messages": messages})


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand above a folder of logs: whole, packed, in an archive, and broken."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    folder = tmp_path / "logs"
    (folder / "shop").mkdir(parents=True)
    lines = f"{chat('a')}\n{{\n{chat('b', answer=None)}{chat('c')}\n"
    (folder / "shop" / "chats.jsonl").write_text(lines)
    (folder / "shop" / "more.jsonl.gz").write_bytes(gzip.compress(f"{chat('d')}\n".encode()))
    (folder / "shop" / "last.jsonl.zst").write_bytes(zstandard.compress(chat("e").encode()))
    with zipfile.ZipFile(folder / "old.zip", "w") as archive:
        archive.writestr("2024/f.json", chat("f"))
        archive.writestr("../g.json", chat("g"))
    (folder / "broken.json.gz").write_bytes(gzip.compress(chat("h").encode())[:-9])
    (folder / "notes.md").write_text("no trace")
    return folder


def imported(tracedance: Tracedance, *arguments: str | Path) -> dict[str, Any]:
    ran = tracedance("import", *arguments, "--json")
    found: dict[str, Any] = json.loads(ran.out)
    found["exit"] = ran.code
    return found


def counts(**found: int) -> dict[str, int]:
    """Return what the store did, where all else is none."""
    return {"added": 0, "replaced": 0, "unchanged": 0, "older": 0, "less_protected": 0, **found}


def done(found: dict[str, Any]) -> dict[str, int]:
    return {name: found["stored"][name] for name in counts()}


def test_everything_is_read_and_what_is_not_is_listed_by_file_and_line(
    logs: Path, tracedance: Tracedance
) -> None:
    ran = tracedance("import", "logs", "--store", "kept")
    assert (ran.code, ran.err) == (0, "")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert ran.out == snapshot("""\
Read from  by           sessions  traces  turns  calls  errors
logs       openai_chat         1       1      2      1       0
shop       openai_chat         5       5     10      5       0
all                            6       6     12      6       0

Fit for read grade state rebuilt next rec. known inf. none
logs       1     1     0       1    1    0     0    1    0
shop       5     5     0       4    5    0     0    5    0
all        6     6     0       5    6    0     0    6    0
next: fit for a next turn; of these, the tools' definitions were recorded, are
known of the client, can be inferred from calls, or none was called

Fidelity              traces count meaning
final_state_unknown        6     6 the environment after the run was not seen
initial_state_unknown      6     6 the environment before the run was not seen
result_missing             1     1 a call whose result was never recorded
tools_missing              6     6 calls of a tool without a definition

Not read
  'logs/broken.json.gz' is a damaged gzip file: Compressed file ended before
    the end-of-stream marker was reached
  logs/old.zip!../g.json: its name leads out of the archive
  logs/shop/chats.jsonl:2: not JSON: Expecting property name enclosed in
    double quotes (line 1, column 2) (read as openai_chat)

6 traces added, 0 replaced, 0 unchanged; 3 problems
""")
    assert len(TraceStore.open("kept")) == 6


def test_importing_again_adds_nothing(logs: Path, tracedance: Tracedance) -> None:
    tracedance("import", "logs", "--store", "kept")
    before = sorted(Path("kept").rglob("*"))
    again = imported(tracedance, "logs", "--store", "kept")
    assert done(again) == counts(unchanged=6)
    assert sorted(Path("kept").rglob("*")) == before
    assert again["exit"] == 0


def test_the_json_document_has_it_all(logs: Path, tracedance: Tracedance) -> None:
    found = imported(tracedance, "logs", "--store", "kept")
    assert (found["format"], found["version"], found["store"]) == ("tracedance.import", 1, "kept")
    total = {key: found["total"][key] for key in ("sources", "sessions", "traces", "calls")}
    assert total == {"sources": 4, "sessions": 6, "traces": 6, "calls": 6}
    assert found["total"]["fit_for"]["next_turn"] == 6
    assert found["total"]["next_turn_tools"] == {
        "recorded": 0,
        "known": 0,
        "inferred": 6,
        "none": 0,
    }
    places = [(item["path"], item["line"], item["collector"]) for item in found["problems"]]
    assert places == [
        ("logs/broken.json.gz", None, None),
        ("logs/old.zip!../g.json", None, None),
        ("logs/shop/chats.jsonl", 2, "openai_chat"),
    ]
    assert {item["folder"] for item in found["folders"]} == {"logs", "logs/shop"}


def test_a_session_that_grew_replaces_what_was_there(logs: Path, tracedance: Tracedance) -> None:
    tracedance("import", "logs", "--store", "kept")
    grown = json.loads(chat("a"))
    grown["messages"].append({"role": "assistant", "content": "Refunded."})
    (logs / "shop" / "chats.jsonl").write_text(json.dumps(grown))
    found = imported(tracedance, "logs", "--store", "kept")
    assert done(found) == counts(replaced=1, unchanged=3)
    assert max(len(trace.turns) for trace in TraceStore.open("kept")) == 3


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("logs",), 0),
        (("logs", "--strict"), 1),
        (("logs/shop/more.jsonl.gz", "--strict"), 0),
        (("logs/broken.json.gz",), 2),
        (("logs/notes.md",), 2),
        (("none",), 2),
        (("none", "logs"), 0),
        (("logs", "--from", "trace_json"), 2),
        (("logs", "--from", "nobody"), 2),
        (("logs", "--names", "logs/notes.md"), 2),
        (("logs", "--tools", "none.yaml"), 2),
        (("logs", "--jobs", "0"), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_exit_codes(
    logs: Path, tracedance: Tracedance, arguments: tuple[str, ...], code: int
) -> None:
    ran = tracedance("import", *arguments, "--store", "kept", "--quiet")
    assert ran.code == code
    assert (ran.err == "") == (code != 2)


def test_a_store_that_is_none_is_refused_in_one_line(logs: Path, tracedance: Tracedance) -> None:
    ran = tracedance("import", "logs", "--store", "logs")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "is no store" in ran.err


def test_the_store_itself_is_not_imported(logs: Path, tracedance: Tracedance) -> None:
    tracedance("import", "logs", "--store", "logs/kept")
    again = imported(tracedance, "logs", "--store", "logs/kept")
    assert again["stored"]["unchanged"] == 6
    assert {item["collector"] for item in again["folders"]} == {None, "openai_chat"}
    other = imported(tracedance, "logs/kept", "--store", "copy")
    assert (other["stored"]["added"], other["folders"][0]["collector"]) == (6, "store")


def test_secrets_are_masked_unless_told_otherwise(logs: Path, tracedance: Tracedance) -> None:
    text = f"My key is {SECRET}, mail ann@corp.com"
    (logs / "key.json").write_text(chat("k", text=text))
    masked = imported(tracedance, "logs/key.json", "--store", "kept")
    (trace,) = TraceStore.open("kept")
    assert masked["masks"] == {"anthropic_key": 1}
    assert SECRET not in trace.turns[0].text
    assert "ann@corp.com" in trace.turns[0].text
    assert stat.S_IMODE(Path("kept/redaction.key").stat().st_mode) == 0o600
    again = imported(tracedance, "logs/key.json", "--store", "kept")
    assert again["stored"]["unchanged"] == 1
    plain = imported(tracedance, "logs/key.json", "--store", "plain", "--no-redact")
    (trace,) = TraceStore.open("plain")
    assert (plain["masks"], trace.turns[0].text) == ({}, text)


def test_people_are_given_pseudonyms_when_asked(logs: Path, tracedance: Tracedance) -> None:
    text = f"Ann Lee <ann@corp.com>, in /home/alee/x, key {SECRET}"
    (logs / "key.json").write_text(chat("k", text=text))
    Path("names.txt").write_text("Ann Lee, ann@corp.com, alee\n")
    found = imported(
        tracedance, "logs/key.json", "--store", "kept", "--pseudonymise", "--names", "names.txt"
    )
    (trace,) = TraceStore.open("kept")
    words = trace.turns[0].text.split()
    assert words[0].startswith("user-")
    assert words[1] == f"<{words[0]}@example.invalid>,"
    assert words[3] == f"/home/{words[0]}/x,"
    assert found["pseudonyms"] == {"email": 1, "home": 1, "name": 1}
    assert found["masks"] == {"anthropic_key": 1}


def test_tools_of_ones_own_are_kept_with_the_traces(logs: Path, tracedance: Tracedance) -> None:
    Path("tools.yaml").write_text(
        "tools:\n- agent: '*'\n  name: refund\n  effect: write\n  parameters: {type: object}\n"
    )
    arguments = ("logs/shop/more.jsonl.gz", "--store", "kept", "--tools", "tools.yaml")
    found = imported(tracedance, *arguments)
    assert found["total"]["next_turn_tools"]["known"] == 1
    (trace,) = TraceStore.open("kept", tools="recorded")
    assert [(tool.name, tool.origin, tool.effect) for tool in trace.tools] == [
        ("refund", "known", "write")
    ]


def test_records_of_ones_own_are_read_by_a_mapping(logs: Path, tracedance: Tracedance) -> None:
    (logs / "own").mkdir()
    record = {"key": "r1", "log": [{"who": "me", "said": "Hi"}, {"who": "it", "said": "Hello"}]}
    (logs / "own" / "runs.jsonl").write_text(json.dumps(record))
    Path("own.yaml").write_text(
        "format: tracedance.mapping\nversion: 1\nname: own-logs\nrecord: run\nrun: {id: key}\n"
        "messages:\n  at: log\n  role: {path: who, map: {me: user, it: assistant}}\n"
        "  text: said\n"
    )
    arguments = ("logs/own", "--mapping", "own.yaml", "--store", "logs/own/kept")
    assert imported(tracedance, *arguments)["stored"]["added"] == 1
    copy = imported(tracedance, "logs/own", "--mapping", "own.yaml", "--store", "copy")
    assert copy["stored"]["added"] == 1
    (trace,) = TraceStore.open("copy")
    assert [turn.text for turn in trace.turns] == ["Hi", "Hello"]
    ran = tracedance("import", *arguments, "--from", "openai_chat")
    assert (ran.code, "either --from or --mapping" in ran.err) == (2, True)


def test_equal_ids_of_different_sources_are_different_traces(
    logs: Path, tracedance: Tracedance
) -> None:
    (logs / "one.json").write_text(chat("1", text="Refund order 1."))
    (logs / "two.json").write_text(chat("1", text="Refund order 2."))
    found = imported(tracedance, "logs/one.json", "logs/two.json", "--store", "kept")
    assert (found["stored"]["added"], found["stored"]["replaced"]) == (2, 0)


def test_several_processes_import_the_same(logs: Path, tracedance: Tracedance) -> None:
    for number in range(1200):
        (logs / f"{number}.json").write_text(chat(f"n{number}"))
    one = imported(tracedance, "logs", "--store", "one")
    two = imported(tracedance, "logs", "--store", "two", "--jobs", "2")
    assert one.pop("store") != two.pop("store")
    assert one == two
    assert one["stored"]["added"] == 1206
    first, second = (sorted(TraceStore.open(name), key=lambda t: t.id) for name in ("one", "two"))
    assert first == second


def test_every_problem_can_be_written_to_a_file(logs: Path, tracedance: Tracedance) -> None:
    (logs / "bad.jsonl").write_text("{\n" * 50 + chat("z"))
    ran = tracedance("import", "logs", "--store", "kept", "--problems", "problems.txt")
    lines = Path("problems.txt").read_text().splitlines()
    assert len(lines) == 53
    assert lines[0].startswith("logs/bad.jsonl:1: not JSON: ")
    assert lines[0].endswith("(read as openai_chat)")
    assert "and 33 more; --problems FILE or --json lists all" in ran.out
    ran = tracedance("import", "logs", "--store", "kept", "--problems", "none/problems.txt")
    assert ran.code == 2


def test_a_source_with_very_many_problems_lists_a_bounded_number(
    logs: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracedance_sdk.store.importing.MOST_PROBLEMS", 10)
    (logs / "bad.jsonl").write_text("{\n" * 50 + chat("z"))
    found = imported(tracedance, "logs/bad.jsonl", "--store", "kept")
    assert len(found["problems"]) == 11
    assert found["problems"][-1]["line"] == 50
    assert found["problems"][-1]["reason"].startswith("40 further problems, the last of them: ")
    assert found["total"]["problems"] == 50


HOSTILE: dict[str, bytes] = {
    "deep.json": b"[" * 10_000 + b"]" * 10_000,
    "deep.jsonl": b'{"messages": ' + b"[" * 10_000 + b"]" * 10_000 + b"}\n",
    "utf8.jsonl": b'{"messages": [{"role": "user", "content": "\xff"}]}\n',
    "nul.jsonl": b'{"messages": []}\0\0\n\0\0\n',
    "cut.jsonl.gz": gzip.compress(os.urandom(5000))[:-20],
    "cut.jsonl.zst": zstandard.compress(os.urandom(5000))[:-20],
    "fake.zip": b"PK\x03\x04" + b"\0" * 100,
    "fake.json.gz": b"\x1f\x8b" + b"\0" * 100,
    "twice.jsonl": b'{"format": "tracedance.trace", "version": 1, "id": "a", "id": "b"}\n',
    "huge.jsonl": b'{"id": "x", "messages": [{"role": "user", "content": 1e999}]}\n',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_one_problem_each_and_stop_nothing(
    logs: Path, tracedance: Tracedance, name: str
) -> None:
    (logs / name).write_bytes(HOSTILE[name])
    found = imported(tracedance, "logs", "--store", "kept")
    assert found["exit"] == 0
    assert found["stored"]["added"] >= 6
    mine = [item for item in found["problems"] if item["path"] == f"logs/{name}"]
    assert len({item["line"] for item in mine}) == len(mine) > 0
    assert all("\n" not in item["reason"] for item in mine)


def test_a_collector_that_crashes_costs_its_own_file(
    logs: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_arguments: object, **_named: object) -> None:
        raise RuntimeError("a fault")

    (logs / "traceeval.json").write_text('{"taskId": "t", "actions": [], "initialState": {}}')
    monkeypatch.setattr("tracedance_collectors.traceeval.trace_from_traceeval", crash)
    found = imported(tracedance, "logs", "--store", "kept")
    assert found["stored"]["added"] == 6
    assert "collector 'traceeval' failed: RuntimeError: a fault" in str(found["problems"])


def test_what_this_command_wrote_itself_is_passed_over(logs: Path, tracedance: Tracedance) -> None:
    report = tracedance("import", "logs", "--store", "kept", "--json")
    (logs / "report.json").write_text(report.out)
    ran: Ran = tracedance("import", "logs", "--store", "kept", "--quiet")
    assert "report.json' is passed over: a tracedance.import, no trace" in ran.err


def test_the_installed_command_imports(logs: Path) -> None:
    ran = in_process_of_its_own("import", "logs", "--store", "kept", "--quiet")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout == b"6 traces added, 0 replaced, 0 unchanged; 3 problems\n"


def test_what_is_read_twice_is_explained_in_the_last_line(
    logs: Path, tracedance: Tracedance
) -> None:
    chats = (logs / "shop" / "chats.jsonl").read_bytes()
    (logs / "shop" / "copy.jsonl").write_bytes(chats)
    ran = tracedance("import", "logs/shop", "--store", "kept", "--quiet")
    told = "unchanged (equal to one that was there or came before); "
    assert told in ran.out
    again = tracedance("import", "logs/shop", "--store", "kept", "--quiet")
    assert "0 traces added, 0 replaced, " in again.out
    assert " unchanged; " in again.out


def test_sessions_are_counted_as_the_store_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracedance: Tracedance
) -> None:
    monkeypatch.chdir(tmp_path)
    parent = Parent(trace_id="chief")
    for name, trace in {
        "chief": Trace(id="chief"),
        "helper": Trace(id="helper", parent=parent),
        "apart": Trace(id="apart", session_id="s", parent=parent),
        "beside": Trace(id="beside", session_id="s"),
        "alone": Trace(id="alone"),
    }.items():
        td.save_trace(trace, Path("logs") / f"{name}.json")
    found = imported(tracedance, "logs", "--store", "kept")
    store = TraceStore.open("kept")
    in_store = store.select("SELECT count(DISTINCT family) FROM traces").rows
    assert ((found["total"]["sessions"],),) == in_store == ((2,),)
