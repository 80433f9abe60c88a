"""Each claim family finds what was planted for it, and not its twins; through a store, by SQL."""

from __future__ import annotations

import pytest

from tests.behaviors.planted import Planted, all_planted
from tests.behaviors.planted.scanned import found_in
from tracedance_sdk.behaviors import packaged_behaviors

CLAIMS = [item for item in all_planted() if packaged_behaviors()[item.behavior].frame == "claim"]


@pytest.fixture(scope="module")
def hits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[int]]]:
    return found_in(tmp_path_factory.mktemp("store"), CLAIMS)


@pytest.mark.parametrize("item", CLAIMS, ids=lambda item: item.name)
def test_a_family_finds_what_was_planted_for_it_and_not_its_twins(
    item: Planted, hits: dict[str, dict[str, list[int]]]
) -> None:
    turns = hits[item.name].get(item.behavior, [])
    assert turns == ([] if item.turn is None else [item.turn])


def test_each_family_has_three_sessions_that_show_it_and_three_that_do_not() -> None:
    for name, behavior in packaged_behaviors().items():
        if behavior.frame == "claim":
            own = [item for item in CLAIMS if item.behavior == name]
            shown = [item for item in own if item.turn is not None]
            assert len(shown) >= 3, name
            assert len(own) - len(shown) >= 3, name
