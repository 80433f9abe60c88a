"""State differences as JSON Patch (RFC 6902), fast enough to take one after every call.

``apply_patch(diff(a, b), a)`` is the same JSON as ``b`` for all JSON values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.trace.canonical import same_json, same_scalar
from tracedance_sdk.trace.markers import Json
from tracedance_sdk.trace.pointers import join, split

_INDEX: Final = re.compile("0|[1-9][0-9]{0,17}")

Operation = dict[str, Json]
"""One JSON Patch operation: ``{"op": ..., "path": ..., "value"?: ...}``."""


def diff(before: Json, after: Json) -> list[Operation]:
    """Return the operations that turn `before` into `after`; empty when they are the same JSON.

    Only ``add``, ``remove`` and ``replace`` are produced. Values in the result are shared with
    `after`, not copied.

    Example:
        >>> diff({"sent": False}, {"sent": True})
        [{'op': 'replace', 'path': '/sent', 'value': True}]
    """
    operations: list[Operation] = []
    _compare(before, after, "", operations)
    return operations


def _compare(before: Json, after: Json, path: str, found: list[Operation]) -> None:
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        _compare_objects(before, after, path, found)
    elif isinstance(before, list) and isinstance(after, list):
        _compare_lists(before, after, path, found)
    elif isinstance(before, (dict, list)) or not same_scalar(before, after):
        found.append({"op": "replace", "path": path, "value": after})


def _compare_objects(
    before: dict[str, Json], after: dict[str, Json], path: str, found: list[Operation]
) -> None:
    for key, old in before.items():
        if key not in after:
            found.append({"op": "remove", "path": join(path, key)})
            continue
        new = after[key]
        kind = type(old)
        if old is new or ((kind is str or kind is int) and kind is type(new) and old == new):
            continue
        _compare(old, new, join(path, key), found)
    for key, new in after.items():
        if key not in before:
            found.append({"op": "add", "path": join(path, key), "value": new})


def _compare_lists(
    before: list[Json], after: list[Json], path: str, found: list[Operation]
) -> None:
    start, old_end, new_end = 0, len(before), len(after)
    if old_end != new_end:
        while start < min(old_end, new_end) and same_json(before[start], after[start]):
            start += 1
        while min(old_end, new_end) > start and same_json(before[old_end - 1], after[new_end - 1]):
            old_end -= 1
            new_end -= 1
    shared = min(old_end, new_end)
    for index in range(start, shared):
        _compare(before[index], after[index], f"{path}/{index}", found)
    found.extend(
        {"op": "remove", "path": f"{path}/{index}"} for index in reversed(range(shared, old_end))
    )
    found.extend(
        {"op": "add", "path": f"{path}/{index}", "value": after[index]}
        for index in range(shared, new_end)
    )


def apply_patch(operations: Sequence[Operation], document: Json) -> Json:
    """Return the document with the operations applied in order; the input is unchanged.

    Raises:
        InvalidOption: An operation names a place that does not exist, or is no operation.
    """
    for operation in operations:
        document = _apply(operation, document)
    return document


def _apply(operation: Operation, document: Json) -> Json:
    try:
        kind, path = _kind(operation), split(operation["path"])
        return _edit(document, path, kind, None if kind == "remove" else operation["value"])
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else error
        raise InvalidOption(f"cannot apply the patch {shown(operation, 120)}: {what}") from error


def _kind(operation: Operation) -> str:
    kind: Json = operation["op"]
    if kind not in ("add", "remove", "replace"):
        raise ValueError(f"{shown(kind)} is not one of add, remove, replace")
    return str(kind)


def _edit(node: Json, path: tuple[str, ...], kind: str, value: Json) -> Json:
    """Rebuild the nodes along the path; everything beside it is shared."""
    if not path:
        if kind == "remove":
            raise ValueError("the whole document cannot be removed")
        return value
    head, rest = path[0], path[1:]
    if isinstance(node, dict):
        return _edit_object(dict(node), head, rest, kind, value)
    if isinstance(node, list):
        return _edit_list(list(node), head, rest, kind, value)
    raise ValueError(f"nothing lies below {shown(node)}, where {head!r} is asked for")


def _edit_object(
    node: dict[str, Json], key: str, rest: tuple[str, ...], kind: str, value: Json
) -> Json:
    if key not in node and (rest or kind != "add"):
        raise KeyError(key)
    if rest:
        node[key] = _edit(node[key], rest, kind, value)
    elif kind == "remove":
        del node[key]
    else:
        node[key] = value
    return node


def _edit_list(node: list[Json], key: str, rest: tuple[str, ...], kind: str, value: Json) -> Json:
    adds = kind == "add" and not rest
    index = len(node) if key == "-" else _index(key)
    if index > len(node) or (index == len(node) and not adds):
        raise IndexError(f"index {key} of a list of {len(node)}")
    if rest:
        node[index] = _edit(node[index], rest, kind, value)
    elif kind == "remove":
        del node[index]
    elif adds:
        node.insert(index, value)
    else:
        node[index] = value
    return node


def _index(key: str) -> int:
    if not _INDEX.fullmatch(key):
        raise ValueError(f"{key!r} is no index of a list")
    return int(key)
