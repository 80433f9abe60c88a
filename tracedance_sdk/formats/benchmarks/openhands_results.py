"""What OpenHands' tools say of success in the text they return."""

from __future__ import annotations

import re
from typing import Any, Final

from tracedance_sdk.trace import Json

_EXIT_CODE: Final = re.compile(
    r"\[(?:Command finished|The command completed) with exit code (-?\d{1,9})\.?\]\s*\Z"
)
_TAIL: Final = 400
"""Characters at the end of an output in which its exit code is looked for."""


def marked(content: Json) -> dict[str, Json]:
    r"""Return whether a call succeeded: by its exit code, or by the editor's ``ERROR:``.

    Args:
        content: What the model was shown: text, or a list of text parts.

    Returns:
        Fields of `Result`; none where the text does not tell.

    Example:
        >>> marked("No such file\n[Command finished with exit code 2]")
        {'ok': False, 'exit_code': 2}
    """
    text = shown_text(content)
    found = _EXIT_CODE.search(text[-_TAIL:])
    if found is not None:
        code = int(found[1])
        return {"ok": code == 0, "exit_code": code}
    return failed_edit(text)


def failed_edit(text: str) -> dict[str, Any]:
    """Return the failure that the editor tells in its answer; nothing when it tells none."""
    if not text.startswith("ERROR:"):
        return {}
    message = text.removeprefix("ERROR:").strip().partition("\n")[0]
    return {"ok": False, "error": {"type": "Error", "message": message}}


def shown_text(content: Json) -> str:
    """Return the text of a message's content."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
