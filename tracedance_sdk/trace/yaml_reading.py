"""Read YAML that nobody vouches for, as JSON and nothing else.

Tags that would build objects are refused, and so are duplicate keys, merge keys and documents that
aliases blow up. Scalars follow the JSON-like schema of YAML 1.2: ``no`` and ``12:30`` are text, as
are dates; keys are always text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from tracedance_sdk.errors import InvalidSpec, Problem
from tracedance_sdk.trace.markers import Json, type_stub
from tracedance_sdk.trace.reading import MAX_DEPTH

MOST_BYTES: Final = 8 * 1024**2
"""Largest document, in bytes; more is for JSON, which is read many times as fast."""

MOST_VALUES: Final = 1_000_000
"""Most values in a document, with aliases written out."""

_TAG: Final = "tag:yaml.org,2002:"
_SCALARS: Final = {
    "null": (re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""]),
    "bool": (re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF")),
    "int": (re.compile(r"[-+]?[0-9]+\Z"), list("-+0123456789")),
    "float": (
        re.compile(
            r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
        ),
        list("-+.0123456789"),
    ),
}
_MOST_EXPLAINED: Final = 256 * 1024
"""Longest text with a fault that is parsed again for a message that says more."""

_C_TOO_DEEP: Final = "exceeded maximum nesting depth"
_COLLECTIONS: Final = (f"{_TAG}map", f"{_TAG}seq")


class JsonLoader(yaml.SafeLoader):
    """A loader that knows the scalars of JSON and no others."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own registry


for _name, (_pattern, _first) in _SCALARS.items():
    JsonLoader.add_implicit_resolver(f"{_TAG}{_name}", _pattern, _first)

# PyYAML has libyaml's parser, ten times as fast, unless it was built without.
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _FastLoader(_Parser):  # type: ignore[misc]  # which of the two is known only here
    """The same by the fastest parser there is; its messages say less."""

    yaml_implicit_resolvers = JsonLoader.yaml_implicit_resolvers


def is_plain_text(text: str) -> bool:
    """Whether an unquoted scalar would be read back as this very text."""
    return not any(pattern.match(text) for pattern, _ in _SCALARS.values())


def parse_yaml(data: bytes | str, *, where: str) -> Json:
    """Parse one YAML document.

    Args:
        data: UTF-8 bytes (a byte order mark is skipped) or text.
        where: What the document is, for messages.

    Raises:
        InvalidSpec: Not UTF-8, not YAML, a tag, a duplicate key, or out of bounds; with the line.
    """
    if len(data) > MOST_BYTES:
        raise InvalidSpec(
            f"{where}: {len(data):,} bytes of YAML; at most {MOST_BYTES:,} are read; "
            "save it as JSON, in a file named .json"
        )
    node = _compose(_decoded(data, where), where)
    if node is None:
        raise InvalidSpec(f"{where}: the file is empty")
    problems: list[Problem] = []
    reader = _Reader(problems)
    value = reader.read(node, "$", 0)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InvalidSpec(f"{where}: {problems[0]}{more}", problems=problems)
    return value


def _decoded(data: bytes | str, where: str) -> str:
    if isinstance(data, str):
        return data
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidSpec(f"{where}: not UTF-8 at byte {error.start}; save it as UTF-8") from error


