"""Put functions around the methods of a class's whole family, those defined later included."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating import Patches
from tracedance_sdk.recording.integrating.patches import Around


def wrap_family(patches: Patches, root: type[Any], around: Mapping[str, Around]) -> None:
    """Wrap methods wherever a subclass defines them.

    Args:
        patches: Keeps what to undo.
        root: The class at the top of the family, whose own methods stay as they are.
        around: What to put around which method.
    """
    for member in _members(root):
        _wrap(patches, member, around)
    before = vars(root).get("__init_subclass__")

    def begin(cls: type[Any], /, **kwargs: Any) -> None:
        if before is None:
            super(root, cls).__init_subclass__(**kwargs)
        else:
            before.__get__(None, cls)(**kwargs)
        if patches.is_active:
            GUARD.attempt("new class", PROCESS_FAULTS, _wrap, patches, cls, around)

    patches.replace(root, "__init_subclass__", classmethod(begin))


def _wrap(patches: Patches, member: type[Any], around: Mapping[str, Around]) -> None:
    for name, function in around.items():
        if inspect.isfunction(vars(member).get(name)):
            patches.wrap(member, name, function)


def _members(root: type[Any]) -> Iterator[type[Any]]:
    known = set[type[Any]]()
    waiting = list(root.__subclasses__())
    while waiting:
        member = waiting.pop()
        if member not in known:
            known.add(member)
            yield member
            waiting += member.__subclasses__()
