"""A patched function is copied, pickled and looked into as it was before."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tracedance_sdk.recording.integrating import Patches


def sell(number: int, *, gift: bool = False) -> int:
    """Sell."""
    return number + gift


async def order(number: int) -> int:
    return number


class Shop:
    """Can be opened anew."""

    def __init__(self, town: str = "Ulm") -> None:
        self.town = town

    def __len__(self) -> int:
        return 0

    def price(self, number: int) -> int:
        """Price."""
        return number

    async def wait(self, number: int) -> int:
        return number

    def each(self, number: int) -> Iterator[int]:
        yield number

    async def each_later(self, number: int) -> AsyncIterator[int]:
        yield number

    @classmethod
    def opened(cls, number: int) -> tuple[type, int]:
        return cls, number

    @staticmethod
    def rounded(number: int) -> int:
        return number


class Branch(Shop):
    """Has a price of its own."""

    def price(self, number: int) -> int:
        return super().price(number) + 1

    def parents_price(self) -> Any:
        return super().price


class Stall(Shop):
    """Has everything from its parent."""


METHODS = ("price", "wait", "each", "each_later", "opened", "rounded")
FUNCTIONS = ("sell", "order")
HERE = sys.modules[__name__]


def through(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs)


@pytest.fixture(params=["ours alone", "under another one's"])
def patches(request: pytest.FixtureRequest) -> Iterator[Patches]:
    made = [Patches()] if request.param == "ours alone" else [Patches(), Patches()]
    for each in made:
        for name in METHODS:
            each.wrap(Shop, name, through)
        for name in FUNCTIONS:
            each.wrap(HERE, name, through)
    yield made[0]
    for each in reversed(made):
        each.undo()


def copied(value: Any) -> Any:
    return copy.deepcopy({"f": value})["f"]


def pickled(value: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


@pytest.mark.parametrize(
    "again", [copy.copy, copied, pickled, functools.partial(pickled, protocol=2)]
)
def test_functions_and_methods_of_a_class_are_the_same_when_copied_or_pickled(
    again: Any, patches: Patches
) -> None:
    assert again(sell) is sell
    assert again(order) is order
    assert again(Shop.price) is Shop.price
    assert again(Shop.wait) is Shop.wait
    assert again(Shop.rounded)(3) == 3
    assert again(Shop().rounded) == Shop.rounded
    assert again(Shop.opened) == Shop.opened
    assert again(Branch("Bonn").opened)(3) == (Branch, 3)
    assert again(functools.partial(Shop.price, Shop()))(3) == 3


def test_a_bound_method_takes_its_object_along(patches: Patches) -> None:
    shop = Shop("Bonn")
    for again in (copied, pickled):
        found = again(shop.price)
        assert (found(3), found.__self__.town) == (3, "Bonn")
        assert found.__self__ is not shop
    assert copy.copy(shop.price) == shop.price
    bound: Any = copy.copy(shop.price)
    assert bound.__self__ is shop
    both: Any = copy.deepcopy({"shop": shop, "price": shop.price})
    assert both["price"].__self__ is both["shop"]


def test_a_method_of_the_parent_stays_the_parents(patches: Patches) -> None:
    branch = Branch()
    assert (branch.price(3), branch.parents_price()(3)) == (4, 3)
    assert copied(branch.parents_price())(3) == 3


def facts_of(place: Any, name: str) -> list[Any]:
    found = getattr(place, name)
    return [
        str(inspect.signature(found)),
        inspect.getsource(found),
        found.__doc__,
        found.__name__,
        found.__qualname__,
        found.__module__,
        callable(found),
        isinstance(found, type(test_a_bound_method_takes_its_object_along)),
        *(
            check(found)
            for check in (
                inspect.isfunction,
                inspect.ismethod,
                inspect.isroutine,
                inspect.iscoroutinefunction,
                inspect.isgeneratorfunction,
                inspect.isasyncgenfunction,
                inspect.getdoc,
                inspect.getfullargspec,
                inspect.unwrap,
            )
        ),
        str(inspect.signature(functools.partial(found, 3))),
        str(inspect.signature(functools.wraps(found)(lambda *_: None))),
        inspect.iscoroutinefunction(functools.partial(found, 3)),
    ]


BEFORE: dict[tuple[Any, str], list[Any]] = {
    **{(place, name): facts_of(place, name) for place in (Shop, Branch) for name in METHODS},
    **{("here", name): facts_of(HERE, name) for name in FUNCTIONS},
}


@pytest.mark.parametrize(("place", "name"), list(BEFORE), ids=str)
def test_looking_into_a_patched_function_finds_what_was_there(
    place: Any, name: str, patches: Patches
) -> None:
    assert facts_of(HERE if place == "here" else place, name) == BEFORE[place, name]


def test_whether_a_subclass_has_a_method_of_its_own_can_still_be_seen(patches: Patches) -> None:
    assert Stall.price is Shop.price
    assert Branch.price is not Shop.price
    assert Shop.price(Stall(), 3) == 3
    with pytest.raises(TypeError):
        Shop.price()  # type: ignore[call-arg]  # on purpose


def test_what_is_called_by_its_class_is_told_of_the_object() -> None:
    seen: list[Any] = []

    def told(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        seen.append((instance, args))
        return wrapped(*args, **kwargs)

    patches, shop = Patches(), Stall()
    patches.wrap(Shop, "price", told)
    assert (Shop.price(shop, 3), Stall.price(shop, number=4), shop.price(5)) == (3, 4, 5)
    patches.undo()
    assert seen == [(shop, (3,)), (shop, ()), (shop, (5,))]


def test_inherited_methods_of_classes_are_patched_as_what_they_are() -> None:
    patches = Patches()
    for name in METHODS:
        patches.wrap(Stall, name, through)

    class Leaf(Stall):
        """Has a class method of its parent's parent."""

    assert Leaf.opened(3) == (Leaf, 3)
    assert (Stall().rounded(3), Stall.rounded(3), Stall().price(3)) == (3, 3, 3)
    assert pickled(Stall.price)(Stall(), 3) == 3
    assert copied(Stall("Bonn").price).__self__.town == "Bonn"
    patches.undo()
    assert not set(METHODS) & set(vars(Stall))


def test_functions_kept_over_the_undoing_are_pickled_as_what_is_there_now() -> None:
    patches = Patches()
    patches.wrap(Shop, "price", through)
    patches.wrap(HERE, "sell", through)
    kept, method, bound = sell, Shop.price, Shop("Bonn").price
    patches.undo()
    assert pickled(kept) is sell
    assert pickled(method) is Shop.price
    assert pickled(bound)(3) == copied(bound)(3) == 3


def test_a_function_known_elsewhere_by_its_name_is_pickled_by_it() -> None:
    elsewhere, patches = type(sys)("elsewhere"), Patches()
    vars(elsewhere)["sell"] = sell
    patches.wrap(elsewhere, "sell", through)
    assert pickled(elsewhere.sell) is sell
    patches.undo()


def test_a_family_is_copied_and_pickled_too() -> None:
    patches = Patches()
    patches.wrap_family(Shop, {"price": through})
    branch = Branch("Bonn")
    assert pickled(Branch.price) is copy.copy(Branch.price) is copied(Branch.price) is Branch.price
    assert pickled(branch.price)(3) == copied(branch.price)(3) == copy.copy(branch.price)(3) == 4
    patches.undo()


def test_local_functions_cannot_be_pickled_with_or_without_a_patch() -> None:
    class Local:
        def go(self) -> None: ...

    patches = Patches()
    patches.wrap(Local, "go", through)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(Local.go)
    patches.undo()
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(Local.go)
