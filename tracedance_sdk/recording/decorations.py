"""The options of the decorator for tools, checked when it is put on a function."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

from tracedance_sdk.errors import InvalidOption

EFFECTS: Final = ("pure", "read", "write", "terminal", "unknown")
"""What a use of a tool can do to the world, as in the trace model, which need not be loaded."""

KINDS: Final = (
    "shell", "read", "write", "edit", "search", "plan", "ask", "send", "subagent", "other",
)  # fmt: skip
"""What sorts of tools there are, as in the trace model."""


def check_tool_options(*, name: Any, effect: Any, kind: Any, reduce: Any, max_items: Any) -> None:
    """Check the options of one use of `tool`, which explains them.

    Raises:
        InvalidOption: One that cannot be used.
    """
    if name is not None and (not isinstance(name, str) or not name):
        raise InvalidOption(f"name={name!r} of a tool is no text; give its name")
    _check_word("effect", effect, EFFECTS)
    _check_word("kind", kind, KINDS)
    if reduce is not None and not callable(reduce):
        raise InvalidOption(f"reduce={reduce!r} is not callable; give a function of the items")
    if not isinstance(max_items, int) or isinstance(max_items, bool):
        raise InvalidOption(f"max_items={max_items!r} is no integer; give 0 or more")
    if max_items < 0:
        raise InvalidOption(f"max_items={max_items!r} is negative; give 0 or more")


def ignored_names(ignore: Any) -> tuple[str, ...]:
    """Return the names of parameters to be left out of the record.

    Raises:
        InvalidOption: It is no collection of names.
    """
    listed = (ignore,) if isinstance(ignore, str) else ignore
    if not isinstance(listed, Collection) or not all(isinstance(name, str) for name in listed):
        raise InvalidOption(f"ignore={ignore!r} is no collection of the names of parameters")
    return tuple(listed)


def check_ignored(function: Callable[..., Any], ignore: Iterable[str]) -> None:
    """Refuse names that are no parameters of the function: what was meant would be recorded.

    Raises:
        InvalidOption: One that is none.
    """
    inner = function.__func__ if isinstance(function, (classmethod, staticmethod)) else function
    try:
        parameters = inspect.signature(inner).parameters
    except (TypeError, ValueError):
        return
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return
    for name in ignore:
        if name not in parameters and name not in ("args", "kwargs"):
            raise InvalidOption(
                f"ignore={name!r} is no parameter of {getattr(inner, '__qualname__', inner)};"
                f" {_meant(name, parameters)}"
            )


def _check_word(option: str, word: object, known: Collection[str]) -> None:
    if word is not None and word not in known:
        raise InvalidOption(f"{option}={word!r} of a tool is not known; {_meant(word, known)}")


def _meant(word: object, known: Iterable[str]) -> str:
    listed = list(known)
    near = difflib.get_close_matches(str(word), listed, 1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(listed)}"
