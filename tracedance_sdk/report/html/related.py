"""Occurrences and rebuilt tests of the same traces, with links both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tracedance_sdk.behaviors import Occurrence
from tracedance_sdk.report.html.links import Anchors
from tracedance_sdk.report.html.page import Link, PageBounds, Related
from tracedance_sdk.report.html.texts import short

_MOST_BACK: Final = 20
_MOST_LINKS: Final = 20
_MOST_QUOTES: Final = 5


class RebuiltFile(NamedTuple):
    """A rebuilt test.

    Attributes:
        id: Of the test.
        trace_id: Of the conversation that it was made of.
        opening: The first thing that the person says.
        verdict: What production said of the run.
        recordings: How many calls were recorded.
        href: Of the file.
        file: Its name.
    """

    id: str
    trace_id: str
    opening: str = ""
    verdict: str | None = None
    recordings: int = 0
    href: str | None = None
    file: str = ""


class Relations(NamedTuple):
    """What else is known of the traces.

    Attributes:
        occurrences: Found by a scan.
        tests: Made of the traces.
        traces: Ids of the recorded traces that each subject is about, by `ReportItem.name`.
        occurrences_href: Of a page about the occurrences, where there is one.
        behaviors: Names of behaviours by id.
    """

    occurrences: Sequence[Occurrence] = ()
    tests: Sequence[RebuiltFile] = ()
    traces: Mapping[str, tuple[str, ...]] = {}
    occurrences_href: str | None = None
    behaviors: Mapping[str, str] = {}


class RelatedViews(NamedTuple):
    """What a page says of occurrences and tests, and the links to it by trace."""

    occurrences: tuple[Related, ...]
    occurrences_note: str
    tests: tuple[Related, ...]
    tests_note: str
    links: Mapping[str, tuple[Link, ...]]
    traces: Mapping[str, tuple[str, ...]]

    def of(self, key: str) -> tuple[Link, ...]:
        """Return the links of a subject to occurrences and tests of its traces."""
        found = [link for trace in self.traces.get(key, ()) for link in self.links.get(trace, ())]
        if len(found) <= _MOST_LINKS:
            return tuple(found)
        return (*found[:_MOST_LINKS], Link(f"{len(found) - _MOST_LINKS:,} more are not shown"))


def related_views(
    relations: Relations, back: Mapping[str, Link], *, anchors: Anchors, bounds: PageBounds
) -> RelatedViews:
    """Return the occurrences and tests of the traces that subjects are about.

    Args:
        relations: What is known.
        back: Links to the details of subjects.
        anchors: Of the page.
        bounds: How many.
    """
    subjects: dict[str, list[Link]] = {}
    for key, traces in relations.traces.items():
        for trace in traces:
            subjects.setdefault(trace, [])
            if key in back:
                subjects[trace].append(back[key])
    occurrences = [one for one in relations.occurrences if one.trace_id in subjects]
    tests = [one for one in relations.tests if one.trace_id in subjects]
    shown, made = occurrences[: bounds.related], tests[: bounds.related]
    links: dict[str, list[Link]] = {}
    of_occurrences: dict[str, list[Link]] = {}
    of_tests: dict[str, list[Link]] = {}
    places = {id(one): anchors.named("occurrence", one.id) for one in shown}
    for one in shown:
        name = relations.behaviors.get(one.behavior, "")
        told = f"occurrence of {one.behavior} {name}".strip() + f", turn {one.turn}"
        of_occurrences.setdefault(one.trace_id, []).append(Link(told, f"#{places[id(one)]}"))
    files = {id(test): anchors.named("test", test.id) for test in made}
    for test in made:
        told = f"rebuilt test {test.id}"
        of_tests.setdefault(test.trace_id, []).append(Link(told, f"#{files[id(test)]}"))
    for trace in subjects:
        links[trace] = [*of_occurrences.get(trace, ()), *of_tests.get(trace, ())]
    return RelatedViews(
        tuple(
            _occurrence(
                one,
                places[id(one)],
                relations,
                [*subjects[one.trace_id], *of_tests.get(one.trace_id, ())],
            )
            for one in shown
        ),
        _note(len(shown), len(occurrences), len(relations.occurrences), "occurrence"),
        tuple(
            _test(
                test,
                files[id(test)],
                [*subjects[test.trace_id], *of_occurrences.get(test.trace_id, ())],
            )
            for test in made
        ),
        _note(len(made), len(tests), len(relations.tests), "rebuilt test"),
        {trace: tuple(found) for trace, found in links.items()},
        relations.traces,
    )


def _occurrence(
    one: Occurrence, anchor: str, relations: Relations, back: Sequence[Link]
) -> Related:
    name = relations.behaviors.get(one.behavior, "")
    facts = [
        ("why", one.note),
        ("trace", one.trace_id),
        ("turn", str(one.turn)),
        ("model", one.model),
        ("agent", one.agent),
        ("at", one.at),
        ("left out of benchmarks", one.dropped),
    ]
    quotes = [item.quote for item in one.evidence if item.quote][:_MOST_QUOTES]
    page = relations.occurrences_href
    return Related(
        anchor,
        short(f"{one.behavior} {name}".strip() + f" in trace {one.trace_id}, turn {one.turn}", 200),
        None if page is None else f"{page}#{Anchors().named('occurrence', one.id)}",
        tuple((name, short(value, 300)) for name, value in facts if value),
        tuple(short(quote, 300) for quote in quotes),
        tuple(back[:_MOST_BACK]),
        max(0, len(back) - _MOST_BACK),
    )


def _test(test: RebuiltFile, anchor: str, back: Sequence[Link]) -> Related:
    facts = [
        ("file", test.file),
        ("trace", test.trace_id),
        ("opening", test.opening),
        ("recorded calls", f"{test.recordings:,}"),
        ("recorded verdict", test.verdict),
    ]
    return Related(
        anchor,
        short(f"test {test.id}", 200),
        test.href,
        tuple((name, short(value, 300)) for name, value in facts if value),
        (),
        tuple(back[:_MOST_BACK]),
        max(0, len(back) - _MOST_BACK),
    )


def _note(shown: int, of: int, given: int, what: str) -> str:
    if not given:
        return ""
    plural = what if of == 1 else f"{what}s"
    said = f"{of:,} {plural} of traces that this page is about, of {given:,} given."
    return f"{said} The first {shown:,} are shown." if shown < of else said
