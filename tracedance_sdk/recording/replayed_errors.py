"""Recorded errors, raised again."""

from __future__ import annotations

import ast
import builtins
import re
import sys
import traceback
import types
from typing import TYPE_CHECKING, Any, Final

from tracedance_sdk.recording.failures import words_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracedance_sdk.trace import ErrorInfo

_UNTOLD = "Failed"

_NUMBERED: Final = re.compile(r"\[Errno (\d+)\] (.+?)(?:: (['\"].*))?", re.DOTALL)
"""The text of an error of the system: its number, what it means, and perhaps a file."""

_GROUPED: Final = re.compile(r"(.*) \((\d{1,6}) sub-exceptions?\)", re.DOTALL)
"""The text of a group of exceptions: its message, and how many they are."""

_HTTP: Final = re.compile(r"HTTP Error (\d+): (.*)", re.DOTALL)
"""The text of an answer of an HTTP server that `urllib` takes for an error."""


class ReplayedError(Exception):
    """A tool failed when it was recorded, and fails in the same words now.

    It is no fault of this library's but stands for the tool's own error, so that an agent meets
    what it met before. Where the class of the recorded error is a builtin one, or is defined in a
    module that is loaded, the error raised is of that class too: ``except ValueError`` and
    ``except shop.SoldOut`` catch what they would have caught. Of its attributes, only `args` is
    there, with the message; with the key of a `KeyError`, number and text of an `OSError`, the
    status of an HTTP error of `urllib`. What was in a group of exceptions is not known: as many
    replayed errors are.

    Attributes:
        recorded_type: The class as recorded, such as ``ValueError`` or ``shop.SoldOut``.
    """

    recorded_type: str = _UNTOLD
    _text: str | None = None

    def __str__(self) -> str:
        if self._text is not None:
            return self._text
        return str(self.args[0]) if self.args else ""


def replayed_error(told: ErrorInfo | None) -> ReplayedError:
    """Return a recorded error as one to raise.

    Example:
        >>> from tracedance_sdk.trace import ErrorInfo
        >>> error = replayed_error(ErrorInfo(type="KeyError", message="no order 8"))
        >>> isinstance(error, KeyError), isinstance(error, ReplayedError), str(error)
        (True, True, 'no order 8')
    """
    name = _UNTOLD if told is None else told.type
    message = "" if told is None else told.message
    recorded = _recorded_class(name)
    of_its_class = None if recorded is None else _usable(_class_of(name, recorded), message)
    if of_its_class is not None:
        return of_its_class
    return _error_of(_class_of(name, Exception), message)


def _usable(kind: type[ReplayedError], message: str) -> ReplayedError | None:
    """Return an error of a class; None where it cannot be made, or cannot be dealt with."""
    try:
        error = _error_of(kind, message)
        str(error), repr(error), hash(error), bool(error)
        traceback.format_exception(error)
        error.__notes__ = []
        del error.__notes__
    except Exception:  # noqa: BLE001 - code of the class's own, which wants what was not recorded
        return None
    return error


def _error_of(kind: type[ReplayedError], message: str) -> ReplayedError:
    """Return an error of a class, whose own `__init__` may want what was not recorded."""
    given = _arguments(kind, message)
    error = _bare(kind, given)
    error.args = given
    error._text = message
    if message == words_for(error):
        error.args, error._text = (), ""
    elif isinstance(error, KeyError):
        error.args = (_literal(message),)
    elif isinstance(error, OSError):
        _number(error, message)
    return error


def _arguments(kind: type[ReplayedError], message: str) -> tuple[Any, ...]:
    if not issubclass(kind, BaseExceptionGroup):
        return (message,)
    told = _GROUPED.fullmatch(message)
    if told is None:
        return message, [ReplayedError("not recorded")]
    return told[1], [ReplayedError("not recorded") for _ in range(max(1, int(told[2])))]


def _bare(kind: type[ReplayedError], given: tuple[Any, ...]) -> ReplayedError:
    """Return an object of a class, made by what the interpreter itself has for that.

    Raises:
        TypeError: There is no way to make it.
    """
    for owner in kind.__mro__:
        make = vars(owner).get("__new__")
        if isinstance(make, types.BuiltinFunctionType):
            try:
                made: ReplayedError = make(kind, *given)
            except TypeError:
                continue
            return made
    raise TypeError(f"{kind!r} cannot be made")


