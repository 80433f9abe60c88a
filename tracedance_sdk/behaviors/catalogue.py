"""The catalogue: the behaviours that come with the package, and their second stages and judges.

Each is a file ``definitions/<id>-<name>.yaml``; its predicate and rule judge are the functions
``find`` and ``judge`` of the module of `families` that it names.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Final

from tracedance_sdk.behaviors.behavior import Behavior, load_behavior, parse_behavior
from tracedance_sdk.behaviors.hits import Predicate, RuleJudge
from tracedance_sdk.errors import InvalidOption, InvalidSpec, Problem, shown
from tracedance_sdk.trace import parse_yaml

_PACKAGE: Final = "tracedance_sdk.behaviors"
_FOLDER: Final = "definitions"
_BETWEEN: Final = re.compile(r"(?i)(?<!\S)(?:and|or)(?!\S)|[,;&|+]")
"""What people write between several behaviours."""


@cache
def packaged_behaviors() -> dict[str, Behavior]:
    """Return the packaged behaviours by id, in order."""
    found: dict[str, Behavior] = {}
    entries = files(_PACKAGE).joinpath(_FOLDER).iterdir()
    for entry in sorted(entries, key=lambda item: item.name):
        if entry.name.endswith(".yaml"):
            document = parse_yaml(entry.read_bytes(), where=entry.name)
            behavior = parse_behavior(document, where=entry.name)
            found[behavior.id] = behavior
    return found


def behavior_named(name: str) -> Behavior:
    """Return a behaviour by its id, by either of its names, or from a file.

    Args:
        name: Such as ``C01``, ``Test-pass claim without a test run`` or ``mine.yaml``; upper and
            lower case are the same.

    Raises:
        InvalidOption: There is no such behaviour and no such file.
        InvalidSpec: The file holds no behaviour.
    """
    if (found := _packaged(name)) is not None:
        return found
    if name.strip().casefold().endswith((".yaml", ".yml", ".json")):
        return _no_double(load_behavior(name), name)
    several = [one.id for piece in _BETWEEN.split(name) if (one := _packaged(piece)) is not None]
    if several and _BETWEEN.search(name):
        each = " ".join(f"--behavior {one}" for one in dict.fromkeys(several))
        raise InvalidOption(
            f"no behaviour {shown(name)}: one is named at a time, to scan for several {each}; "
            "AND and OR are for tracedance benchmark build"
        )
    ids = ", ".join(packaged_behaviors())
    raise InvalidOption(f"no behaviour {shown(name)}; there are {ids}, and files (.yaml, .json)")


def _packaged(name: str) -> Behavior | None:
    wanted = name.strip().casefold()
    for behavior in packaged_behaviors().values():
        names = (behavior.id, behavior.name, behavior.desirable or behavior.name)
        if wanted in (text.casefold() for text in names):
            return behavior
    return None


def _no_double(behavior: Behavior, where: str) -> Behavior:
    """Return a behaviour from a file unless it would pass for another one of the catalogue's."""
    for own in packaged_behaviors().values():
        if own.sha256 == behavior.sha256:
            return behavior
        taken = {own.id.casefold(), own.name.casefold(), (own.desirable or own.name).casefold()}
        if named := {behavior.id.casefold(), behavior.name.casefold()} & taken:
            problem = Problem(f"{shown(min(named))} is {own.id} of the catalogue; name yours apart")
            raise InvalidSpec(f"{where}: {problem}", problems=[problem])
    return behavior


def is_packaged(behavior: Behavior) -> bool:
    """Whether a behaviour is the catalogue's own, word for word in all that is run of it."""
    own = packaged_behaviors().get(behavior.id)
    return own is not None and own.sha256 == behavior.sha256


def predicate_named(name: str) -> Predicate:
    """Return a second stage by its name.

    Raises:
        InvalidSpec: There is none of that name.
    """
    found: Predicate = _family(name).find
    return found


def judge_named(name: str) -> RuleJudge:
    """Return a rule judge by its name.

    Raises:
        InvalidSpec: There is none of that name.
    """
    found: RuleJudge = _family(name).judge
    return found


def _family(name: str) -> ModuleType:
    if name.isidentifier() and not name.startswith("_"):
        module = f"{_PACKAGE}.families.{name}"
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
    raise InvalidSpec(f"no packaged predicate or judge {shown(name)}")
