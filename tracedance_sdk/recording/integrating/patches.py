"""Put something around a foreign library's functions, and take it away again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating.patched import Around, Patched

_MISSING: Final = object()


class Patches:
    """Changes to foreign modules and classes, undone together.

    A function that somebody else has wrapped in the meantime cannot be put back without undoing
    their work too; it stays, and does nothing.

    Args:
        tell: Is called with the error where a hook finds no place, and the others are put in all
            the same; without it the error is raised.
    """

    def __init__(self, tell: Callable[[Exception], object] | None = None) -> None:
        self.is_active = True
        self._tell = tell
        self._undo: list[Callable[[], object]] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing is changed."""
        return not self._undo

    def attempt(self, hooks: Callable[[Patches], object]) -> None:
        """Put in hooks that may lack a module, without which the rest of the library is hooked.

        Raises:
            Exception: Whatever they raise, where nobody is to be told of it.
        """
        try:
            hooks(self)
        except Exception as error:  # a foreign module may fail with anything while it is imported
            if self._tell is None:
                raise
            self._tell(error)

    def wrap(self, owner: Any, name: str, around: Around) -> None:
        """Put a function around a function of a module or class.

        What is in its place then is copied, pickled and looked into as the function itself is.

        Raises:
            AttributeError: There is none, and nobody is to be told of it.
        """
        before = vars(owner).get(name, _MISSING)
        try:
            function = before if before is not _MISSING else _inherited(owner, name)
        except AttributeError as error:
            if self._tell is None:
                raise
            self._tell(error)
            return
        is_method = isinstance(owner, type) and inspect.isfunction(function)
        wrapper = Patched(
            function,
            around,
            enabled=lambda: self.is_active,
            method_of=owner if is_method else None,
        )
        setattr(owner, name, wrapper)
        self._undo.append(lambda: _put_back(owner, name, wrapper, before))

    def wrap_family(self, root: type[Any], around: Mapping[str, Around]) -> None:
        """Put functions around methods wherever a subclass defines them, those to come included.

        Args:
            root: The class at the top of the family, whose own methods stay as they are.
            around: What to put around which method.
        """
        for member in _members(root):
            self._wrap_own(member, around)
        before = vars(root).get("__init_subclass__")

        def begin(cls: type[Any], /, **kwargs: Any) -> None:
            if before is None:
                super(root, cls).__init_subclass__(**kwargs)
            else:
                before.__get__(None, cls)(**kwargs)
            if self.is_active:
                GUARD.attempt("new class", PROCESS_FAULTS, self._wrap_own, cls, around)

        self.replace(root, "__init_subclass__", classmethod(begin))

    def _wrap_own(self, member: type[Any], around: Mapping[str, Around]) -> None:
        for name, function in around.items():
            if inspect.isfunction(vars(member).get(name)):
                self.wrap(member, name, function)

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


def _inherited(owner: Any, name: str) -> Any:
    """Return what an owner has by a name, as it is kept and bound to nothing where it can be."""
    for kind in owner.__mro__ if isinstance(owner, type) else ():
        if name in vars(kind):
            return vars(kind)[name]
    return getattr(owner, name)


def _members(root: type[Any]) -> Iterator[type[Any]]:
    known = set[type[Any]]()
    waiting = list(root.__subclasses__())
    while waiting:
        member = waiting.pop()
        if member not in known:
            known.add(member)
            yield member
            waiting += member.__subclasses__()


def _put_back(owner: Any, name: str, ours: object, before: object) -> None:
    if vars(owner).get(name) is not ours:
        return
    if before is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, before)
