"""One foreign library, hooked into once and let go of again."""

from __future__ import annotations

import importlib.util
import logging
import re
import threading
from collections import Counter
from collections.abc import Callable
from importlib import metadata
from typing import Final

from tracedance_sdk.errors import MissingDependency
from tracedance_sdk.recording.guard import GUARD, LASTING_FAULTS, PROCESS_FAULTS
from tracedance_sdk.recording.integrating.patches import Patches

_LOGGER: Final = logging.getLogger(__name__)


class Integration:
    """What an integration's ``install()`` and ``uninstall()`` do around its own hooks.

    Args:
        name: Of the integration, and of the extra that brings the library.
        module: What the library is imported as.
        package: What it is installed as.
        oldest: The oldest version that is tested, such as ``"1.99"``.
        below: The first version that is not expected to work, such as ``"4"``.
        hooks: Puts the hooks into the library, which it imports; what they change goes through
            the `Patches` that it is given.
    """

    def __init__(
        self,
        name: str,
        *,
        module: str,
        package: str,
        oldest: str,
        below: str,
        hooks: Callable[[Patches], object],
    ) -> None:
        self.name = name
        self.module = module
        self.package = package
        self.oldest = oldest
        self.below = below
        self._hooks = hooks
        self._lock = threading.Lock()
        self._patches: Patches | None = None
        self._has_warned = False
        self._missing: Counter[str] = Counter()

    @property
    def is_installed(self) -> bool:
        """Whether the hooks are in the library."""
        return self._patches is not None

    def install(self) -> bool:
        """Hook into the library; again, it does nothing. Nothing is recorded outside a recorder.

        A version that is not tested is warned of once, and hooked into all the same. Where a hook
        finds no place, the program runs on without it. The fault is logged, and counted in every
        recorder until the integration is uninstalled: what it would have recorded is lacking there.

        Returns:
            Whether any hook is in place.

        Raises:
            MissingDependency: The library is not installed; the message has the command.
        """
        with self._lock:
            if self._patches is not None:
                return True
            if not _is_there(self.module):
                raise MissingDependency.for_extra(self.package, extra=self.name)
            self._warn()
            self._forget_missing()
            patches = Patches(self._note_missing)
            patches.attempt(self._hooks)
            if not patches.is_empty:
                self._patches = patches
            return self._patches is not None

    def uninstall(self) -> None:
        """Take the hooks out of the library; without any, it does nothing."""
        with self._lock:
            patches, self._patches = self._patches, None
            self._forget_missing()
            if patches is not None:
                GUARD.attempt(f"uninstall {self.name}", PROCESS_FAULTS, patches.undo)

    def _note_missing(self, error: Exception) -> None:
        missing = _name_of_missing(error)
        place = f"install {self.name}" + ("" if missing is None else f": {missing} is missing")
        found = Counter[str]()
        GUARD.note(place, found, error)
        for faults in (self._missing, LASTING_FAULTS, PROCESS_FAULTS):
            faults.update(found)

    def _forget_missing(self) -> None:
        LASTING_FAULTS.subtract(self._missing)
        self._missing.clear()

    def _warn(self) -> None:
        try:
            found = metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return
        if not self._has_warned and not self.supports(found):
            self._has_warned = True
            _LOGGER.warning(
                "%s %s is outside the tested versions (%s and newer, below %s); it is recorded as"
                " far as it looks the same",
                self.package,
                found,
                self.oldest,
                self.below,
            )

    def supports(self, version: str) -> bool:
        """Whether a version of the library is among those that are tested."""
        return _numbers(self.oldest) <= _numbers(version) < _numbers(self.below)


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _name_of_missing(error: Exception) -> str | None:
    """Return what a library lacks, by its full name where the error tells it."""
    if isinstance(error, ImportError):
        name = getattr(error, "name_from", None)
        return error.name if name is None else f"{error.name}.{name}"
    if not isinstance(error, AttributeError) or not error.name:
        return None
    owner = error.obj
    if not isinstance(owner, type):
        return f"{getattr(owner, '__name__', type(owner).__name__)}.{error.name}"
    return f"{owner.__module__}.{owner.__qualname__}.{error.name}"


def _numbers(version: str) -> tuple[int, ...]:
    release = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in release.group().split(".")) if release else ()
