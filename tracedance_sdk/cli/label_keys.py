"""How a labeller answers: single keys at a terminal, lines from anywhere else."""

from __future__ import annotations

import sys
from typing import Final, NamedTuple, Protocol, TextIO

from tracedance_sdk.errors import InvalidOption

_LONGEST_LINE: Final = 20_000


class Press(NamedTuple):
    """One answer.

    Attributes:
        key: What was pressed; the first word of a line.
        rest: What stood after it in its line.
    """

    key: str
    rest: str = ""


class Keys(Protocol):
    """Where answers come from."""

    is_live: bool
    """Whether somebody sits there who can be asked back."""

    def press(self) -> Press | None:
        """Return the next answer; None when there are no more."""

    def line(self) -> str:
        """Return a line of text, without its end."""


class TerminalKeys:
    """Single keys, without Enter. Those pressed before an item was shown are thrown away."""

    is_live = True

    def press(self) -> Press | None:
        """Wait for a key.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        import click

        try:
            found = click.getchar()
        except EOFError:
            return None
        # Arrow keys come as an escape with more, a key that is held comes as several.
        return Press(found[:1])

    def line(self) -> str:
        """Read a line as the terminal edits it."""
        return sys.stdin.readline(_LONGEST_LINE).rstrip("\r\n")


class LineKeys:
    """The first word of each line, with the rest of the line as a note.

    Args:
        stream: Where the lines come from.
    """

    is_live = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

    def press(self) -> Press | None:
        """Read a line; blank ones are passed over."""
        while line := self._stream.readline(_LONGEST_LINE):
            text = line.strip()
            if not text:
                continue
            head, _, rest = text.partition(" ")
            return Press(head, rest.strip())
        return None

    def line(self) -> str:
        """Read a line."""
        return self._stream.readline(_LONGEST_LINE).rstrip("\r\n")


def standard_keys() -> Keys:
    """Return what suits standard input.

    Raises:
        InvalidOption: It is closed.
    """
    if sys.stdin is None or sys.stdin.closed:
        raise InvalidOption(
            "standard input is closed, so nobody can answer: run it at a terminal, pipe lines of "
            "answers into it, or take a table with --csv"
        )
    return TerminalKeys() if _gives_keys(sys.stdin) else LineKeys(sys.stdin)


def _gives_keys(stream: TextIO) -> bool:
    if not stream.isatty():
        return False
    if sys.platform == "win32":
        return True
    import termios

    try:
        termios.tcgetattr(stream.fileno())
    except (OSError, ValueError, termios.error):
        return False
    return True
