"""OpenCode's storage folder: a file for each session, message and part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import read_document
from tracedance_sdk.trace import parse_json

FOLDERS: Final = ("session", "message", "part")
"""What makes a folder a storage."""

_BESIDE: Final = frozenset({"todo", "session_diff", "project", "share", "session_share"})
_LARGEST_BYTES: Final = 64 * 1024**2
_DEEPEST: Final = 4


def is_storage(folder: Path) -> bool:
    """Whether a folder is an OpenCode storage: it has sessions, messages and parts."""
    return all((folder / name).is_dir() for name in FOLDERS)


def storage_of(file: Path) -> Path | None:
    """Return the storage that a file is part of; None where it is in none."""
    for folder in list(file.parents)[1:_DEEPEST]:
        top = file.relative_to(folder).parts[0]
        if (top in FOLDERS or top in _BESIDE) and is_storage(folder):
            return folder
    return None


class Storage:
    """The records of a storage.

    Args:
        folder: The storage.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._problems: list[ImportProblem] = []
        self._told: set[Path] = set()
        self._loose: dict[str, list[dict[str, Any]]] | None = None

    def take_problems(self) -> list[ImportProblem]:
        """Return what could not be read since this was last asked."""
        found, self._problems = self._problems, []
        return found

    def sessions(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the sessions with their files, in the order of these."""
        for file in sorted((self.folder / "session").rglob("*.json")):
            session = self._read(file)
            if session is not None:
                yield file, session

    def messages(self, session_id: str) -> list[dict[str, Any]]:
        """Return a session's messages in the order in which they were made."""
        found = self._all(self.folder / "message", session_id)
        return sorted(found, key=lambda message: (_created(message), str(message.get("id"))))

    def parts(self, message_id: str) -> list[dict[str, Any]]:
        """Return a message's parts in the order of their files."""
        if self._loose is None:
            self._loose = self._read_loose()
        return [*self._all(self.folder / "part", message_id), *self._loose.get(message_id, ())]

    def beside(self, kind: str, name: str) -> Any:
        """Return what a file beside the session says, such as its ``todo``; None without one."""
        file = self._inside(self.folder / kind, f"{name}.json")
        return self._value(file) if file is not None and file.is_file() else None

    def _all(self, folder: Path, name: str) -> list[dict[str, Any]]:
        inner = self._inside(folder, name)
        files = sorted(inner.glob("*.json")) if inner is not None and inner.is_dir() else []
        return [record for file in files if (record := self._read(file)) is not None]

    def _read_loose(self) -> dict[str, list[dict[str, Any]]]:
        """Return the parts of older storages, which lie in one folder and name their message."""
        found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for file in sorted((self.folder / "part").glob("*.json")):
            part = self._read(file)
            if part is not None:
                found[str(part.get("messageID"))].append(part)
        return found

    def _inside(self, folder: Path, name: str) -> Path | None:
        """Return a path below a folder; None for a name that leads elsewhere."""
        if name in ("", ".", "..") or Path(name).name != name or "\0" in name:
            return None
        return folder / name

    def _read(self, file: Path) -> dict[str, Any] | None:
        value = self._value(file)
        if value is None or isinstance(value, dict):
            return value
        self._tell(file, "expected an object")
        return None

    def _value(self, file: Path) -> Any:
        try:
            return parse_json(read_document(file, limit=_LARGEST_BYTES), where=str(file))
        except TraceDanceError as error:
            self._tell(file, str(error))
            return None

    def _tell(self, file: Path, what: str) -> None:
        if file not in self._told:
            self._told.add(file)
            self._problems.append(ImportProblem(str(file), what))


def _created(message: dict[str, Any]) -> float:
    time = message.get("time")
    created = time.get("created") if isinstance(time, dict) else None
    return float(created) if isinstance(created, (int, float)) else 0.0
