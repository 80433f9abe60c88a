"""What stands on a page, as data: the templates only put it into words and boxes.

All texts are as they came; `rendered` escapes them.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from tracedance_sdk.report.html.charts import Chart
from tracedance_sdk.report.html.texts import Cut

Tone = Literal["good", "bad", "open", "plain"]

TONES: Final[dict[str, Tone]] = {
    "pass": "good",
    "fail": "bad",
    "critical": "bad",
    "inconclusive": "open",
    "error": "open",
    "missing": "open",
}
"""How a verdict is coloured; its word stands beside the colour."""


class PageBounds(NamedTuple):
    """How much of everything a page holds; what is beyond is counted in words.

    Attributes:
        details: Subjects whose details are shown.
        characters: Of one text.
        all_characters: Of all texts together, about.
        listed: Links of all lists together.
        in_list: Links of one list.
        lines: Lines of one table.
        turns: Turns before a decision.
        calls: Calls of one turn.
        related: Occurrences, and tests, of the same traces.
    """

    details: int = 500
    characters: int = 4_000
    all_characters: int = 3_000_000
    listed: int = 40_000
    in_list: int = 300
    lines: int = 60
    turns: int = 4
    calls: int = 20
    related: int = 300


class Number(NamedTuple):
    """A number in a table.

    Attributes:
        text: As it is shown.
        href: Of the list of what it counts; None where nothing is known of it.
        what: What it counts, for those who do not see the table.
    """

    text: str
    href: str | None = None
    what: str = ""


class Line(NamedTuple):
    """A line of a table: what it is about, then its cells."""

    name: str
    cells: tuple[Number, ...]
    note: str = ""


class Table(NamedTuple):
    """A table with a chart above it.

    Attributes:
        anchor: Its id in the page.
        title: Its heading.
        about: What it says, in a sentence.
        columns: Names of the columns, that of the first included.
        lines: In order.
        more: What is left out, in words; empty for nothing.
        charts: None, one or several.
    """

    anchor: str
    title: str
    about: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    more: str = ""
    charts: tuple[Chart, ...] = ()


class Link(NamedTuple):
    """A link; without an address it is text."""

    text: str
    href: str | None = None
    word: str = ""
    tone: Tone = "plain"


class Listing(NamedTuple):
    """The subjects behind a number.

    Attributes:
        anchor: Its id in the page.
        title: Which number.
        links: To the details.
        number: How many there are in all.
    """

    anchor: str
    title: str
    links: tuple[Link, ...]
    number: int


class CallView(NamedTuple):
    """A call: its name, its arguments, what came back (None where nothing is shown)."""

    name: str
    arguments: Cut
    result: Cut | None = None
    word: str = ""
    tone: Tone = "plain"
    is_marked: bool = False


class TurnView(NamedTuple):
    """A turn: who, what is said, which calls, and what became of it: a word, its tone, more."""

    title: str
    texts: tuple[tuple[str, Cut], ...]
    calls: tuple[CallView, ...]
    more_calls: int = 0
    is_marked: bool = False
    marks: tuple[tuple[str, str, Cut], ...] = ()

    @property
    def size(self) -> int:
        """Characters of its texts."""
        found = sum(text.size for _, text in self.texts)
        found += sum(text.size for _, _, text in self.marks)
        for call in self.calls:
            found += call.arguments.size + (0 if call.result is None else call.result.size)
        return found


class Window(NamedTuple):
    """The last turns before a decision, or of a run.

    Attributes:
        title: Which of both.
        turns: In order.
        earlier: How many turns come before them.
        origin: Where they were read.
        note: What is to be known of them; may be empty.
    """

    title: str
    turns: tuple[TurnView, ...]
    earlier: int
    origin: str
    note: str = ""


class Remark(NamedTuple):
    """Something a grader says: a word such as a verdict, a name, and a text."""

    word: str
    tone: Tone
    name: str
    text: Cut


class Finding(NamedTuple):
    """What one grader or judge says of a subject."""

    grader: str
    word: str
    tone: Tone
    score: str
    remarks: tuple[Remark, ...]
    facts: tuple[tuple[str, str], ...] = ()
    more: int = 0


class Detail(NamedTuple):
    """All that is shown of one subject.

    Attributes:
        anchor: Its id in the page.
        title: What it is.
        word: The verdict in a word.
        tone: Of the verdict.
        facts: Names and values.
        findings: What graders say.
        reply: The turn that was given.
        reply_note: Why there is none, or what is to be known of it.
        window: What came before.
        source: The turn that was withheld, where it is known.
        related: Occurrences and tests of the same trace.
        evidence: Where it stands, and the words that stand there.
    """

    anchor: str
    title: str
    word: str
    tone: Tone
    facts: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...] = ()
    reply: TurnView | None = None
    reply_note: str = ""
    window: Window | None = None
    source: TurnView | None = None
    related: tuple[Link, ...] = ()
    evidence: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """About how many characters it holds."""
        turns = [self.reply, self.source, *(self.window.turns if self.window else ())]
        said = sum(remark.text.size for one in self.findings for remark in one.remarks)
        quoted = sum(len(quote) for _, quote in self.evidence)
        return 600 + said + quoted + sum(turn.size for turn in turns if turn is not None)


class Related(NamedTuple):
    """An occurrence, or a test, of a trace that the page is about."""

    anchor: str
    title: str
    href: str | None
    facts: tuple[tuple[str, str], ...]
    quotes: tuple[str, ...]
    back: tuple[Link, ...]
    more: int = 0


class Card(NamedTuple):
    """A number that stands on top."""

    name: str
    number: Number
    note: str = ""
    tone: Tone = "plain"


class HtmlPage(NamedTuple):
    """A page from top to bottom."""

    title: str
    subtitle: str
    facts: tuple[tuple[str, str], ...]
    cards: tuple[Card, ...]
    left_out: Table
    notes: tuple[str, ...]
    tables: tuple[Table, ...]
    threats: tuple[str, ...]
    listings: tuple[Listing, ...]
    details: tuple[Detail, ...]
    details_note: str
    occurrences: tuple[Related, ...] = ()
    occurrences_note: str = ""
    tests: tuple[Related, ...] = ()
    tests_note: str = ""
