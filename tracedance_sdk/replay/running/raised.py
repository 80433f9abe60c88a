"""What other people's code raised: what was at the bottom of it, and where."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path
from typing import Final

_MOST_FOLDED: Final = 100
_PATHS: Final = sysconfig.get_paths()
_FOLDERS: Final = tuple(
    Path(_PATHS[name]).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_OURS: Final = ("tracedance_sdk", "tracedance_integrations")


def leaf_of(error: BaseException) -> BaseException:
    """Return what a group of exceptions holds, where that is one alone; else what was raised."""
    for _ in range(_MOST_FOLDED):
        if not isinstance(error, BaseExceptionGroup) or len(error.exceptions) != 1:
            break
        error = error.exceptions[0]
    return error


def place_of(error: BaseException) -> str | None:
    """Return the line of its own code in which an agent was when something was raised.

    Returns:
        Such as ``graph.py:17``: the innermost line outside of installed packages, of the standard
        library and of this one. None where there is none.
    """
    leaf = leaf_of(error)
    for raised in dict.fromkeys((leaf, error)):
        for frame, line in reversed(list(traceback.walk_tb(raised.__traceback__))):
            path = frame.f_code.co_filename
            package = str(frame.f_globals.get("__name__")).partition(".")[0]
            if package not in _OURS and not path.startswith("<") and not _is_installed(path):
                return f"{Path(path).name}:{line}"
    return None


def _is_installed(path: str) -> bool:
    full = Path(path).resolve()
    return any(full.is_relative_to(folder) for folder in _FOLDERS)
