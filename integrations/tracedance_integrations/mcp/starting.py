"""What a client tells a server of, when it starts it as a process of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.recording.integrating import Patches, attempt
from tracedance_sdk.settings import SETTINGS, read_setting, read_text

_HANDED_ON: Final = ("durability", "redaction")
"""Settings that go with the journal."""


def starting_hooks(patches: Patches) -> None:
    """Put the hook where a client chooses what variables a server gets."""
    from mcp.client import stdio

    patches.wrap(stdio, "get_default_environment", _environment)


def _environment(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Add where to record: the library hands on few variables, and those that ``env=`` names."""
    found = wrapped(*args, **kwargs)
    return {**(attempt("environment", _ours) or {}), **found}


def _ours() -> dict[str, str]:
    """Return the variables that say where and how to write a journal.

    The journal's key is a secret, and is nobody's to hand on. A journal under a key is not handed
    on either: what is written without the key would look as if it had been tampered with.
    """
    journal = read_text("journal")
    if journal is None or read_setting("journal_key") is not None:
        return {}
    given = {
        SETTINGS[name].env: os.environ[SETTINGS[name].env]
        for name in _HANDED_ON
        if SETTINGS[name].env in os.environ
    }
    # The server may be started in another folder.
    return {SETTINGS["journal"].env: str(Path.cwd() / journal), **given}