def _compose(text: str, where: str) -> yaml.Node | None:
    try:
        try:
            return _node(_FastLoader, text)
        except yaml.YAMLError:
            if len(text) > _MOST_EXPLAINED:
                raise
            return _node(JsonLoader, text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = "" if mark is None else f" (line {mark.line + 1}, column {mark.column + 1})"
        reason = " ".join(str(error.problem or error.context).split())
        if reason == _C_TOO_DEEP:
            raise InvalidSpec(f"{where}: nested deeper than {MAX_DEPTH} levels") from error
        raise InvalidSpec(f"{where}: not YAML: {reason}{place}") from error
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise InvalidSpec(f"{where}: not YAML: {reason}") from error
    except (RecursionError, ValueError) as error:
        raise InvalidSpec(f"{where}: nested deeper than {MAX_DEPTH} levels") from error


def _node(kind: Any, text: str) -> yaml.Node | None:
    loader = kind(text)
    try:
        node: yaml.Node | None = loader.get_single_node()
    finally:
        loader.dispose()
    return node


class _Stop(Exception):
    """The document is out of bounds; reading on would be pointless."""


class _Reader:
    """Turns nodes into JSON, listing everything that is not."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems
        self._n_values = 0
        self._open: set[int] = set()

    def read(self, node: yaml.Node, path: str, depth: int) -> Json:
        try:
            return self._read(node, path, depth)
        except _Stop as stop:
            self._problems[:] = [stop.args[0]]
            return None

    def _read(self, node: yaml.Node, path: str, depth: int) -> Json:
        self._n_values += 1
        if self._n_values > MOST_VALUES:
            raise _Stop(Problem(f"more than {MOST_VALUES:,} values, aliases written out", "$"))
        if id(node) in self._open:
            raise _Stop(Problem("an alias stands inside what it is an alias of", path[:200]))
        if depth > MAX_DEPTH:
            raise _Stop(Problem(f"nested deeper than {MAX_DEPTH} levels", path[:200]))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if node.tag not in _COLLECTIONS:
            self._refuse(node, path)
        self._open.add(id(node))
        value: Json
        if isinstance(node, yaml.SequenceNode):
            value = [
                self._read(item, f"{path}[{place}]", depth + 1)
                for place, item in enumerate(node.value)
            ]
        else:
            value = {
                key: self._read(item, f"{path}.{key}", depth + 1)
                for key, item in self._entries(node, path)
            }
        self._open.discard(id(node))
        return value

    def _entries(self, node: yaml.Node, path: str) -> Iterator[tuple[str, yaml.Node]]:
        seen: set[str] = set()
        for name, item in node.value:
            if not isinstance(name, yaml.ScalarNode):
                self._problem("a key is not text", path, name)
                continue
            key = name.value
            if key == "<<" and not name.style:
                self._problem("merge keys ('<<') are not read; write the keys out", path, name)
            elif key in seen:
                self._problem(f"the key {key!r} stands twice", path, name)
            seen.add(key)
            yield key, item

    def _scalar(self, node: yaml.ScalarNode, path: str) -> Json:
        kind = node.tag.removeprefix(_TAG)
        if kind == "str":
            return node.value
        if kind not in _SCALARS or not _SCALARS[kind][0].match(node.value):
            self._refuse(node, path)
            return None
        return _SCALAR_VALUES[kind](node.value)

    def _refuse(self, node: yaml.Node, path: str) -> None:
        self._problem(f"the tag {node.tag!r} is not read; only plain data is", path, node)

    def _problem(self, what: str, path: str, node: yaml.Node) -> None:
        self._problems.append(Problem(f"{what} (line {node.start_mark.line + 1})", path))


def _integer(text: str) -> Json:
    digits = text.lstrip("+-").lstrip("0") or "0"
    negative = text.startswith("-")
    if len(digits) > 20 or not -(2**63) <= (-1) ** negative * int(digits) < 2**64:
        return type_stub("int", f"{'-' if negative else ''}{digits}")
    return -int(digits) if negative else int(digits)


def _float(text: str) -> Json:
    lowered = text.lower()
    if lowered.endswith(("inf", "nan")):
        return type_stub("float", lowered.replace(".", "").lstrip("+"))
    value = float(text)
    return value if value not in (float("inf"), float("-inf")) else type_stub("float", repr(value))


_SCALAR_VALUES: Final = {
    "null": lambda _: None,
    "bool": lambda text: text.lower() == "true",
    "int": _integer,
    "float": _float,
}
