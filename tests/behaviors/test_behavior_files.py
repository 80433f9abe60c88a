"""Files of behaviours: what they say is taken word for word, or refused with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tracedance_sdk.behaviors import behavior_named, packaged_behaviors
from tracedance_sdk.errors import InvalidOption, InvalidSpec


def document(**fields: Any) -> dict[str, Any]:
    return {
        "format": "tracedance.behavior",
        "version": 1,
        "id": "X01",
        "name": "Mine",
        "frame": "action",
        "definition": "d",
        "criterion": "c",
        "question": "q",
        "levels": {0: "bad", 5: "good"},
        "anchor": {"sql": "SELECT trace_id, turn FROM turns"},
        **fields,
    }


def written(folder: Path, **fields: Any) -> str:
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(document(**fields)), encoding="utf-8")
    return str(path)


def test_a_file_is_a_behaviour_and_keeps_what_it_says_besides(tmp_path: Path) -> None:
    found = behavior_named(written(tmp_path, team="search"))
    assert (found.id, found.status, found.rubric.levels) == ("X01", "stable", {0: "bad", 5: "good"})
    assert found.model_extra == {"team": "search"}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"definitions": "d"}, "'definitions' is no field; did you mean 'definition'?"),
        ({"anchor": {"sql": "SELECT 1", "predicates": "x"}}, "did you mean 'predicate'?"),
        ({"frame": "actions"}, "@ $.frame"),
        ({"levels": {0: "bad"}}, "level 5 is needed"),
        ({"levels": {5: "good"}}, "level 0 is needed"),
        ({"id": "A01"}, "'a01' is A01 of the catalogue"),
        ({"id": "a01"}, "'a01' is A01 of the catalogue"),
        ({"name": "Blind edit"}, "'blind edit' is A05 of the catalogue"),
        ({"definition": " "}, "@ $.definition"),
        ({"anchor": {"sql": "SELECT 1", "predicate": "x", "code": "y"}}, "not both"),
    ],
    ids=["field", "anchor", "frame", "5", "0", "id", "lower", "name", "empty", "both"],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, fields: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidSpec) as caught:
        behavior_named(written(tmp_path, **fields))
    assert told in str(caught.value)


def test_a_copy_of_a_packaged_behaviour_is_that_behaviour(tmp_path: Path) -> None:
    own = packaged_behaviors()["C01"].model_dump(mode="json", exclude_none=True)
    path = tmp_path / "copy.yaml"
    path.write_text(yaml.safe_dump({"format": "tracedance.behavior", "version": 1, **own}))
    assert behavior_named(str(path)).sha256 == packaged_behaviors()["C01"].sha256


def test_a_name_that_nobody_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidOption, match="there are A01, A02"):
        behavior_named("Z99")
