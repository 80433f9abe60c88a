"""Ways through records that name their parents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.formats.coding.branches import Branch, Link, find_branches


@st.composite
def links(draw: st.DrawFn) -> list[Link]:
    found: list[Link] = []
    for index in range(draw(st.integers(1, 12))):
        parent = draw(st.none() | st.integers(0, 14).map(str))
        root, spoken = draw(st.booleans()), draw(st.booleans())
        found.append(Link((str(index),), parent, is_root=root and parent is None, is_spoken=spoken))
    return found


@given(links())
def test_every_record_is_on_some_branch_and_no_branch_says_what_another_does(
    records: list[Link],
) -> None:
    branches = find_branches(records).found
    assert {step for branch in branches for step in branch.steps} == set(range(len(records)))
    said = [tuple(s for s in branch.steps if records[s].is_spoken) for branch in branches]
    assert len(set(said)) == len(said)
    assert len({branch.name for branch in branches}) == len(branches)
    for branch in branches:
        assert list(branch.steps) == sorted(branch.steps)


@given(links(), st.data())
def test_a_branch_only_grows_with_the_file(records: list[Link], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(records)))

    def spoken(branch: Branch) -> list[int]:
        return [step for step in branch.steps if records[step].is_spoken]

    before = {branch.name: spoken(branch) for branch in find_branches(records[:size]).found}
    after = {branch.name: spoken(branch) for branch in find_branches(records).found}
    for name, steps in before.items():
        assert after[name][: len(steps)] == steps


def test_a_record_without_a_parent_follows_the_one_before_it() -> None:
    (branch,) = find_branches([Link(("a",)), Link(("b",)), Link(("c",), "?")]).found
    assert branch == Branch("", (0, 1, 2), lost=1)
