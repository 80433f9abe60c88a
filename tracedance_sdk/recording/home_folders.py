r"""Find the owners of home folders in a text: ``/home/ann``, ``C:\Users\ann``, ``-Users-ann-code``.

Only absolute paths count: a folder of homes at the root of a disk, where a path begins. What lies
deeper, as in ``src/pages/home/index.tsx``, and the paths of web addresses name nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

_HOME: Final = re2.compile(
    # What follows a Windows folder of users up to the next backslash may hold spaces.
    r"(?:(?:\\*/|%2[Ff])+(home|Users|users|USERS)(?:\\*/|%2[Ff])+|\\+((?i:home|users))\\+)(?:"
    r"([^\s\\/:*?\"'<>|\x00-\x1f][^\\/:*?\"<>|\x00-\x1f]{0,62})\\"
    r"|([^\s\\/:*?\"'<>|,;()\[\]{}`\x00-\x1f]+))"
)
_SLUG: Final = re2.compile(
    r"(?:^|[/\\])-(?:home|Users)-([\pL\pN_.]+)"
    # As a word of its own it could be an option; a folder of a project has one more part.
    r"|[\s\"'`(](?:-|[A-Za-z]--)(?:home|Users)-([\pL\pN_.]+)-"
    r"|(?:^|[/\\])(?:[A-Za-z]--|-mnt-[a-z]-|-var-|-cygdrive-[a-z]-)(?:home|Users)-([\pL\pN_.]+)"
    r"|\.cursor[/\\]+projects[/\\]+(?:[a-z]-)?(?:home|Users)-([\pL\pN_.]+)"
)
_ENCODED_SLASH: Final = re.compile(r"%2f|%5c", re.IGNORECASE)
_LOOK_BACK: Final = 120
_ESCAPE: Final = r"\\+(?:[nrtbf\"'`(\[{<>=&|,;]|u[0-9a-fA-F]{4})|\[[0-9;]*[mK]|%[0-9A-Fa-f]{2}"
_DRIVE: Final = (
    r"(?:(?<![A-Za-z0-9])[A-Za-z](?::|%3[Aa])[\\/]*"
    r"|[\\/]+(?:mnt|cygdrive)[\\/]+[A-Za-z]|(?<![\w.~\-/\\)\]}])/[A-Za-z])"
)
_ROOT: Final = (
    r"(?:/private|/System/Volumes/Data|/Volumes/[^/\n]{1,60}|/(?:usr|var|export|mnt|nfs|data|net)"
    r"|/proc/\d+/root|/hostfs|/host)"
)
_WITH_DRIVE: Final = re.compile(rf"{_DRIVE}\Z")
_AT_ROOT: Final = re.compile(
    r"(?:"
    rf"(?:\A|[\s\"'`(\[{{<>=,;|&!^~\u2018-\u201e\u2026]|{_ESCAPE}|(?<![\w/*])\*{{1,2}}"
    r"|(?:\A|[\s=])@|\A-[A-Za-z]|\s-[A-Za-z])"
    rf"(?:/*|{_ROOT}/*)"
    rf"|:(?:{_ROOT})?"
    r"|(?i:file|s?ftp|ssh|scp|rsync|nfs|smb|vscode[a-z-]*|(?:git|svn)\+ssh):/(?:/[^\s/]*)?/*"
    r"|\\{2,}[\w.$-]+(?:\\+[\w.-]+)?"
    r")\Z"
)


def home_owners(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the names of owners of home folders stand, as start and end."""
    folded = text.lower()
    if "home" not in folded and "users" not in folded:
        return
    for match in _HOME.finditer(text):
        group = 3 if match.group(3) is not None else 4
        start, end = match.span(group)
        if _is_absolute(text, match):
            encoded = _ENCODED_SLASH.search(text, start, end)
            yield start, end if encoded is None else encoded.start()
    if "-home-" in folded or "-users-" in folded or ".cursor" in folded:
        for match in _SLUG.finditer(text):
            yield match.span(match.lastindex)


def _is_absolute(text: str, match: Any) -> bool:
    """Whether a path begins with what was found, or with the root of a disk before it."""
    start = match.start()
    cut = max(0, start - _LOOK_BACK)
    before = text[cut:start]
    if cut:
        # So that the beginning of the piece is not taken for that of the text.
        before = f"x{before}"
    folder = match.group(1) or match.group(2)
    slashes = text[start : match.start(1)].count("/") if match.group(1) else 0
    before = before.replace("\\/", "/") + "/" * (slashes - 1)
    if folder.lower() == "users" and _WITH_DRIVE.search(before) is not None:
        return True
    if match.group(1) and folder not in ("home", "Users"):
        return False
    return _AT_ROOT.search(before) is not None
