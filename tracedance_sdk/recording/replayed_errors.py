"""Recorded errors, raised again."""

from __future__ import annotations

import ast
import builtins
import re
import sys
import types
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tracedance_sdk.trace import ErrorInfo

_UNTOLD = "Failed"

_NUMBERED: Final = re.compile(r"\[Errno (\d+)\] (.+?)(?:: (['\"].*))?", re.DOTALL)
"""The text of an error of the system: its number, what it means, and perhaps a file."""


class ReplayedError(Exception):
    """A tool failed when it was recorded, and fails in the same words now.

    It is no fault of this library's but stands for the tool's own error, so that an agent meets
    what it met before. Where the class of the recorded error is a builtin one, or is defined in a
    module that is loaded, the error raised is of that class too: ``except ValueError`` and
    ``except shop.SoldOut`` catch what they would have caught. Of its attributes, only `args` is
    there, with the message; with the key of a `KeyError`, and number and text of an `OSError`.

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
    kind = _class_of(name, _recorded_class(name) or Exception)
    try:
        error = kind.__new__(kind, message)
    except Exception:  # noqa: BLE001 - code of the class's own, which wants what was not recorded
        kind = _class_of(name, Exception)
        error = kind.__new__(kind, message)
    # Its own `__init__` may want what was not recorded.
    error.args = (message,)
    error._text = message
    if message == f"{kind.__name__} without a message":
        error.args, error._text = (), ""
    elif isinstance(error, KeyError):
        error.args = (_literal(message),)
    elif isinstance(error, OSError):
        _number(error, message)
    return error


def _literal(text: str) -> object:
    """Return the value that a text is the ``repr`` of, else the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _number(error: OSError, message: str) -> None:
    """Give an error of the system the attributes that its text tells."""
    told = _NUMBERED.fullmatch(message)
    if told is None:
        return
    error.errno, error.strerror = int(told[1]), told[2]
    error.args = (error.errno, error.strerror)
    if told[3] is not None:
        error.filename = _literal(told[3])


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
        "recorded_type": name,
        "__module__": module or "builtins",
        "__qualname__": qualified or _UNTOLD,
    }
    bases = (ReplayedError,) if recorded is Exception else (ReplayedError, recorded)
    try:
        return _made(bases, body)
    except Exception:  # noqa: BLE001 - a class may refuse to be had together with another
        return _made((ReplayedError,), body)


def _made(bases: tuple[type[Exception], ...], body: dict[str, str]) -> type[ReplayedError]:
    name = body["__qualname__"].rpartition(".")[2]
    made: type[ReplayedError] = types.new_class(name, bases, exec_body=lambda ns: ns.update(body))
    return made
