"""Where reports are printed: a rich console that suits terminals, pipes and old encodings."""

from __future__ import annotations

import os
import sys
from typing import Final, TextIO

from rich.console import Console
from rich.text import Text

_PIPE_WIDTH: Final = 400
_LEAST_WIDTH: Final = 16
"""A terminal that says it is narrower is not believed: nothing would fit."""


class ReportConsole(Console):
    """A console that shows text as it is and lets a broken pipe be handled by its caller."""

    def on_broken_pipe(self) -> None:
        """Pass the broken pipe on."""
        raise BrokenPipeError

    def say(self, text: str | Text, *, style: str = "", indent: int = 0, hang: int = 0) -> None:
        """Print one line, wrapped at the console's width, without trailing blanks.

        Args:
            text: Safe to show; see `safe_text`.
            style: Of the whole line.
            indent: Cells before it.
            hang: Further cells before its second and later lines.
        """
        whole = Text(text, style=style) if isinstance(text, str) else text
        width = max(8, self.width - indent - hang)
        for number, part in enumerate(whole.wrap(self, width, overflow="fold", tab_size=4)):
            part.rstrip()
            margin = " " * (indent if number == 0 else indent + hang)
            self.print(Text.assemble(margin if part.plain else "", part), crop=False, no_wrap=True)

    def can_print(self, text: str) -> bool:
        """Whether the console's encoding has all characters of a text."""
        try:
            text.encode(self.encoding)
        except (UnicodeEncodeError, LookupError):
            return False
        return True


def report_console(stream: TextIO | None = None, *, width: int | None = None) -> ReportConsole:
    """Return a console on a stream.

    Args:
        stream: Defaults to standard output, as it is now.
        width: In cells; defaults to the terminal's. A pipe has room for every name in full.

    Nothing printed is taken as markup, and ``NO_COLOR`` and ``COLUMNS`` are respected.
    """
    target = sys.stdout if stream is None else stream
    console = ReportConsole(
        file=target, width=width, markup=False, emoji=False, highlight=False, soft_wrap=False
    )
    if width is None and not console.is_terminal and not os.environ.get("COLUMNS"):
        console.width = _PIPE_WIDTH
    console.width = max(console.width, _LEAST_WIDTH)
    return console