def _literal(text: str) -> object:
    """Return the value that a text is the ``repr`` of, else the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _number(error: OSError, message: str) -> None:
    """Give an error of the system the attributes that its text tells."""
    told = _NUMBERED.fullmatch(message)
    if told is not None:
        error.errno, error.strerror = int(told[1]), told[2]
        error.args = (error.errno, error.strerror)
        if told[3] is not None:
            error.filename = _literal(told[3])
        return
    answered = _HTTP.fullmatch(message)
    if answered is not None and _is_of(error, "urllib.error", "HTTPError"):
        vars(error).update(code=int(answered[1]), msg=answered[2])


def _is_of(error: object, module: str, name: str) -> bool:
    return any(
        (kind.__module__, kind.__qualname__) == (module, name) for kind in type(error).__mro__
    )


def _recorded_class(name: str) -> type[Exception] | None:
    """Return the class of that name, of a module that is loaded already."""
    module, _, _ = name.rpartition(".")
    if not module:
        return _exception(getattr(builtins, name, None))
    while module:
        loaded = sys.modules.get(module)
        if loaded is not None:
            found: Any = loaded
            for part in name[len(module) + 1 :].split("."):
                found = vars(found).get(part) if hasattr(found, "__dict__") else None
            return _exception(found)
        module = module.rpartition(".")[0]
    return None


def _exception(found: object) -> type[Exception] | None:
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def _class_of(name: str, recorded: type[Exception]) -> type[ReplayedError]:
    """Return a class that is `ReplayedError` and the recorded one, and is called like it."""
    module, _, qualified = name.rpartition(".")
    body = {
        **dict(_own_ways(recorded)),
        "recorded_type": name,
        "__module__": module or "builtins",
        "__qualname__": qualified or _UNTOLD,
    }
    bases = (ReplayedError,) if recorded is Exception else (ReplayedError, recorded)
    try:
        return _made(bases, body)
    except Exception:  # noqa: BLE001 - a class may refuse to be had together with another
        return _made((ReplayedError,), body)


_PLAIN: Final = (
    "args",
    "__cause__",
    "__context__",
    "__delattr__",
    "__getattribute__",
    "__repr__",
    "__setattr__",
    "__suppress_context__",
    "__traceback__",
    "add_note",
    "with_traceback",
)
_IDENTITY: Final = ("__eq__", "__hash__", "__ne__")


def _own_ways(recorded: type[Exception]) -> Iterator[tuple[str, Any]]:
    """Yield what a class is not to do in ways of its own, which may want what is not there.

    Tracebacks, event loops and loggers look at exceptions in all these ways, and what is raised
    there ends more than one call.
    """
    foreign = [kind for kind in recorded.__mro__ if kind.__flags__ & _ON_THE_HEAP]
    defined = {name for kind in foreign for name in vars(kind)}
    for name in _PLAIN:
        if name in defined:
            yield name, vars(BaseException).get(name) or getattr(BaseException, name)
    for name in _IDENTITY:
        if name in defined:
            yield name, vars(object)[name]
    if "__getattr__" in defined:
        yield "__getattr__", _no_attribute
    if "__del__" in defined:
        yield "__del__", _nothing
    if defined & {"__bool__", "__len__"}:
        yield "__bool__", _true


_ON_THE_HEAP: Final = 1 << 9
"""The flag of classes that are not the interpreter's own."""


def _no_attribute(error: object, name: str) -> Any:
    raise AttributeError(f"{type(error).__name__!r} has no {name!r}: it was not recorded")


def _nothing(_error: object) -> None:
    """Clear nothing up."""


def _true(_error: object) -> bool:
    return True


def _made(bases: tuple[type[Exception], ...], body: dict[str, Any]) -> type[ReplayedError]:
    name = body["__qualname__"].rpartition(".")[2]
    made: type[ReplayedError] = types.new_class(name, bases, exec_body=lambda ns: ns.update(body))
    return made
