"""Whoever was given a pseudonym keeps it, whatever lists of names come later and in what order."""

from __future__ import annotations

import json
import stat
import tempfile
import threading
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracedance_sdk.errors import JournalError
from tracedance_sdk.recording import Pseudonymiser

KEY = b"k" * 32
ADDRESSES = ("ann@corp.com", "bo@corp.com", "cy@x.org")
ACCOUNTS = ("annl", "bday", "cfox")
NAMES = ("Ann Lee", "Bo Day", "Cy Fox")
LINES = tuple(zip(ADDRESSES, ACCOUNTS, NAMES, strict=True))


def pseudonyms(folder: Path, people: list[list[str]], items: list[str]) -> dict[str, str]:
    """Return what each item became, in one import; a name that is not listed stays."""
    work = Pseudonymiser(key=KEY, people=people, folder=folder)
    texts = [f"/home/{item}" if item in ACCOUNTS else item for item in items]
    found = json.loads(work.redact(orjson.dumps(texts)))
    plain = [text.removeprefix("/home/").removesuffix("@example.invalid") for text in found]
    return {a: b for a, b in zip(items, plain, strict=True) if a != b}


spellings = st.sampled_from([item for line in LINES for item in line])
lists = st.lists(
    st.sampled_from(LINES).flatmap(
        lambda line: st.lists(st.sampled_from(line), min_size=1, unique=True)
    ),
    max_size=3,
)
imports = st.lists(st.tuples(lists, st.lists(spellings, max_size=6)), min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(imports)
def test_a_spelling_keeps_its_pseudonym_over_imports_in_any_order(
    found: list[tuple[list[list[str]], list[str]]],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        known: dict[str, str] = {}
        for people, items in found:
            now = pseudonyms(Path(name), people, items)
            assert all(known.setdefault(item, given) == given for item, given in now.items())


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(LINES).flatmap(st.permutations), st.integers(0, 2))
def test_whoever_is_learned_later_joins_the_pseudonym_already_given(
    line: list[str], first: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        known = line[first]
        people = [] if known not in NAMES else [[known]]
        (given,) = pseudonyms(Path(name), people, [known]).values()
        assert set(pseudonyms(Path(name), [line], line).values()) == {given}


@pytest.mark.parametrize("line", LINES)
def test_the_order_of_spellings_in_a_list_does_not_matter(
    tmp_path: Path, line: tuple[str, ...]
) -> None:
    one = pseudonyms(tmp_path / "one", [list(line)], list(line))
    two = pseudonyms(tmp_path / "two", [list(reversed(line))], list(line))
    assert one == two
    assert len(set(one.values())) == 1


def test_what_is_kept_is_private_and_names_nobody(tmp_path: Path) -> None:
    given = pseudonyms(tmp_path, [list(LINES[0])], [*LINES[0], "bo@corp.com"])
    path = tmp_path / "redaction.people"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    head, *lines = path.read_text().splitlines()
    assert head == "tracedance.people 1"
    assert [line.split(" ")[1] for line in lines] == [
        given[item].removeprefix("user-") for item in (*LINES[0], "bo@corp.com")
    ]
    assert not any(item.split("@")[0].lower() in path.read_text().lower() for item in LINES[0])
    path.chmod(0o644)
    with pytest.raises(JournalError, match="has mode 0644, so others may read it"):
        Pseudonymiser(key=KEY, folder=tmp_path)
    path.chmod(0o600)
    path.write_text("tracedance.people 2\n")
    with pytest.raises(JournalError, match="no list of pseudonyms of version 1"):
        Pseudonymiser(key=KEY, folder=tmp_path)


def test_several_that_write_at_once_agree(tmp_path: Path) -> None:
    plain = Pseudonymiser(key=KEY, folder=tmp_path)
    listed = Pseudonymiser(key=KEY, people=[["bo", "ann@corp.com"]], folder=tmp_path)
    assert plain.pseudonym("bo") == listed.pseudonym("bo") == listed.pseudonym("ann@corp.com")
    workers = [Pseudonymiser(key=KEY, folder=tmp_path) for _ in range(4)]
    found: list[list[str]] = [[] for _ in workers]

    def work(number: int) -> None:
        found[number] = [workers[number].pseudonym(f"p{n}@x.org") for n in range(50)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(names == found[0] for names in found)
    assert len(set(found[0])) == 50


def test_a_line_that_was_cut_off_is_passed_over(tmp_path: Path) -> None:
    pseudonyms(tmp_path, [], ["ann@corp.com"])
    path = tmp_path / "redaction.people"
    with path.open("ab") as stream:
        stream.write(b"0123456789abcdef")
    known = pseudonyms(tmp_path, [], ["ann@corp.com", "bo@corp.com"])
    assert pseudonyms(tmp_path, [["bo@corp.com", "ann@corp.com"]], list(known)) == known


def test_lines_of_another_key_count_for_nothing(tmp_path: Path) -> None:
    pseudonyms(tmp_path, [["ann@corp.com", "bo"]], ["bo"])
    other = Pseudonymiser(key=b"o" * 32, folder=tmp_path)
    assert other.pseudonym("bo") == Pseudonymiser(key=b"o" * 32).pseudonym("bo")
