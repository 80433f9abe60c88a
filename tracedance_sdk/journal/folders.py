"""Folders of a journal, made so that they outlast the machine when that is asked."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def make_folder(folder: Path, *, fsync: bool = False) -> None:
    """Make a folder and those above it, for their owner only; one that is there stays as it is.

    Raises:
        OSError: It cannot be made, or something else has its name.
    """
    if folder.is_dir():
        return
    if fsync and not folder.parent.is_dir():
        make_folder(folder.parent, fsync=True)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if fsync:
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Hand the names in a folder to the disk, where the system can.

    Raises:
        OSError: The disk refused.
    """
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    finally:
        with contextlib.suppress(OSError):
            os.close(descriptor)
