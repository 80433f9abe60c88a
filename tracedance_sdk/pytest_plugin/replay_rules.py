"""What a test's markers and pytest's options say of its replay."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tracedance_sdk.errors import InvalidOption, shown

if TYPE_CHECKING:
    from tracedance_sdk.replay import ReplaySession

REPLAY_MARKER: Final = "tracedance_replay"

_SETTINGS: Final = ("file", "record", "answers", "simulator", "allow_hosts", "redactor")
_SAFE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_ODD: Final = re.compile(r"[^A-Za-z0-9_.]+")
_LONGEST: Final = 100


def session_of(request: pytest.FixtureRequest) -> ReplaySession:
    """Return the replay that a test asks for, not yet entered.

    Raises:
        InvalidOption: A marker or an option that cannot be used.
        InvalidTest: The file of recordings is none.
        UnreadableFile: The file cannot be read.
        UnsupportedVersion: The file was written by a newer release.
    """
    from tracedance_sdk.replay import open_session

    item, config = request.node, request.config
    settings = _marked(item)
    file = settings.pop("file", None)
    mode = config.getoption("tracedance_record") or settings.pop("record", "none")
    settings.pop("record", None)
    hosts = settings.pop("allow_hosts", ())
    if isinstance(hosts, str):
        raise InvalidOption(f"allow_hosts={hosts!r} is no list of names of hosts")
    path = _file(item, config) if file is None else item.path.parent / file
    return open_session(
        path,
        record=mode,
        allow_hosts=[*hosts, *config.getini("tracedance_allow_hosts")],
        name=item.nodeid,
        **settings,
    )


def check_replay_marker(item: pytest.Item) -> None:
    """Check what a test's markers say of its replay, as far as no file has to be read.

    Raises:
        InvalidOption: A setting of no known name, or one that cannot be used.
    """
    from tracedance_sdk.replay import open_session

    settings = _marked(item)
    where = f"@pytest.mark.{REPLAY_MARKER} on {item.nodeid!r}"
    file = settings.pop("file", None)
    if file is not None and (not isinstance(file, (str, os.PathLike)) or not os.fspath(file)):
        raise InvalidOption(f"{where}: file={shown(file)} is no path")
    for name in ("answers", "allow_hosts"):
        given = settings.get(name, ())
        if (
            isinstance(given, str)
            or not isinstance(given, Collection)
            or not all(isinstance(each, str) for each in given)
        ):
            raise InvalidOption(f"{where}: {name}={shown(given)} is no list of texts")
    record = settings.get("record", "none")
    if not isinstance(record, str):
        raise InvalidOption(f"{where}: record={shown(record)} is no text")
    if not hasattr(settings.get("redactor"), "redact") and settings.get("redactor") is not None:
        raise InvalidOption(f"{where}: redactor={shown(settings['redactor'])} has no redact()")
    try:
        # A file below another is none, so that nothing is read.
        open_session(item.path / "recordings.yaml", among=(), **settings)
    except InvalidOption as error:
        raise InvalidOption(f"{where}: {error}") from error


def hint_of(session: ReplaySession, config: pytest.Config) -> str:
    """Return what to do about calls that no recording answers."""
    path = session.path
    if path is None:
        return ""
    try:
        shown = str(path.relative_to(config.invocation_params.dir))
    except ValueError:
        shown = str(path)
    if path.exists():
        return f"recordings: {shown}; --tracedance-record=new_episodes runs and records what is new"
    return f"no recordings yet in {shown}; --tracedance-record=once runs the tools and records them"


def _marked(item: pytest.Item) -> dict[str, Any]:
    """Return the settings of all markers, those of the nearest before others."""
    merged: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers(REPLAY_MARKER))):
        given = dict(marker.kwargs)
        if len(marker.args) == 1 and "file" not in given:
            given["file"] = marker.args[0]
        elif marker.args:
            raise InvalidOption(
                f"@pytest.mark.{REPLAY_MARKER} on {item.nodeid!r}: give one file at most,"
                " everything else by name"
            )
        for name in given:
            if name not in _SETTINGS:
                near = difflib.get_close_matches(name, _SETTINGS, n=1)
                meant = f"did you mean {near[0]!r}?" if near else f"there are {_SETTINGS}"
                raise InvalidOption(
                    f"@pytest.mark.{REPLAY_MARKER} on {item.nodeid!r}: no setting {name!r}; {meant}"
                )
        merged.update(given)
    return merged


def _file(item: pytest.Item, config: pytest.Config) -> Path:
    """Return the file beside a test's module that holds its recordings."""
    folder = str(config.getini("tracedance_recordings"))
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    name = file_name(".".join([*classes, item.name]))
    return item.path.parent / folder / item.path.stem / f"{name}.yaml"


def file_name(name: str) -> str:
    """Return a name for a test's file that is safe on every system and the test's own.

    Example:
        >>> file_name("TestShop.test_refund"), file_name("test_refund[a/b]")
        ('TestShop.test_refund', 'test_refund-a-b-f222552c')
    """
    if _SAFE.fullmatch(name) and len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return f"{_ODD.sub('-', name).strip('-.')[:_LONGEST]}-{digest}"
