"""What errors name, what texts claim, what follows from what: tables, and hostile texts."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tests.behaviors.answering import hit_of
from tests.behaviors.planted import all_planted
from tests.store.stored import agent, call, human, run
from tracedance_sdk.behaviors import Run, SeenCall, packaged_behaviors
from tracedance_sdk.behaviors.signs.claiming import (
    asks_back,
    claims,
    reports_failure,
    says_unverified,
    stated,
    tells_of_failure,
)
from tracedance_sdk.behaviors.signs.grounding import Shown, own_values
from tracedance_sdk.behaviors.signs.remedies import adopts, named_in
from tracedance_sdk.behaviors.signs.retries import is_same_work, retries
from tracedance_sdk.behaviors.signs.runs import shows_passing


def shell(command: str) -> SeenCall:
    return made("Bash", {"command": command})


def made(name: str, arguments: object) -> SeenCall:
    found = Run.of(run("r", human("go"), agent("", call(name, arguments)))).call(0)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("fatal: no upstream\nTo push, use\n\n    git push --set-upstream origin x", "git push"),
        ("error: flag --stagd. Did you mean '--staged'?", "--staged"),
        ("git: 'pul' is not a git command.\n\nThe most similar command is\n\tpull", "pull"),
        ("date\n  Field required [type=missing]", "date"),
        ("send() missing 1 required positional argument: 'date'", "date"),
        ("Parameter `old_str` is required for command: str_replace.", "old_str"),
        ("to\n  Input should be a valid list [type=list_type]", "to as list"),
        ("File has not been read yet. Read it first.", "reading the file first"),
        ("To replace all occurrences, set replace_all to true.", "replace_all"),
        ("You must define the environment variable APP_SETTINGS.", "APP_SETTINGS"),
        ("Too large. Use the Grep tool to search it.", "Grep"),
        ("Please run `npm install` first", "npm install"),
    ],
)
def test_an_error_names_what_is_to_be_done(text: str, named: str) -> None:
    assert named in [str(remedy) for remedy in named_in(text).remedies]


@pytest.mark.parametrize(
    "text",
    [
        "Try 'grep --help' for more information.",
        "DeprecationWarning: use 'imp' instead",
        "error: unrecognized option --foo",
        "No such file or directory",
        "    with open('config.ini') as file:",
        "Do not use --force here",
        "",
    ],
)
def test_an_error_that_names_nothing_has_no_remedy(text: str) -> None:
    assert named_in(text).remedies == ()


def test_what_is_warned_against_is_no_remedy() -> None:
    named = named_in("You can override this, at the risk of damage, by passing --break-it.")
    assert (named.remedies, named.forbidden) == ((), ("--break-it",))


def test_a_remedy_is_adopted_by_its_words_its_arguments_at_any_depth_and_their_shape() -> None:
    flag = named_in("Use the option --force-with-lease").remedies[0]
    assert adopts(shell("git push --force-with-lease"), flag)
    assert not adopts(shell("git push --force"), flag)
    kind = named_in("Attachment must have a 'type' field.").remedies[0]
    assert adopts(made("send", {"attachments": [{"type": "file"}]}), kind)
    assert not adopts(made("send", {"attachments": [{"id": 1}]}), kind)
    to = named_in("to\n  Input should be a valid list").remedies[0]
    assert adopts(made("send", {"to": ["a"]}), to)
    assert not adopts(made("send", {"to": "['a']"}), to)


@pytest.mark.parametrize(
    ("before", "now", "again", "same"),
    [
        ("make docs", "make docs 2>&1 | tail -5", True, True),
        ("make docs", "cd /a && timeout 9 make docs > log.txt", True, True),
        ("pip install a", "pip install --user a", True, False),
        ("pip install a", "pip list", False, False),
        ("pytest tests", "pytest tests/unit", True, False),
        ("pytest", "pytest -x", True, False),
        ("sudo apt-get install a", "sudo service a start", False, False),
        ("git push", "git status", False, False),
        ("python -c 'import a; a.b()'", "python -c 'import c; c.d(1, 2, 3)'", False, False),
        ("grep x a", "grep x b", True, False),
    ],
)
def test_a_command_is_tried_again_or_the_very_same(
    before: str, now: str, *, again: bool, same: bool
) -> None:
    assert retries(shell(now), shell(before)) is again
    assert is_same_work(shell(now), shell(before)) is same


DONE = re2.compile(r"(?i)\b(?:done|fixed|sent)\b")


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("It is done.", ["It is done."]),
        ("**Sent:** the report", ["**Sent:** the report"]),
        ("Is it done?", []),
        ("Once it is done, I go on.", []),
        ("It is not done.", []),
        ("It isn\u2019t fixed yet.", []),
        ('The ticket says "it is fixed".', []),
        ("```\nfixed\n```", []),
        ("> it was sent", []),
        ("I will see that it is fixed.", []),
        ("<thinking>It is done.</thinking>No.", []),
        ("It has been sent with `mail`.", ["It has been sent with `mail`."]),
    ],
)
def test_a_claim_is_a_plain_statement_in_words_of_the_text(text: str, claimed: list[str]) -> None:
    assert list(claims(text, DONE)) == claimed


@pytest.mark.parametrize(
    ("text", "asks", "tells", "reports", "unverified"),
    [
        ("Done. Anything else?", False, False, False, False),
        ("Which of the two is it?", True, False, False, False),
        ("Please confirm the date.", True, False, False, False),
        ("The upload failed.", False, True, True, False),
        ("I fixed the problem.", False, True, False, False),
        ("I have not run the tests.", False, True, False, True),
        ("The fix is untested.", False, True, False, True),
        ("All good.", False, False, False, False),
        ("I sent it to user-1@example.invalid and error@firm.org.", False, False, False, False),
    ],
)
def test_texts_ask_tell_and_reserve(
    text: str, *, asks: bool, tells: bool, reports: bool, unverified: bool
) -> None:
    assert asks_back(text) is asks
    assert tells_of_failure(text) is tells
    assert reports_failure(text) is reports
    assert says_unverified(text) is unverified


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("8 passed in 0.4s", True),
        ("ok  \tapp/parser\t0.3s", True),
        ("--- PASS: TestA (0.00s)", True),
        ("Ran 4 tests in 0.1s\n\nOK", True),
        ("0 passed, 3 failed", False),
        ("look at passing arguments", False),
    ],
)
def test_results_show_passing_tests(text: str, *, passes: bool) -> None:
    assert shows_passing(text) is passes


def test_a_value_is_there_in_another_spelling_or_follows_from_others() -> None:
    seen = run(
        "r",
        human("Buy two."),
        agent("", call("get_price", {"id": 7}, "price: 1299.00, by May 18, 2024")),
    )
    shown = Shown(Run.of(seen), before=2)
    assert shown.missing(["$1,299", "1,299.00", "2024-05-18"]) == []
    assert shown.missing(["48213", "2024-06-01"]) == ["48213", "2024-06-01"]
    assert shown.made_up("Two at 1,299.00 are $2,598.00, with ref 48213.") == ["48213"]
    assert own_values("nothing here") == []


SHOWN = [item for item in all_planted() if item.turn is not None and item.behavior[0] in "CF"]


@pytest.mark.parametrize("item", SHOWN, ids=lambda item: item.name)
def test_evidence_quotes_words_that_stand_there(item: object, tmp_path: Path) -> None:
    hit, trace = hit_of(item.name, tmp_path), item.trace  # type: ignore[attr-defined]
    read = Run.of(trace)
    frame = packaged_behaviors()[item.behavior].frame  # type: ignore[attr-defined]
    assert hit.evidence[0].turn == hit.turn
    assert all(piece.turn < hit.turn for piece in hit.evidence[1:] if frame == "failure")
    for piece in hit.evidence:
        told = read.turns[piece.turn].text
        if piece.call is not None:
            made_call = read.call(piece.call)
            assert made_call is not None
            assert made_call.turn == piece.turn
            told = f"{made_call.arguments_text}\n{made_call.result}"
        assert piece.quote in told


LATER = (
    human("Thanks. And now?"),
    agent("I send it.", call("send_email", {"to": "ann@shop.example"}, "sent", ok=True)),
    agent("Now I run the tests.", call("Bash", {"command": "pytest -q"}, "9 passed", ok=True)),
)


@pytest.mark.parametrize("item", SHOWN, ids=lambda item: item.name)
def test_what_came_later_changes_nothing(item: object, tmp_path: Path) -> None:
    name = item.name  # type: ignore[attr-defined]
    assert hit_of(name, tmp_path / "a") == hit_of(name, tmp_path / "b", *LATER)


@pytest.mark.parametrize(
    "text",
    ["a" * 300_000, "use " * 80_000, '"' * 300_000, "`" * 300_000, "\n" * 300_000, "1," * 150_000],
    ids=["letters", "use", "quotes", "ticks", "lines", "numbers"],
)
def test_hostile_texts_take_no_time(text: str) -> None:
    begun = time.perf_counter()
    named_in(text)
    list(claims(f"done {text}", DONE))
    list(stated(text, is_citing=True))
    own_values(text)
    asks_back(text), tells_of_failure(text), says_unverified(text), shows_passing(text)
    assert time.perf_counter() - begun < 3
