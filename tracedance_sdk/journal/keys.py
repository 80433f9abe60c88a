"""The key of a journal's chain, from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal.files import reason
from tracedance_sdk.settings import SETTINGS, read_text

_FILE_MARK: Final = "@"


def journal_key() -> bytes | None:
    """Return the key that ``TRACEDANCE_JOURNAL_KEY`` gives; None when it is unset.

    The variable holds the key itself, or ``@`` and the path of a file that holds it; one newline
    at the end of the file is no part of the key.

    Raises:
        JournalError: The file cannot be read, or is empty.
    """
    text = read_text("journal_key")
    if text is None or not text.startswith(_FILE_MARK):
        return None if text is None else text.encode("utf-8", "surrogateescape")
    path = text.removeprefix(_FILE_MARK)
    variable = SETTINGS["journal_key"].env
    try:
        key = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise JournalError(
            f"the key file named by {variable} cannot be read: {reason(error)}"
        ) from None
    key = key.removesuffix(b"\n").removesuffix(b"\r")
    if not key:
        raise JournalError(f"the key file named by {variable} is empty")
    return key
