"""Tell a damaged store from a query that is wrong: DuckDB's errors alone do not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from tracedance_sdk.errors import StoreError
from tracedance_sdk.store.folder import LocalFolder
from tracedance_sdk.store.libraries import duck
from tracedance_sdk.store.manifest import Manifest, StoredFile
from tracedance_sdk.store.partitions import damaged

_OF_QUERIES: Final = (
    "BinderException", "CatalogException", "ConversionException", "InterruptException",
    "OutOfMemoryException", "OutOfRangeException", "ParserException", "PermissionException",
    "SyntaxException", "TypeMismatchException",
)  # fmt: skip
"""Errors that no damage causes."""


def found_damage(
    folder: LocalFolder, manifest: Manifest, views: Iterable[str], error: Exception
) -> StoreError | None:
    """Return what is wrong with the files of some views, if an error of DuckDB is due to them.

    Their names tell what their content was, so it is compared; that takes as long as to read them.

    Args:
        folder: The store's.
        manifest: What was read.
        views: The views that were asked.
        error: What DuckDB said.
    """
    if isinstance(error, tuple(getattr(duck(), name) for name in _OF_QUERIES)):
        return None
    files = [
        p.files[view] for view in sorted(views) for p in manifest.partitions if view in p.files
    ]
    said = str(error)
    for file in sorted(files, key=lambda file: file.name not in said):
        if problem := _problem(folder, file):
            return problem
    return None


def _problem(folder: LocalFolder, file: StoredFile) -> StoreError | None:
    try:
        with folder.local(file).open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return damaged(folder, file, error)
    if digest[:32] == file.name.partition(".")[0].rpartition("-")[2]:
        return None
    return damaged(folder, file, ValueError("its content is not what it was written with"))
