"""Say why no collector recognises a file, as far as its first bytes tell."""

from __future__ import annotations

import re
from typing import Final

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.trace import parse_json

_HINT: Final = "tracedance import reads it with --mapping FILE, or --from NAME"
_BYTE_ORDER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_OWN: Final = re.compile(
    rb"""(?:\A\s*\{\s*"format"|^format)\s*:\s*["']?(tracedance\.\w+)""", re.MULTILINE
)
"""What a file of this library says it is: first in JSON, on a line of its own in YAML."""
_TRACE: Final = "tracedance.trace"
_USES: Final = {
    "tracedance.rebuilt_test": "a rebuilt test, no trace; tracedance replay runs it",
    "tracedance.rubric": "a rubric, no trace; tracedance judge takes it by --rubric",
    "tracedance.task": "a task, no trace; tracedance evaluate takes it by --spec",
}


def why_unrecognised(head: bytes, *, is_whole: bool) -> str:
    """Return in a few words what is wrong with a file that is no trace.

    Args:
        head: Its first bytes, unpacked.
        is_whole: There are no more.

    Example:
        >>> why_unrecognised(b"", is_whole=True)
        'it is empty'
        >>> why_unrecognised(b"format: tracedance.rebuilt_test", is_whole=True)
        'it is a rebuilt test, no trace; tracedance replay runs it'
    """
    if not head:
        return "it is empty"
    own = _OWN.search(head)
    if own is not None and (kind := own[1].decode()) != _TRACE:
        return f"it is {_USES.get(kind, f'a {kind}, no trace')}"
    where = "" if is_whole else f" in its first {len(head):,} bytes"
    if not head.removeprefix(b"\xef\xbb\xbf").strip():
        return f"only white space{where}"
    if head.startswith(_BYTE_ORDER_MARKS) or b"\0" in head:
        return "not UTF-8 text (UTF-16, UTF-32 or binary); save it as UTF-8"
    if not is_whole:
        return f"nothing that they know{where}; {_HINT}"
    try:
        parse_json(head, where="")
    except InvalidJSON as error:
        if not _starts_with_json_line(head):
            return str(error).removeprefix(": ")
    return f"JSON, but of no shape that they know; {_HINT}"


def _starts_with_json_line(head: bytes) -> bool:
    first, _, rest = head.removeprefix(b"\xef\xbb\xbf").strip().partition(b"\n")
    try:
        return bool(rest) and isinstance(parse_json(first, where=""), (dict, list))
    except InvalidJSON:
        return False
