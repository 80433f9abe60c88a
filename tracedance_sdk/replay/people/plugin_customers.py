"""Customers by name: those that come along, and those of other packages.

A package offers one under the entry point group ``tracedance.customers``: the name is the
customer's, the object is called with the `Person` and returns a `Customer`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Final

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.replay.people.customers import Customer, RuleCustomer, ScriptedCustomer
from tracedance_sdk.replay.rebuilt_test import Person

GROUP: Final = "tracedance.customers"

CustomerFactory = Callable[[Person], Customer]
"""Makes the customer that speaks for a person."""

_BUILT_IN: Final[dict[str, CustomerFactory]] = {
    ScriptedCustomer.name: ScriptedCustomer,
    RuleCustomer.name: RuleCustomer,
}


def customer_named(name: str) -> CustomerFactory:
    """Return what makes the customer of a name.

    Args:
        name: ``scripted``, ``rules``, or what an installed package offers.

    Raises:
        InvalidOption: There is none of that name, or its package cannot be loaded.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    offered = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in offered:
        there_are = ", ".join([*_BUILT_IN, *sorted(offered)])
        raise InvalidOption(f"there is no customer {name!r}; there are {there_are}")
    try:
        factory: CustomerFactory = offered[name].load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InvalidOption(
            f"the customer {name!r} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not callable(factory):
        raise InvalidOption(f"the customer {name!r} is not callable")
    return factory
