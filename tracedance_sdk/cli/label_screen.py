"""The screen of `tracedance label`: one item at a time, and what the keys do.

It knows items, the rubric, and the labeller's own labels. Scores, verdicts, judges and models are
nowhere in reach of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal

from rich.cells import cell_len, set_cell_size

from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.label_keys import Keys, Press
from tracedance_sdk.judging import (
    Answer,
    JudgedItem,
    Label,
    Labelling,
    Rubric,
    Scale,
    TextLine,
    item_texts,
)
from tracedance_sdk.report import ReportConsole, in_one_line, shorten, visible

Ended = Literal["done", "quit", "no more input"]

_STYLES: Final = {"heading": "cyan", "text": "", "prompt": "", "aside": "dim"}
_MORE: Final = 10
"""How many times as much of an item the key ``m`` shows."""
_PROMPT_LINES: Final = 6
"""Lines on the screen that a system prompt gets: it is much the same for every item."""


class LabelScreen:
    """Shows items and takes answers.

    Args:
        console: Where to.
        keys: Where answers come from.
        rubric: What the labeller goes by.
        scale: The answers that it takes.
        write: Called with each label, before the next item is shown.
        most_characters: Of an item, as a judge is shown it.
    """

    def __init__(
        self,
        console: ReportConsole,
        keys: Keys,
        *,
        rubric: Rubric,
        scale: Scale,
        write: Callable[[Label], None],
        most_characters: int,
    ) -> None:
        self._console, self._keys = console, keys
        self._rubric, self._answers, self._write = rubric, scale.answers, write
        self._most_characters = most_characters
        self._note: str | None = None

    def run(self, session: Labelling) -> Ended:
        """Ask about every item of a session.

        Raises:
            KeyboardInterrupt: Ctrl-C; what was answered is written.
        """
        shown: int | None = None
        while True:
            item = session.item
            if item is None and not self._goes_back(session):
                return "done"
            if item is None:
                continue
            if shown != session.position:
                self._show(session, item, self._most_characters)
                shown, self._note = session.position, None
            press = self._keys.press()
            if press is None or press.key == "q":
                return "quit" if press else "no more input"
            if self._does(press, session, item):
                shown = None

    def _does(self, press: Press, session: Labelling, item: JudgedItem) -> bool:
        """Do what a key says; return whether an item is to be shown anew."""
        say, key = self._console.say, press.key.casefold()
        if answer := self._answers.get(key):
            self._write(session.label(answer, note=press.rest or self._note))
            say(f"{_answer_text(answer)}", style="green")
            return True
        if key == "n":
            self._take_note(press)
        elif key == "s":
            session.skip()
            say("skipped" + self._lost_note(), style="yellow")
            return True
        elif key == "b":
            if session.back():
                say("back" + self._lost_note(), style="yellow")
                return True
            say("this is the first item", style="yellow")
        elif key == "m":
            self._show(session, item, self._most_characters * _MORE, is_more=True)
        else:
            name = shorten(key, 20) if key.isprintable() else "this"
            say(f"{in_one_line(name)} is no key here", style="yellow")
            say(self._keys_text())
        return False

    def _take_note(self, press: Press) -> None:
        if self._keys.is_live:
            self._console.say("note, ended by Enter:")
        text = press.rest or self._keys.line().strip()
        self._note = text or None
        self._console.say(
            "the note goes with your answer" if text else "no note", style="green" if text else ""
        )

    def _lost_note(self) -> str:
        return "; the note is dropped, as it goes with an answer" if self._note else ""

    def _goes_back(self, session: Labelling) -> bool:
        """Ask, after the last item, whether an answer was a slip; return whether to go on."""
        if not self._keys.is_live or not session.n_items:
            return False
        self._console.say("\nThat was the last one: b goes back, any other key ends.")
        press = self._keys.press()
        return press is not None and press.key.casefold() == "b" and session.back()

    def _show(
        self, session: Labelling, item: JudgedItem, most_characters: int, *, is_more: bool = False
    ) -> None:
        console = self._console
        line = "─" if console.can_print("─") else "-"
        console.say(f"\n{line * min(console.width, 100)}", style="dim")
        labelled = f"{session.n_labelled:,} labelled"
        console.say(f"{session.position:,} of {session.n_items:,} ({labelled})", style="bold")
        texts = item_texts(item, most_characters=most_characters)
        about_run = self._rubric.about == "trace"
        title = "the run" if about_run else "what came before"
        self._section(title, texts.context, is_more=is_more)
        if not about_run:
            self._section("the response to label", texts.response, is_more=is_more)
        self._show_rubric()
        if session.given is not None:
            given = Answer(session.given.score, session.given.passed)
            note = f", with a note: {session.given.note}" if session.given.note else ""
            console.say(in_one_line(f"your answer so far: {_answer_text(given)}{note}"))
        console.say(self._keys_text(), style="bold")

    def _section(self, title: str, lines: Iterable[TextLine], *, is_more: bool) -> None:
        self._console.say(f"\n{title.upper()}", style="bold")
        is_empty = True
        for kind, text in lines:
            is_empty = False
            parts = visible(text).split("\n")
            shown = parts if is_more or kind != "prompt" else _first_lines(parts, self._room)
            for part in shown:
                self._console.say(part, style=_STYLES[kind], indent=0 if kind == "heading" else 2)
            if shown != parts:
                hidden = len("\n".join(parts)) - len("\n".join(shown))
                told = f"... {hidden:,} more characters (m shows all)"
                if len(parts) > len(shown):
                    told = f"... {count(len(parts) - len(shown), 'more line')} (m shows all)"
                self._console.say(told, style="dim", indent=2)
        if is_empty:
            self._console.say("(empty)", style="dim", indent=2)

    @property
    def _room(self) -> int:
        return max(20, self._console.width - 2)

    def _show_rubric(self) -> None:
        console, rubric = self._console, self._rubric
        console.say(f"\n{in_one_line(rubric.title).upper()}", style="bold")
        console.say(in_one_line(rubric.question))
        for level, text in rubric.levels.items():
            mark = {0: "f", 5: "p"}.get(level, " ") if "p" in self._answers else str(level)
            console.say(f"{mark}  {in_one_line(text)}", hang=3)

    def _keys_text(self) -> str:
        scores = "p pass, f fail" if "p" in self._answers else "0-5 score"
        return f"{scores}, u unsure, n note, s skip, b back, m more of the text, q quit"


def _first_lines(lines: list[str], width: int) -> list[str]:
    """Return the beginning of lines, as many as take a few rows of so many cells."""
    shown: list[str] = []
    rows = _PROMPT_LINES
    for line in lines:
        if rows <= 0:
            break
        needed = max(1, -(-cell_len(line) // width))
        shown.append(line if needed <= rows else set_cell_size(line, rows * width).rstrip())
        rows -= needed
    # A rest of a line or two is shown rather than counted.
    rest = sum(max(1, -(-cell_len(line) // width)) for line in lines[len(shown) :])
    return lines if shown == lines[: len(shown)] and rest <= 2 else shown


def _answer_text(answer: Answer) -> str:
    if answer.score is not None:
        return str(answer.score)
    return "unsure" if answer.passed is None else "pass" if answer.passed else "fail"
