"""Put something around a foreign library's functions, and take it away again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import wrapt

Around = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]
"""Called instead of the function, with it, the object it is bound to, and its arguments."""

_MISSING: Final = object()


class Patches:
    """Changes to foreign modules and classes, undone together.

    A function that somebody else has wrapped in the meantime cannot be put back without undoing
    their work too; it stays, and does nothing.
    """

    def __init__(self) -> None:
        self.is_active = True
        self._undo: list[Callable[[], object]] = []

    def wrap(self, owner: Any, name: str, around: Around) -> None:
        """Put a function around an attribute of a module or class.

        Raises:
            AttributeError: There is none.
        """
        before = vars(owner).get(name, _MISSING)
        function = before if before is not _MISSING else getattr(owner, name)
        wrapper = wrapt.FunctionWrapper(function, around, enabled=lambda: self.is_active)
        setattr(owner, name, wrapper)
        self._undo.append(lambda: _put_back(owner, name, wrapper, before))

    def replace(self, owner: Any, name: str, value: object) -> None:
        """Put another value in the place of an attribute."""
        before = vars(owner).get(name, _MISSING)
        setattr(owner, name, value)
        self._undo.append(lambda: _put_back(owner, name, value, before))

    def on_undo(self, action: Callable[[], object]) -> None:
        """Call something when the changes are undone, such as removing a hook."""
        self._undo.append(action)

    def undo(self) -> None:
        """Undo all changes, the last one first."""
        self.is_active = False
        while self._undo:
            self._undo.pop()()


def _put_back(owner: Any, name: str, ours: object, before: object) -> None:
    if vars(owner).get(name) is not ours:
        return
    if before is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, before)
