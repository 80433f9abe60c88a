"""Say why no collector recognises a file, as far as its first bytes tell."""

from __future__ import annotations

from typing import Final

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.trace import parse_json

_HINT: Final = "tracedance import reads it with --mapping FILE, or --from NAME"
_BYTE_ORDER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")


def why_unrecognised(head: bytes, *, is_whole: bool) -> str:
    """Return in a few words what is wrong with a file that is no trace.

    Args:
        head: Its first bytes, unpacked.
        is_whole: There are no more.

    Example:
        >>> why_unrecognised(b"", is_whole=True)
        'it is empty'
    """
    if not head:
        return "it is empty"
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
