"""The page on people: its rules are those of the code, its table is that of the labels."""

from __future__ import annotations

import csv
from collections import Counter

from tests.docs.pages import ROOT, code_names, page, section, table
from tracedance_sdk.replay import PERSONA_RULES


def test_the_rules_are_those_of_the_code() -> None:
    rows = table(section(page("people.md"), "What is remembered"))
    assert {code_names(row[0])[0]: row[1] for row in rows} == PERSONA_RULES


def test_the_table_of_thirty_conversations_is_that_of_the_labels() -> None:
    file = ROOT / "tests" / "replay" / "people_labels.tsv"
    labels = csv.DictReader(
        file.read_text(encoding="utf-8").splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE
    )
    counted: Counter[tuple[str, str, str]] = Counter()
    ids = set()
    for row in labels:
        ids.add(row["trace"][:8])
        if row["value"]:
            counted[row["trace"][:8], row["first"], row["decision"]] += 1
    shown = {}
    for cells in table(section(page("people.md"), "Thirty conversations, checked by hand")):
        shown[code_names(cells[0])[0]] = tuple(map(int, cells[2:6]))
    assert set(shown) == ids
    for name, (n_values, n_person, n_backed, n_dropped) in shown.items():
        assert n_person == counted[name, "person", "kept"]
        assert n_backed == counted[name, "agent", "kept"]
        assert n_dropped == counted[name, "agent", "dropped"]
        assert n_values == n_person + n_backed + n_dropped
