"""What agents' programs write to their standard error, shown in few lines and without secrets."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from asyncio import StreamReader

    from tracedance_sdk.replay.running.masking import Masked

MOST_LINES: Final = 20
"""Of all runs of an agent; what else it writes is read and forgotten."""

_BLOCK: Final = 2**16
_LONGEST: Final = 4096


class ProgramErrors:
    """Shows the first lines that the programs of one agent write to their standard error.

    Args:
        masked: Takes out secrets; by default those that the recorder would find.
    """

    def __init__(self, masked: Masked | None = None) -> None:
        self._masked = masked
        self._n_shown = 0

    async def read(self, stream: StreamReader) -> None:
        """Read a program's standard error to its end."""
        rest = b""
        while block := await stream.read(_BLOCK):
            if self._n_shown > MOST_LINES:
                continue
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                self._show(line)
            if len(rest) > _LONGEST:
                self._show(rest)
                rest = b""
        if rest:
            self._show(rest)

    def _show(self, line: bytes) -> None:
        if self._n_shown > MOST_LINES:
            return
        self._n_shown += 1
        if self._n_shown > MOST_LINES:
            _say("agent: ... more lines are not shown")
            return
        text = line[:_LONGEST].decode(errors="replace").rstrip()
        _say(f"agent: {_printable(self._without_secrets(text))}")

    def _without_secrets(self, text: str) -> str:
        if self._masked is None:
            from tracedance_sdk.recording import SecretRedactor, redaction_key
            from tracedance_sdk.replay.running.masking import Masked

            self._masked = Masked(SecretRedactor(key=redaction_key(None)))
        return self._masked.text(text)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() or char == "\t" else "\ufffd" for char in text)


def _say(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # there may be nowhere to say it
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
