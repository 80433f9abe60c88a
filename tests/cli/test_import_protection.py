"""What `tracedance import` keeps to itself, and what it does not undo."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Tracedance
from tracedance_sdk.store import TraceStore

SECRET = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA" * 3
PEOPLE = ("Ann Lee", "ann@corp.com", "/home/alee")


def chat(text: str, *more: str) -> str:
    messages = [{"role": "user", "content": text}]
    messages += [{"role": "assistant", "content": answer} for answer in more]
    return json.dumps({"id": "k", "messages": messages})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("names.txt").write_text("Ann Lee, ann@corp.com, alee\n")
    return tmp_path


PEOPLE_GONE = ("--pseudonymise", "--names", "names.txt")


def broken(folder: Path) -> None:
    """Write what cannot be read, with secrets and people in names of files, values and keys."""
    folder.mkdir()
    (folder / f"{SECRET}.jsonl").write_text("{\n")
    (folder / "Ann Lee.jsonl").write_text("{\n")
    (folder / "ann.lee").mkdir()
    (folder / "ann.lee" / "a.jsonl").write_text(chat("hi") + "\n{\n")
    trace = {"format": "tracedance.trace", "version": 1, "id": "a", "turns": []}
    (folder / "role.jsonl").write_text(
        "\n".join(
            json.dumps(item)
            for item in (
                {**trace, "id": SECRET, "turns": [{"index": 0, "role": SECRET}]},
                {**trace, "id": "ann@corp.com", "turns": [{"index": 0, "role": "ann@corp.com"}]},
                {**trace, "started_at": "Ann Lee"},
                {"messages": [{"role": SECRET, "content": "x"}]},
                {"messages": [{"role": "Ann Lee", "content": "x"}]},
            )
        )
    )


@pytest.mark.parametrize("store_exists", [True, False], ids=["into a store", "into none"])
def test_lines_about_what_was_not_read_show_no_secret_and_nobody(
    home: Path, tracedance: Tracedance, store_exists: bool
) -> None:
    broken(home / "logs")
    if store_exists:
        TraceStore.create("kept")
    arguments = ("import", "logs", "--store", "kept", *PEOPLE_GONE)
    shown = tracedance(*arguments, "--problems", "problems.txt")
    as_json = tracedance(*arguments, "--json")
    texts = (shown.out, shown.err, as_json.out, as_json.err, Path("problems.txt").read_text())
    for text in texts:
        assert SECRET[:20] not in text
        assert not re.search(r"ann[ .]lee|ann@corp|alee", text, re.IGNORECASE)
    assert len(json.loads(as_json.out)["problems"]) >= 5
    assert "[MASKED:anthropic_key:" in texts[4]
    assert re.search(r"logs/user-\d[0-9a-f]{9}\.jsonl: no collector recognises", texts[4])


def test_an_error_line_names_nobody(home: Path, tracedance: Tracedance) -> None:
    (home / "Ann Lee").mkdir()
    ran = tracedance("import", "Ann Lee", "--store", "alee/kept", *PEOPLE_GONE)
    assert ran.code == 2
    assert re.fullmatch(r"(?s).*nothing was imported from 'user-\d[0-9a-f]{9}'\n", ran.err)
    assert not re.search("ann lee|alee", ran.out + ran.err, re.IGNORECASE)


def test_without_redaction_lines_are_as_they_are(home: Path, tracedance: Tracedance) -> None:
    broken(home / "logs")
    ran = tracedance("import", "logs", "--store", "kept", "--no-redact", "--json")
    assert SECRET in ran.out


TEXT = f"Ann Lee <ann@corp.com> in /home/alee/x has {SECRET}"


def kept() -> tuple[str, str]:
    (trace,) = TraceStore.open("kept", tools="recorded")
    ((level,),) = TraceStore.open("kept").select("SELECT protection FROM traces").rows
    return json.dumps([turn.text for turn in trace.turns]), level


def test_a_list_of_names_that_comes_later_replaces_the_names_that_were_kept(
    home: Path, tracedance: Tracedance
) -> None:
    Path("log.json").write_text(chat(f"Ask Ann Lee. {TEXT}", "Ann Lee is away."))
    tracedance("import", "log.json", "--store", "kept", "--pseudonymise")
    assert "Ann Lee" in kept()[0]
    ran = tracedance("import", "log.json", "--store", "kept", *PEOPLE_GONE, "--quiet")
    assert ran.out == "0 traces added, 1 replaced, 0 unchanged\n"
    assert "Ann Lee" not in kept()[0]
    again = tracedance("import", "log.json", "--store", "kept", *PEOPLE_GONE, "--quiet")
    assert again.out == "0 traces added, 0 replaced, 1 unchanged\n"
    # And a shorter list does not bring them back.
    Path("log.json").write_text(chat(f"Ask Ann Lee. {TEXT}", "Ann Lee is away.", "Well."))
    ran = tracedance("import", "log.json", "--store", "kept", "--pseudonymise", "--quiet")
    assert ran.out.startswith("0 traces added, 0 replaced, 0 unchanged, 1 left out, less protected")
    assert "Ann Lee" not in kept()[0]


@pytest.mark.parametrize("name", ["Al Po", "Alexandra Featherstone"])
def test_a_copy_with_fewer_people_counts_whatever_its_length(
    home: Path, tracedance: Tracedance, name: str
) -> None:
    Path("log.json").write_text(chat(f"Ask {name}.", "Yes."))
    Path("names.txt").write_text(name)
    arguments = ("import", "log.json", "--store", "kept", "--pseudonymise", "--quiet")
    tracedance(*arguments)
    ran = tracedance(*arguments, "--names", "names.txt")
    assert ran.out == "0 traces added, 1 replaced, 0 unchanged\n"
    assert name not in kept()[0]
    assert "less protected" in tracedance(*arguments).out


def test_what_was_taken_out_does_not_come_back_with_a_grown_session(
    home: Path, tracedance: Tracedance
) -> None:
    Path("log.json").write_text(chat(TEXT, "ok"))
    arguments = ("import", "log.json", "--store", "kept")
    tracedance(*arguments, *PEOPLE_GONE)
    before = kept()
    assert before[1] == "pseudonymised"
    Path("log.json").write_text(chat(TEXT, "ok", "I see, Ann Lee.", f"Using {SECRET}."))
    for options in ((), ("--no-redact",), ("--no-redact", *PEOPLE_GONE)):
        ran = tracedance(*arguments, *options, "--quiet")
        assert ran.out == (
            "0 traces added, 0 replaced, 0 unchanged, 1 left out, less protected than what is there"
            "; import with the options of the first import, or take those traces out with"
            " tracedance rm\n"
        )
        assert kept() == before
    ran = tracedance(*arguments, *PEOPLE_GONE, "--quiet")
    assert ran.out == "0 traces added, 1 replaced, 0 unchanged\n"
    text, level = kept()
    assert level == "pseudonymised"
    assert not any(word in text for word in (*PEOPLE, SECRET))


@pytest.mark.parametrize(
    ("options", "level"),
    [
        ((), "masked"),
        (PEOPLE_GONE, "pseudonymised"),
        (("--no-redact", *PEOPLE_GONE), "pseudonymised_only"),
    ],
    ids=["masked", "pseudonymised", "pseudonymised alone"],
)
def test_a_plain_trace_is_replaced_by_a_protected_one(
    home: Path, tracedance: Tracedance, options: tuple[str, ...], level: str
) -> None:
    Path("log.json").write_text(chat(TEXT, "ok", "one", "two"))
    tracedance("import", "log.json", "--store", "kept", "--no-redact")
    assert kept()[1] == "plain"
    Path("log.json").write_text(chat(TEXT, "ok"))
    tracedance("import", "log.json", "--store", "kept", *options)
    assert kept()[1] == level
    assert "one" not in kept()[0]


def test_an_import_with_people_says_so_where_there_are_none(
    home: Path, tracedance: Tracedance
) -> None:
    Path("log.json").write_text(chat(TEXT, "ok"))
    Path("other.json").write_text(chat("another").replace('"k"', '"o"'))
    tracedance("import", "log.json", "--store", "kept", *PEOPLE_GONE)
    assert tracedance("import", "log.json", "--store", "kept", *PEOPLE_GONE).err == ""
    ran = tracedance("import", "other.json", "--store", "kept")
    assert ran.err == (
        "tracedance: note: the store holds 1 pseudonymised trace; without --pseudonymise, people"
        " stand in what is added now\n"
    )
    assert (ran.code, len(TraceStore.open("kept"))) == (0, 2)


def test_people_keep_their_pseudonyms_when_a_list_comes_later(
    home: Path, tracedance: Tracedance
) -> None:
    Path("log.json").write_text(chat("ann@corp.com"))
    Path("other.json").write_text(chat("Ann Lee, ann@corp.com, /home/alee").replace('"k"', '"o"'))
    tracedance("import", "log.json", "--store", "kept", "--pseudonymise")
    tracedance("import", "other.json", "--store", "kept", *PEOPLE_GONE)
    first, second = sorted((t.turns[0].text for t in TraceStore.open("kept")), key=len)
    whose = first.removesuffix("@example.invalid")
    assert second == f"{whose}, {whose}@example.invalid, /home/{whose}"
    assert stat.S_IMODE(Path("kept/redaction.people").stat().st_mode) == 0o600


@pytest.mark.parametrize("options", [(), PEOPLE_GONE, ("--no-redact",), ("--jobs", "2")])
@pytest.mark.parametrize("path", ["none", "empty", "broken"])
def test_what_holds_no_trace_leaves_no_store_behind(
    home: Path, tracedance: Tracedance, path: str, options: tuple[str, ...]
) -> None:
    Path("empty").mkdir()
    Path("broken").mkdir()
    Path("broken/a.jsonl").write_text("{\n")
    ran = tracedance("import", path, "--store", "deep/kept", *options)
    assert ran.code == 2
    assert not Path("deep").exists()
    Path("log.json").write_text(chat("hi"))
    assert tracedance("import", "log.json", "--store", "deep/kept", *options).code == 0
    assert stat.S_IMODE(Path("deep/kept").stat().st_mode) == 0o700


def test_a_folder_that_is_no_store_is_refused_before_anything_is_read(
    home: Path, tracedance: Tracedance
) -> None:
    Path("log.json").write_text(chat("hi"))
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine")
    for store in ("mine", "log.json"):
        ran = tracedance("import", "log.json", "--store", store)
        assert (ran.code, store in ran.err) == (2, True)
    assert [path.name for path in Path("mine").iterdir()] == ["notes.txt"]
