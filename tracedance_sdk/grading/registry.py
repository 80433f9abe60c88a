"""Task specifications by task id, read from a folder of files."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tracedance_sdk.errors import InvalidSpec, Problem, TraceDanceError, UnknownTask, UnreadableFile
from tracedance_sdk.grading.loading import load_spec
from tracedance_sdk.grading.spec import TaskSpec

SUFFIXES: Final = (".yaml", ".yml", ".json")
_MOST_NAMED: Final = 5


class TaskRegistry(Mapping[str, TaskSpec]):
    """Task id → specification.

    The ids come from the files' contents, never from their names: an id is only looked up, so
    that one such as ``../secret`` finds nothing and touches no path.

    Args:
        specs: The specifications.

    Raises:
        InvalidSpec: Two have the same id.

    Example:
        >>> TaskRegistry([TaskSpec(id="mail")])["mial"]
        Traceback (most recent call last):
        tracedance_sdk.errors.UnknownTask: no task 'mial'; did you mean 'mail'?
    """

    def __init__(self, specs: Iterable[TaskSpec] = ()) -> None:
        self._specs: dict[str, TaskSpec] = {}
        for spec in specs:
            if spec.id in self._specs:
                raise InvalidSpec(f"two specifications have the task id {spec.id!r}")
            self._specs[spec.id] = spec

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str]) -> TaskRegistry:
        """Read every ``.yaml``, ``.yml`` and ``.json`` file of a folder and of those below it.

        Hidden files and folders are left out.

        Raises:
            UnreadableFile: No such folder.
            InvalidSpec: Files with problems, or two with the same task id; all are listed.
        """
        root = Path(folder)
        if not root.is_dir():
            raise UnreadableFile(f"{str(folder)!r} is not a folder of task files")
        specs: dict[str, TaskSpec] = {}
        origin: dict[str, Path] = {}
        problems: list[Problem] = []
        for path in _task_files(root):
            try:
                spec = load_spec(path)
            except TraceDanceError as error:
                problems.append(Problem(str(error), str(path)))
                continue
            if spec.id in specs:
                what = f"the task id {spec.id!r} stands in {str(origin[spec.id])!r} as well"
                problems.append(Problem(what, str(path)))
            specs.setdefault(spec.id, spec)
            origin.setdefault(spec.id, path)
        if problems:
            more = f" (and {len(problems) - 1} more files)" if len(problems) > 1 else ""
            raise InvalidSpec(f"{problems[0].what}{more}", problems=problems)
        return cls(specs.values())

    def __getitem__(self, task_id: str) -> TaskSpec:
        """Return the specification of a task.

        Raises:
            UnknownTask: There is none; the message names the nearest ids.
        """
        try:
            return self._specs[task_id]
        except KeyError:
            raise UnknownTask(_unknown(task_id, list(self._specs))) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)


def _task_files(root: Path) -> list[Path]:
    return sorted(
        path
        for path in root.rglob("*")
        if path.suffix.lower() in SUFFIXES
        and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(root).parts)
    )


def _unknown(task_id: str, known: list[str]) -> str:
    near = difflib.get_close_matches(task_id, known, n=3)
    if near:
        return f"no task {task_id!r}; did you mean {' or '.join(map(repr, near))}?"
    if not known:
        return f"no task {task_id!r}: there are no task files"
    named = ", ".join(map(repr, sorted(known)[:_MOST_NAMED]))
    more = ", ..." if len(known) > _MOST_NAMED else ""
    return f"no task {task_id!r}; known are {named}{more}"
