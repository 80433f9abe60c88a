"""Text of traces, models and judges is shown as text, wherever it stands on a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracedance_sdk.report.html as room
from tests.support.report_pages import (
    HOSTILE,
    OBEYED,
    Seen,
    benchmark_row,
    items,
    reply_of,
    row,
    run,
    source,
)
from tracedance_sdk.behaviors import Occurrence
from tracedance_sdk.grading import Subject, Verdict
from tracedance_sdk.judging import ItemKey
from tracedance_sdk.report import (
    DecisionPlace,
    EvidenceMark,
    RebuiltFile,
    Relations,
    ResultSource,
    ScanSource,
    rendered,
    results_page,
    scan_page,
)
from tracedance_sdk.trace import Call

TEMPLATES = sorted((Path(room.__file__).parent / "templates").glob("*.j2"))
ALLOWED = {
    *("html", "head", "meta", "link", "title", "style", "body", "a", "header", "p", "h1", "h2"),
    *("h3", "bdi", "nav", "ul", "ol", "li", "main", "section", "dl", "dt", "dd", "div", "details"),
    *("summary", "span", "mark", "blockquote", "code", "pre", "figure", "figcaption", "svg"),
    *("rect", "path", "g", "table", "thead", "tbody", "tr", "th", "td", "footer"),
}


def hostile_source(text: str) -> ResultSource:
    """Return a set in which everything that can be text is this text."""
    subject = Subject(trace_id=text, turn=2, instance_id=text)
    fields: dict[str, Any] = {"subject": subject, "model": text, "group": text, "task_id": text}
    rows = [
        row(0, Verdict.FAIL, **fields, grader=text, reason=text, note=text),
        benchmark_row(
            0, Verdict.FAIL, **fields, benchmark=text, behaviors=[text], grader=f"rule:{text}"
        ),
        row(
            0,
            None,
            **fields,
            grader=f"judge:{text}",
            missing_reason=text,
            missing=text,
            rubric_score=3,
            judges={text: 3},
            evidence=(
                text,
                {"reasoning": text, "strengths": [text], "issues": [{"type": text}]},
                {"criterion": text, "verdict": text, "reason": text, "evidence": [{"what": text}]},
                {"behavior": text, "reason": text, "score": 1},
                {text: text},
            ),
        ),
    ]
    call = Call(index=0, id=text or "c", name=text or "c", arguments={text: text})
    found = items(rows, {text: reply_of(text, call)})
    trace = run("t", text=text, answer=text)
    place = DecisionPlace(trace, 2, text, (EvidenceMark(0, None, text),), trace.turns[2], text)
    occurrence = Occurrence.model_validate(
        {
            "id": text,
            "behavior": text,
            "trace_id": text,
            "turn": 2,
            "session": text,
            "note": text,
            "evidence": [{"turn": 1, "quote": text}],
        }
    )
    return ResultSource(
        title=text,
        manifest={
            "command": text,
            "model": text,
            text: text,
            "judges": [{"name": text}],
            "exclusions": {text: 1},
            "excluded": [{"reason": text, "trace_id": text, "detail": text}],
        },
        items=found,
        places={ItemKey.of(rows[0]): place},
        notes=[text],
        relations=Relations(
            [occurrence],
            [RebuiltFile(text, text, text, text, 1, "./x.yaml", text)],
            {one.name: (text,) for one in found},
            behaviors={text: text},
        ),
    )


def plain_of(html: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the tags of a page with the names of their attributes, in no order of the page."""
    return sorted((tag, tuple(attrs)) for tag, attrs in Seen(html).tags)


@pytest.mark.parametrize("text", [HOSTILE, OBEYED], ids=["markup", "control characters"])
def test_hostile_text_adds_no_tag_and_no_attribute(text: str) -> None:
    harmless = plain_of(rendered(results_page(hostile_source("plain"))))
    assert plain_of(rendered(results_page(hostile_source(text)))) == harmless


def test_hostile_text_is_readable_as_it_is() -> None:
    html = rendered(results_page(hostile_source(HOSTILE)))
    seen = Seen(html)
    assert seen.words.count(HOSTILE) > 20
    assert "49" not in re.sub(r"\s", "", HOSTILE)
    assert "{{7*7}}" in seen.words
    assert html.lower().count("<script") == 0


def test_links_lead_into_the_page_or_to_files_beside_it() -> None:
    links = Seen(rendered(results_page(hostile_source(HOSTILE)))).links
    assert {link for link in links if not link.startswith("#")} == {"./x.yaml"}
    assert all(re.fullmatch(r"#[a-z][A-Za-z0-9_-]*|\./x\.yaml", link) for link in links)


def test_characters_that_are_obeyed_are_shown() -> None:
    html = rendered(results_page(hostile_source(OBEYED)))
    assert not re.search("[\x00-\x08\x0b-\x1f\u200b\u202a-\u202e\u2066-\u2069]", html)
    assert "a\\u202eb\\u2066c\\x1b[31md\\x00e\\u200bf" in html


def test_a_scan_is_escaped_too() -> None:
    one = hostile_source(HOSTILE).relations.occurrences[0]
    trace = run("t", text=HOSTILE)
    place = DecisionPlace(trace, 2, "here", (EvidenceMark(0, None, "<script>"),), trace.turns[2])
    header = {"funnels": [{"behavior": HOSTILE, "sessions": 3}], "sessions": {"week": {HOSTILE: 2}}}
    html = rendered(scan_page(ScanSource(HOSTILE, header, [one], {HOSTILE: place})))
    seen = Seen(html)
    assert html.lower().count("<script") == 0
    assert all(link.startswith("#") for link in seen.links)
    assert "<mark>&lt;script&gt;</mark>" in html


@given(st.text(max_size=60))
def test_any_text_gives_only_tags_of_the_templates(text: str) -> None:
    seen = Seen(rendered(results_page(source([row(0, Verdict.FAIL, reason=text, model=text)]))))
    assert {tag for tag, _ in seen.tags} <= ALLOWED
    for tag, attrs in seen.tags:
        assert not any(name.startswith("on") for name in attrs), tag


def test_the_page_forbids_itself_everything_from_outside() -> None:
    seen = Seen(rendered(results_page(source([row(0)]))))
    policies = [
        attrs["content"]
        for tag, attrs in seen.tags
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    told = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
    assert policies == [f"{told}; form-action 'none'"]
    outside = [attrs for tag, attrs in seen.tags if tag in ("link", "img") or "src" in attrs]
    assert outside == [{"rel": "icon", "href": "data:,"}]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_turns_escaping_off(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\|\s*safe\b|autoescape|<script|\bon[a-z]+=|https?:", text)
