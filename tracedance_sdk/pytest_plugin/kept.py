"""Traces of failing tests as files: where they lie, what they are called, how many stay.

Each test run with something to keep has a folder of its own below the base folder, and only the
latest few such folders stay. A file is never overwritten: the traces of a second attempt, or of
another worker, lie beside the first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tracedance_sdk.trace import Trace

MOST_FILES: Final = 1000
"""Most traces that one test run keeps."""

_RUN: Final = re.compile(r"run-\d{8}T\d{6}-[0-9a-f]{8}")
_ODD: Final = re.compile(r"[^A-Za-z0-9_.]+")


def run_name() -> str:
    """Return a fresh folder name for one test run; names sort by time."""
    return f"run-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.urandom(4).hex()}"


def file_stem(node_id: str) -> str:
    """Return a name for a test's files that is safe on every system and the test's own.

    Example:
        >>> file_stem("tests/test_mail.py::test_send[to=../ada]")
        'test_mail.py-test_send-to-..-ada-889b9344'
    """
    path, colons, rest = node_id.partition("::")
    shown = _ODD.sub("-", path.rpartition("/")[2] + colons + rest).strip("-.")
    digest = hashlib.sha256(node_id.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return f"{shown[:100] or 'test'}-{digest}"


class KeptTraces:
    """The folder of one test run, made when the first trace is kept.

    Args:
        folder: The run's own folder; its parent is the base folder that all runs share.
        started_in: The folder pytest was started in; paths below it are shown relative to it.
    """

    def __init__(self, folder: Path, *, started_in: Path) -> None:
        self.folder = folder
        self._started_in = started_in

    def shown(self, path: Path) -> str:
        """Return a path as messages name it."""
        from tracedance_sdk.report import in_one_line

        try:
            return in_one_line(str(path.relative_to(self._started_in)))
        except ValueError:
            return in_one_line(str(path))

    def keep(self, trace: Trace, *, node_id: str) -> Path:
        """Write one trace and return its file.

        Raises:
            OSError: The file cannot be written, or `MOST_FILES` are kept already.
            InvalidTrace: The trace holds a value that is not JSON.
        """
        from tracedance_sdk.trace import encode_json

        data = encode_json(trace) + b"\n"
        self._make_folder()
        present = {entry.name for entry in os.scandir(self.folder)}
        if len(present) >= MOST_FILES:
            raise OSError(f"{MOST_FILES} traces are kept already in {str(self.folder)!r}")
        stem = file_stem(node_id)
        number = 1
        while True:
            path = self.folder / (f"{stem}.json" if number == 1 else f"{stem}.{number}.json")
            try:
                with path.open("xb") as file:
                    file.write(data)
            except FileExistsError:
                number += 1
            except OSError:
                path.unlink(missing_ok=True)
                raise
            else:
                return path

    def _make_folder(self) -> None:
        base = self.folder.parent
        if not base.exists():
            base.mkdir(parents=True, exist_ok=True)
            base.joinpath(".gitignore").write_text("*\n", encoding="utf-8")
        self.folder.mkdir(exist_ok=True)


def forget_old_runs(base: Path, *, n_runs: int) -> None:
    """Remove empty run folders and all but the latest `n_runs`; nothing else in `base` is touched.

    Raises:
        OSError: A folder cannot be listed or removed.
    """
    runs = []
    for entry in os.scandir(base):
        if _RUN.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
            with contextlib.suppress(OSError):
                Path(entry).rmdir()
                continue
            runs.append(entry.name)
    for name in sorted(runs)[: max(len(runs) - n_runs, 0)]:
        shutil.rmtree(base / name)
