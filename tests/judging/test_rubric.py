"""Rubrics: what a file must hold, what makes it the same rubric, which come with the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import keys, values
from tracedance_sdk.errors import InvalidSpec, UnreadableFile, UnsupportedVersion
from tracedance_sdk.judging import Rubric, load_rubric, packaged_rubrics, parse_rubric

GOOD: dict[str, Any] = {
    "format": "tracedance.rubric",
    "version": 1,
    "id": "kind",
    "title": "Kindness",
    "about": "turn",
    "question": "Is it kind?",
    "levels": {"0": "No.", "3": "Nearly.", "5": "Yes."},
}


def changed(**fields: Any) -> dict[str, Any]:
    return {**GOOD, **fields}


def without(field: str) -> dict[str, Any]:
    return {key: value for key, value in GOOD.items() if key != field}


BAD: dict[str, tuple[Any, str]] = {
    "no object": ([1], "a rubric is an object, not [1]"),
    "no format": (
        without("format"),
        "'format: tracedance.rubric' is needed, not None @ $.format",
    ),
    "another format": (
        changed(format="tracedance.task"),
        "'format: tracedance.rubric' is needed, not 'tracedance.task' @ $.format",
    ),
    "no version": (without("version"), "'version: 1' is needed @ $.version"),
    "version true": (changed(version=True), "'version: 1' is needed @ $.version"),
    "no id": (without("id"), "this is needed @ $.id"),
    "an id with a space": (changed(id="a b"), "a short name of letters, digits, "),
    "an id with a line end": (changed(id="a\n"), "a short name of letters, digits, "),
    "an empty title": (changed(title=" "), "a text is needed, not an empty one @ $.title"),
    "a title that is a number": (changed(title=3), "a text is needed, not 3 @ $.title"),
    "about nothing known": (changed(about="run"), "it should be 'trace' or 'turn', not 'run'"),
    "no level 5": (
        changed(levels={"0": "No."}),
        "level 5 is needed: what the score means @ $.levels",
    ),
    "level 6": (changed(levels={"0": "a", "5": "b", "6": "c"}), "levels are 0 to 5, not '6'"),
    "level 2.5": (changed(levels={"0": "a", "5": "b", 2.5: "c"}), "levels are 0 to 5, not 2.5"),
    "level 05": (changed(levels={"0": "a", "5": "b", "05": "c"}), "levels are 0 to 5, not '05'"),
    "a list of levels": (changed(levels=["a", "b"]), "an object is needed, not ['a', 'b']"),
    "a level without words": (
        changed(levels={"0": "a", "5": None}),
        "a text is needed, not None @ $.levels[5]",
    ),
    "passing from 6": (changed(pass_from=6), "it should be less than or equal to 5, not 6"),
    "passing from NaN": (changed(pass_from=float("nan")), "pass_from"),
    "passing from true": (changed(pass_from=True), "a number is needed, not True @ $.pass_from"),
    "passing from text": (changed(pass_from="4"), "a number is needed, not '4' @ $.pass_from"),
    "a misspelled field": (
        changed(pass_form=3),
        "'pass_form' is no field of a rubric; did you mean 'pass_from'? @ $",
    ),
    "a lone surrogate": (changed(title="\ud800"), "@ $.title"),
    "far too long": (changed(question="a" * 5_000), "@ $.question"),
}


@pytest.mark.parametrize("label", BAD)
def test_what_is_wrong_is_said_with_its_place(label: str) -> None:
    document, told = BAD[label]
    with pytest.raises(InvalidSpec) as caught:
        parse_rubric(document, where="kind.yaml")
    assert str(caught.value).startswith("kind.yaml: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_problems_are_listed() -> None:
    with pytest.raises(InvalidSpec) as caught:
        parse_rubric({"format": "tracedance.rubric", "version": 1, "id": "a"})
    assert [problem.path for problem in caught.value.problems] == [
        "$.title", "$.about", "$.question", "$.levels",
    ]  # fmt: skip


def test_a_newer_version_is_refused_as_such() -> None:
    with pytest.raises(UnsupportedVersion, match="version 2; this release reads version 1"):
        parse_rubric(changed(version=2))


def test_levels_are_numbers_however_they_are_spelled() -> None:
    spelled = changed(levels={5: "Yes.", "3": "Nearly.", 0: "No."})
    assert parse_rubric(spelled) == parse_rubric(GOOD)
    assert list(parse_rubric(spelled).levels) == [0, 3, 5]


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    in_yaml, in_json = tmp_path / "kind.yaml", tmp_path / "kind.json"
    in_json.write_text(json.dumps(GOOD))
    in_yaml.write_text(
        "format: tracedance.rubric\nversion: 1\nid: kind\ntitle: Kindness\nabout: turn\n"
        "question: Is it kind?\nlevels: {0: No., 3: Nearly., 5: Yes.}\n"
    )
    assert load_rubric(in_yaml) == load_rubric(in_json)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.json", '{"format": 1, "format": 2}', "stands twice"),
        ("a.json", "{", "not JSON"),
        ("a.yaml", "a: [", "not YAML"),
        ("a.yaml", "!!python/object:os.system {}", "tag"),
        ("a.yaml", "", "empty"),
    ],
)
def test_a_file_that_is_no_document_is_one_line(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InvalidSpec, match=told):
        load_rubric(path)


def test_a_packaged_rubric_goes_by_its_bare_id(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert {"task-completion", "honest-claims", "asks-before-destructive", "tool-use"} <= set(
        packaged_rubrics()
    )
    for name in packaged_rubrics():
        rubric = load_rubric(name)
        assert rubric.id == name
        assert sorted(rubric.levels) == [0, 1, 2, 3, 4, 5]
        assert rubric.pass_from == 4


def test_a_rubric_that_is_nowhere_names_those_that_are() -> None:
    with pytest.raises(UnreadableFile, match=r"'nowhere' is neither .* packaged are asks-before"):
        load_rubric("nowhere")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "Kindliness"),
        ("question", "Was it kind?"),
        ("about", "trace"),
        ("levels", {"0": "No.", "5": "Yes."}),
    ],
)
def test_what_a_judge_is_shown_makes_another_rubric(field: str, value: Any) -> None:
    assert parse_rubric(changed(**{field: value})).sha256 != parse_rubric(GOOD).sha256


def test_a_changed_copy_is_another_rubric() -> None:
    rubric = parse_rubric(GOOD)
    before = rubric.sha256
    assert rubric.model_copy(update={"question": "Was it kind?"}).sha256 != before


@pytest.mark.parametrize(
    ("field", "value"), [("id", "nice"), ("pass_from", 3.5), ("notes", "Mine."), ("x_own", [1])]
)
def test_what_no_judge_is_shown_makes_no_other_rubric(field: str, value: Any) -> None:
    assert parse_rubric(changed(**{field: value})).sha256 == parse_rubric(GOOD).sha256


_words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda text: bool(text.strip())
)


_documents = st.fixed_dictionaries(
    {
        "levels": st.dictionaries(st.sampled_from("1234"), _words).flatmap(
            lambda middle: st.tuples(_words, _words).map(
                lambda ends: {**middle, "0": ends[0], "5": ends[1]}
            )
        ),
        "title": _words,
        "question": _words,
        "pass_from": st.floats(0, 5),
    }
)


@given(document=_documents, own=st.dictionaries(keys.map("x_{}".format), values, max_size=2))
def test_a_rubric_that_is_written_is_read_back(
    document: dict[str, Any], own: dict[str, Any]
) -> None:
    rubric = parse_rubric({**own, **GOOD, **document})
    again = parse_rubric(json.loads(json.dumps(rubric.to_dict())))
    assert again == rubric
    assert again.sha256 == rubric.sha256
    assert isinstance(again, Rubric)
    assert set(own) <= set(rubric.to_dict())
