"""Replies on disk by the hash of their requests, so that nothing is paid for twice.

A folder for each model holds ``model.json`` and one file for each reply, ``ab/abcd....json``. A
reply is written beside its place and then put there in one step, and the first one stays: several
processes may share a cache, and a killed one leaves no half-written reply. Whoever is about to pay
for a reply claims it, so that others wait for it. A reply that a loss of power has damaged counts
as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final, Self

import orjson

from tracedance_sdk.errors import InvalidJSON, UnreadableFile
from tracedance_sdk.llm.claims import claimed
from tracedance_sdk.trace import Json, parse_json, read_bytes, spelled_out

FORMAT: Final = "tracedance.reply"
MODEL_FORMAT: Final = "tracedance.replies"
VERSION: Final = 1
MODEL_FILE: Final = "model.json"
_ODD: Final = re.compile(r"[^A-Za-z0-9_.-]+")


class ReplyCache:
    """The replies of one model below a folder.

    Args:
        folder: Of the cache; made when something is written.
        model: The model's name.

    Raises:
        UnreadableFile: The folder cannot be read.
    """

    def __init__(self, folder: str | os.PathLike[str], model: str) -> None:
        slug = _ODD.sub("-", model.partition("@")[0]).strip("-.")[:60]
        mark = hashlib.sha256(model.encode()).hexdigest()[:8]
        self.folder = Path(folder) / f"{slug}-{mark}"
        self._model = model

    @classmethod
    def at(cls, folder: Path, model: str) -> Self:
        """Return the cache whose replies lie right in a folder, wherever it was moved to."""
        cache = cls(folder.parent, model)
        cache.folder = folder
        return cache

    def get(self, request_hash: str) -> Json | None:
        """Return the body of the reply to a request; None when there is none, or it is damaged."""
        path = self._path(request_hash)
        try:
            document = parse_json(path.read_bytes(), where=str(path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnreadableFile(f"{str(path)!r} cannot be read: {error.strerror}") from error
        except InvalidJSON:
            return None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            return None
        is_it = document.get("request_hash") == request_hash
        return document.get("raw") if is_it and document.get("version") == VERSION else None

    def put(self, request_hash: str, raw: Json) -> None:
        """Keep a reply, unless another process has kept one meanwhile.

        Raises:
            UnreadableFile: The folder cannot be written.
        """
        document = {"format": FORMAT, "version": VERSION, "request_hash": request_hash, "raw": raw}
        is_damaged = self._path(request_hash).exists() and self.get(request_hash) is None
        try:
            self._name()
            _place(self._path(request_hash), document, replace=is_damaged)
        except OSError as error:
            raise self._unwritable(error) from error

    @contextlib.asynccontextmanager
    async def claim(self, request_hash: str) -> AsyncIterator[None]:
        """Hold the right to pay for a reply, once whoever holds it has let go.

        What another kept meanwhile is found by `get`.

        Raises:
            UnreadableFile: The folder cannot be written, so that nothing could be kept.
        """
        path = self._path(request_hash)
        async with contextlib.AsyncExitStack() as held:
            try:
                await held.enter_async_context(claimed(path.with_name(f".{path.stem}.claim")))
            except OSError as error:
                raise self._unwritable(error) from error
            yield

    def _unwritable(self, error: OSError) -> UnreadableFile:
        return UnreadableFile(f"{str(self.folder)!r} cannot be written: {error.strerror}")

    def _path(self, request_hash: str) -> Path:
        return self.folder / request_hash[:2] / f"{request_hash}.json"

    def _name(self) -> None:
        path = self.folder / MODEL_FILE
        if not path.exists():
            _place(path, {"format": MODEL_FORMAT, "version": VERSION, "model": self._model})


def cached_models(folder: str | os.PathLike[str]) -> dict[str, Path]:
    """Return the models whose replies lie in a folder, each with its own folder.

    Args:
        folder: Of a cache, or of one model in it.

    Raises:
        UnreadableFile: No such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise UnreadableFile(f"{str(folder)!r} is no folder with recorded replies")
    found: dict[str, Path] = {}
    for path in [root, *sorted(entry for entry in root.iterdir() if entry.is_dir())]:
        with contextlib.suppress(InvalidJSON, OSError):
            document = parse_json(read_bytes(path / MODEL_FILE), where=str(path))
            if isinstance(document, dict) and document.get("format") == MODEL_FORMAT:
                found[str(document.get("model"))] = path
    return found


def _encoded(document: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(document)
    except TypeError:
        return orjson.dumps(spelled_out(document))


def _place(path: Path, document: dict[str, Any], *, replace: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as file:
            file.write(_encoded(document))
        if replace:
            draft.replace(path)
        else:
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
