"""What a model's client is asked: arguments as JSON, and a history that is read once.

Every request repeats the messages before it. What was read of them in the last requests of a run
is kept beside a copy of what they said, and counts as long as they still say it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from tracedance_sdk.recording.scopes import find_scope, open_runs
from tracedance_sdk.recording.values import freeze

if TYPE_CHECKING:
    from tracedance_sdk.formats import ModelRequest
    from tracedance_sdk.recording.runs import Run

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_REMEMBERED: Final = 4
_DEPTH: Final = 60
_BESIDE: Final = frozenset({"extra_headers", "extra_query", "extra_body", "timeout"})


def is_recorded() -> bool:
    """Whether a run is open here."""
    return bool(open_runs) and find_scope() is not None


def settled(given: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return arguments with lists where iterators were, at any depth.

    An iterator can be read once: the list is what the client gets in its place.

    Args:
        given: The arguments.
        names: Of those that may hold iterators.
    """
    found = given
    for name in names:
        value = given.get(name)
        known = _settled(value, 0)
        if known is not value:
            found = {**found, name: known}
    return found


def _settled(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind in _SCALARS or depth > _DEPTH:
        return value
    if kind is dict:
        changed = {
            key: known
            for key, item in value.items()
            if type(item) not in _SCALARS and (known := _settled(item, depth + 1)) is not item
        }
        return {**value, **changed} if changed else value
    if kind is list or kind is tuple:
        items = [item if _is_flat(item) else _settled(item, depth + 1) for item in value]
        is_same = all(known is item for known, item in zip(items, value, strict=True))
        return value if is_same else items
    if isinstance(value, Iterator) and not hasattr(value, "read"):
        return _drained(value, depth)
    return value


def _drained(items: Iterator[Any], depth: int) -> Any:
    """Return a list; an iterator that breaks off comes back as one that does so again."""
    found: list[Any] = []
    try:
        for item in items:
            found.append(_settled(item, depth + 1))
    except BaseException as error:  # noqa: BLE001  # raised where the client reads the iterator
        return _broken_off(found, error)
    return found


def _broken_off(found: list[Any], error: BaseException) -> Iterator[Any]:
    yield from found
    raise error


def _is_flat(value: Any) -> bool:
    return type(value) is dict and _SCALARS.issuperset(map(type, value.values()))


class History:
    """The messages of a run's last requests, and the tools of the last, as they were read."""

    def __init__(self) -> None:
        self._requests: deque[list[_Kept | None]] = deque(maxlen=_REMEMBERED)
        self._tools: _Kept | None = None

    def read(self, messages: Sequence[Any]) -> list[Any]:
        """Return messages as they were read, those that no reader knows as JSON."""
        before = list(self._requests)
        kept: list[_Kept | None] = []
        found: list[Any] = []
        for place, message in enumerate(messages):
            known = _known(before, place, message)
            if known is None:
                read, known = _read(message)
                found.append(read)
            else:
                found.append(known.found)
            kept.append(known)
        self._requests.appendleft(kept)
        return found

    def read_tools(self, tools: Any) -> list[dict[str, Any]]:
        """Return definitions of tools as `formats.read_tools` reads them."""
        from tracedance_sdk.formats import read_tools

        kept = self._tools
        if kept is not None and kept.said == tools:
            found: list[dict[str, Any]] = kept.found
            return found
        found = read_tools(as_json(tools))
        self._tools = _keep(tools, found)
        return found


class _Kept(NamedTuple):
    """Something that was read, and what it said then."""

    said: Any
    found: Any


def _known(before: list[list[_Kept | None]], place: int, message: Any) -> _Kept | None:
    for request in before:
        if place < len(request):
            kept = request[place]
            if kept is not None and type(kept.said) is type(message) and kept.said == message:
                return kept
    return None


def _read(message: Any) -> tuple[Any, _Kept | None]:
    from tracedance_sdk.formats import read_message

    plain = as_json(message)
    found = read_message(plain)
    if found is None:
        return plain, None
    return found, _keep(message, found)


def _keep(value: Any, found: Any) -> _Kept | None:
    try:
        return _Kept(_copied(value, 0), found)
    except _UnsureError:
        return None


class _UnsureError(Exception):
    """A value of a kind that nobody can say of whether it has changed."""


def _copied(value: Any, depth: int) -> Any:
    """Return a copy that shares nothing with a value that could change."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if depth > _DEPTH:
        raise _UnsureError
    if kind is dict:
        return {key: _copied(item, depth + 1) for key, item in value.items()}
    if kind is list:
        return [_copied(item, depth + 1) for item in value]
    if kind is tuple:
        return tuple(_copied(item, depth + 1) for item in value)
    if not hasattr(kind, "model_fields"):
        raise _UnsureError
    found = value.model_copy()
    for held in (vars(found), found.__pydantic_extra__ or {}):
        for key, item in held.items():
            if type(item) not in _SCALARS:
                held[key] = _copied(item, depth + 1)
    return found


_HISTORIES: Final[WeakKeyDictionary[Run, History]] = WeakKeyDictionary()


def history_here() -> History:
    """Return the history of the run that is open here; an empty one where none is."""
    scope = find_scope()
    if scope is None:
        return History()
    found = _HISTORIES.get(scope.run)
    if found is None:
        for run in [run for run in list(_HISTORIES) if not run.is_open]:
            _HISTORIES.pop(run, None)
        found = _HISTORIES[scope.run] = History()
    return found


def asked_in(given: Mapping[str, Any], read: Any, messages: str) -> ModelRequest:
    """Return what the arguments of a client's method ask.

    Args:
        given: The arguments.
        read: Reads the body of a request.
        messages: Name of the argument with the conversation.
    """
    history = history_here()
    body: dict[str, Any] = {}
    tools: list[dict[str, Any]] | None = None
    for name, value in given.items():
        if name in _BESIDE or is_absent(value):
            continue
        if name == messages and isinstance(value, (list, tuple)):
            body[name] = history.read(value)
        elif name == "tools" and "functions" not in given:
            tools = history.read_tools(value)
        else:
            body[name] = as_json(value)
    request: ModelRequest = read(body)
    return request if tools is None else request._replace(tools=tools)


def as_json(value: Any) -> Any:
    """Return a value as JSON, which says of anything else what it is.

    What a client was not given, or marks as such, is left out.
    """
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is dict or isinstance(value, Mapping):
        return {
            key: item if type(item) is str else as_json(item)
            for key, item in value.items()
            if not is_absent(item)
        }
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, type):
        return value
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", exclude_unset=True, by_alias=True, warnings=False)
    written = getattr(value, "to_dict", None)
    if callable(written):
        return as_json(written())
    return value if isinstance(value, (str, int, float)) else json.loads(freeze(value))


def is_absent(value: Any) -> bool:
    """Whether a value says that there is none, in a client's words too."""
    return value is None or type(value).__name__ in ("NotGiven", "Omit")
