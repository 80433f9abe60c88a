"""What a model's client is asked: arguments as JSON, and a history that is read once.

Every request repeats the messages before it. What was read of them in the last requests of a run
is kept beside a copy of what they said, and counts as long as they still say it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.formats import ModelRequest, read_message, read_tools
from tracedance_sdk.recording.scopes import find_scope, open_runs
from tracedance_sdk.recording.values import freeze

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_REMEMBERED: Final = 4
_DEPTH: Final = 60
_STRICT: Final = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
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
        if value is None or _is_json(value):
            continue
        known = _settled(value, ())
        if known is not value:
            found = {**found, name: known}
    return found


def _is_json(value: Any) -> bool:
    """Whether a value is made of dictionaries, lists and scalars alone, as far as a look tells."""
    try:
        orjson.dumps(value, option=_STRICT)
    except (TypeError, ValueError):
        return False
    return True


def _settled(value: Any, around: tuple[int, ...]) -> Any:
    """Return a value with lists in the place of iterators.

    Args:
        value: The value.
        around: What it stands in, outermost first: a value inside itself is left alone.
    """
    kind = type(value)
    if kind in _SCALARS or len(around) > _DEPTH or id(value) in around:
        return value
    inside = (*around, id(value))
    if kind is dict:
        changed = {
            key: known
            for key, item in value.items()
            if type(item) not in _SCALARS and (known := _settled(item, inside)) is not item
        }
        return {**value, **changed} if changed else value
    if kind is list or kind is tuple:
        items = [_settled(item, inside) for item in value]
        is_same = all(known is item for known, item in zip(items, value, strict=True))
        return value if is_same else items
    if isinstance(value, Iterator) and not hasattr(value, "read"):
        return _drained(value, inside)
    return value


def _drained(items: Iterator[Any], around: tuple[int, ...]) -> Any:
    """Return a list; an iterator that breaks off comes back as one that does so again."""
    found: list[Any] = []
    try:
        for item in items:
            found.append(_settled(item, around))
    except BaseException as error:  # noqa: BLE001  # raised where the client reads the iterator
        return _broken_off(found, error)
    return found


def _broken_off(found: list[Any], error: BaseException) -> Iterator[Any]:
    yield from found
    raise error


class History:
    """The messages of a run's last requests, and the tools of the last, as they were read."""

    def __init__(self) -> None:
        self._requests: deque[list[_Kept | None]] = deque(maxlen=_REMEMBERED)
        self._tools: _Kept | None = None

    def read(self, messages: Sequence[Any]) -> list[Any]:
        """Return messages as they were read, those that no reader knows as JSON."""
        before = list(self._requests)
        latest = before[0] if before else []
        kept: list[_Kept | None] = []
        found: list[Any] = []
        for place, message in enumerate(messages):
            known = latest[place] if place < len(latest) else None
            if known is None or type(known.said) is not type(message) or known.said != message:
                known = _known(before[1:], place, message) or _read(message)
            found.append(known.found)
            kept.append(known if known.is_lasting else None)
        self._requests.appendleft(kept)
        return found

    def read_tools(self, tools: Any) -> list[dict[str, Any]]:
        """Return definitions of tools as `formats.read_tools` reads them."""
        kept = self._tools
        if kept is not None and kept.said == tools:
            found: list[dict[str, Any]] = kept.found
            return found
        said = _kept_copy(tools)
        found = read_tools(as_json(tools))
        self._tools = None if said is None else _Kept(said, found)
        return found


class _Kept(NamedTuple):
    """Something that was read.

    Attributes:
        said: A copy of it as it was then.
        found: What it was read as.
        is_lasting: It can be said of whatever comes next whether it is the same.
    """

    said: Any
    found: Any
    is_lasting: bool = True


def _known(before: list[list[_Kept | None]], place: int, message: Any) -> _Kept | None:
    for request in before:
        if place < len(request):
            kept = request[place]
            if kept is not None and type(kept.said) is type(message) and kept.said == message:
                return kept
    return None


def _read(message: Any) -> _Kept:
    said = plain = _json_copy(message) if type(message) is dict else None
    if said is None:
        said, plain = _kept_copy(message), as_json(message)
    found = read_message(plain)
    if found is None:
        return _Kept(None, plain, is_lasting=False)
    return _Kept(said, found, is_lasting=said is not None)


def _json_copy(value: Any) -> Any:
    """Return a copy of what JSON can say; None for anything else."""
    try:
        copy = orjson.loads(orjson.dumps(value, option=_STRICT))
    except (TypeError, ValueError):
        return None
    return copy if copy == value else None


def _kept_copy(value: Any) -> Any:
    """Return a copy that nobody changes; None where that cannot be made sure."""
    try:
        return _copied(value, 0)
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


def history_here() -> History:
    """Return the history of the run that is open here; an empty one where none is."""
    scope = find_scope()
    if scope is None:
        return History()
    found: History | None = scope.run.history
    if found is None:
        found = scope.run.history = History()
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
        if type(value) in _SCALARS:
            if value is not None and name not in _BESIDE:
                body[name] = value
        elif name in _BESIDE or is_absent(value):
            continue
        elif name == messages and isinstance(value, (list, tuple)):
            body[name] = history.read(value)
        elif name == "tools" and "functions" not in given:
            tools = history.read_tools(value)
        else:
            body[name] = as_json(value)
    request: ModelRequest = read(body)
    return request if not tools else request._replace(tools=tools)


def as_json(value: Any) -> Any:
    """Return a value as JSON, which says of anything else what it is.

    What a client marks as not given is left out.
    """
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is dict or isinstance(value, Mapping):
        return {
            key: item if type(item) is str else as_json(item)
            for key, item in value.items()
            if not _is_mark(item)
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
    return value is None or _is_mark(value)


def _is_mark(value: Any) -> bool:
    return type(value).__name__ in ("NotGiven", "Omit")
