"""Result sets to make pages of, and what stands in the HTML of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html.parser import HTMLParser
from typing import Any

from tracedance_sdk.grading import ResultRow, Subject, Verdict
from tracedance_sdk.judging import ItemKey
from tracedance_sdk.report import ReportItem, ResultSource
from tracedance_sdk.trace import Call, Result, Text, Trace, Turn, plain

HOSTILE = (
    '<script>document.title="run"</script>"><img src=x onerror=alert(1)>'
    "' onclick='alert(2)' {{7*7}} {% raw %} ${7*7} javascript:alert(3) </style></title> &lt;"
)
"""Text that would do something wherever it were not shown as text."""

OBEYED = "a\u202eb\u2066c\x1b[31md\x00e\u200bf"
"""Characters that reverse the reading direction, colour a terminal, or are not seen."""


class Seen(HTMLParser):
    """Collects the tags of a page with their attributes, its ids, its links and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join("".join(self.text).split())

    @property
    def ids(self) -> list[str]:
        return [told for _, attrs in self.tags if (told := attrs.get("id"))]

    @property
    def links(self) -> list[str]:
        return [attrs["href"] or "" for tag, attrs in self.tags if tag == "a"]


def reply_of(text: str, *calls: Call) -> dict[str, Any]:
    """Return a turn as next-turn keeps it."""
    turn = Turn(index=0, role="assistant", origin="agent", content=(Text(text=text),), calls=calls)
    found: dict[str, Any] = plain(turn)
    return found


def row(place: int, verdict: Verdict | None = Verdict.PASS, **fields: Any) -> ResultRow:
    """Return a row about one trace."""
    given: dict[str, Any] = {
        "subject": Subject(trace_id=f"trace-{place}", turn=2, instance_id=f"case-{place}"),
        "grader": "spec:refund",
        "model": "model-a",
        "verdict": verdict,
        **fields,
    }
    return ResultRow(**given)


def benchmark_row(place: int, verdict: Verdict | None, **fields: Any) -> ResultRow:
    """Return a row of a rule judge about an instance of a benchmark."""
    given: dict[str, Any] = {
        "grader": "rule:F01",
        "benchmark": "F01-00",
        "behaviors": ["F01"],
        "frames": ["failure"],
        "behavior_groups": ["handle-failure"],
        "operator": "SINGLE",
        **fields,
    }
    return row(place, verdict, **given)


def items(rows: Iterable[ResultRow], replies: dict[str, Any] | None = None) -> list[ReportItem]:
    """Return rows by what they are about."""
    found: dict[ItemKey, list[ResultRow]] = {}
    for one in rows:
        found.setdefault(ItemKey.of(one), []).append(one)
    known = replies or {}
    return [
        ReportItem(key, tuple(of), known.get(key.instance_id or "")) for key, of in found.items()
    ]


def source(rows: Sequence[ResultRow], **fields: Any) -> ResultSource:
    """Return what a page of rows is made from."""
    given = {"title": "Results", "manifest": {"command": "evaluate"}, "items": items(rows)}
    return ResultSource(**(given | fields))


def run(identity: str, *, text: str = "Where is my money?", answer: str = "not there") -> Trace:
    """Return a run of four turns, with a call that fails in its second."""
    call = Call(
        index=0,
        id="c0",
        name="look_up",
        arguments={"order": "W-1"},
        result=Result(ok=False, content=answer),
    )
    turns = (
        Turn(index=0, role="user", origin="human", content=(Text(text=text),)),
        Turn(index=1, role="assistant", origin="agent", calls=(call,)),
        Turn(index=2, role="assistant", origin="agent", content=(Text(text="I give up."),)),
        Turn(index=3, role="user", origin="human", content=(Text(text="Pity."),)),
    )
    return Trace(id=identity, turns=turns)
