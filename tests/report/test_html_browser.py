"""Pages in real headless Chromium: they open, lead where they say, and nothing in them runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.test_html_escaping import hostile_source
from tests.report.test_html_links import occurrence
from tests.report.test_html_scan import FOUND, HEADER
from tests.support.chromium import Opened, chromium
from tests.support.report_pages import HOSTILE, benchmark_row, items, reply_of, run
from tracedance_sdk.grading import Subject, Verdict
from tracedance_sdk.judging import ItemKey
from tracedance_sdk.report import (
    DecisionPlace,
    EvidenceMark,
    HtmlPage,
    RebuiltFile,
    Relations,
    ResultSource,
    ScanSource,
    rendered,
    results_page,
    scan_page,
)
from tracedance_sdk.trace import Call

pytestmark = [pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore::ResourceWarning")]

_MISSING = {
    "subject": Subject(trace_id="trace-12", turn=2, instance_id="case-12"),
    "verdict": None,
    "score": None,
    "missing_reason": "timeout",
}
LONG = "averyveryverylongnamewithoutanyplacetobreakit" * 6


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as context:
        yield context


@pytest.fixture
def opened(browser: Any) -> Iterator[Opened]:
    page = browser.new_page()
    page.set_default_timeout(60_000)
    yield Opened(page)
    page.close()


def benchmark_page() -> HtmlPage:
    """Return a page of a run on a benchmark: replies, reasons, contexts, occurrences, tests."""
    rows = [
        benchmark_row(
            place,
            Verdict.FAIL if place % 3 else Verdict.PASS,
            rubric_score=0 if place % 3 else 5,
            evidence=({"behavior": "F01", "score": 0, "reason": "called again unchanged"},),
            model=f"openai:{LONG}",
        )
        for place in range(12)
    ]
    rows.append(rows[0].model_copy(update=_MISSING))
    call = Call(index=0, id="c", name="look_up", arguments={"order": "W-1"})
    found = items(rows, {f"case-{place}": reply_of("I try again.", call) for place in range(12)})
    marks = (EvidenceMark(1, 0, "not there"),)
    places = {
        ItemKey.of(one): DecisionPlace(run(f"trace-{n}"), 2, "the benchmark f01.jsonl", marks)
        for n, one in enumerate(rows)
    }
    relations = Relations(
        [occurrence("00aa", "trace-1")],
        [RebuiltFile("case", "trace-1", "Hi", "fail", 2, "./case.yaml", "case.yaml")],
        {found[1].name: ("trace-1",)},
        behaviors={"F01": "Unchanged retries after failure"},
    )
    manifest = {"command": "benchmark run", "model": LONG, "exclusions": {"over 2,500 tokens": 2}}
    return results_page(ResultSource("A run", manifest, found, places, (), relations))


def pages() -> dict[str, HtmlPage]:
    return {
        "benchmark": benchmark_page(),
        "scan": scan_page(ScanSource("A scan", HEADER, FOUND)),
        "hostile": results_page(hostile_source(HOSTILE)),
        "long": results_page(hostile_source(LONG)),
        "empty": results_page(ResultSource("Nothing", {}, [])),
    }


def written(tmp_path: Path, page: HtmlPage) -> str:
    path = tmp_path / "report.html"
    path.write_text(rendered(page), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("name", pages())
def test_a_page_opens_without_an_error_and_asks_for_nothing(
    name: str, opened: Opened, tmp_path: Path
) -> None:
    address = written(tmp_path, pages()[name])
    opened.page.goto(address)
    for summary in opened.page.locator("summary").all():
        summary.click()
    opened.page.wait_for_timeout(200)
    assert opened.said == []
    assert [one for one in opened.asked if one != "data:,"] == [address]


def test_a_number_leads_to_its_rows_and_on_to_the_reply(opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    page.goto(written(tmp_path, benchmark_page()))
    row = page.locator("#rates ~ .scroll tbody tr", has_text="behaviour F01")
    assert "33.3 %" in row.inner_text()
    row.locator("a[title^='failed,']").click()
    listed = page.locator(".body:target")
    assert listed.is_visible()
    assert listed.locator("li").count() == 8
    assert listed.locator("li").first.evaluate("e => e.getBoundingClientRect().top < innerHeight")
    listed.locator("a", has_text="case-1,").click()
    detail = page.locator(".body:target")
    assert detail.is_visible()
    told = detail.inner_text()
    for words in ("I try again.", "look_up", "called again unchanged", "Where is my money?"):
        assert words in told
    assert detail.locator("mark").all_inner_texts() == ["not there"]
    detail.locator("a", has_text="occurrence of F01").click()
    page.locator(".body:target a", has_text="rebuilt test case").click()
    page.locator(".body:target a", has_text="instance case-1").click()
    assert page.url.endswith("#item-2")


def test_the_keyboard_alone_opens_a_detail(opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    page.goto(written(tmp_path, benchmark_page()))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.locator("details.item summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details.item").first.get_attribute("open") is not None


def test_hostile_text_is_shown_and_does_not_run(opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    page.goto(written(tmp_path, results_page(hostile_source(HOSTILE))))
    for summary in page.locator("summary").all():
        summary.click()
    assert page.locator("script, img, iframe, object, [onclick], [onerror]").count() == 0
    assert page.title() == HOSTILE
    shown = " ".join(page.locator("main").inner_text().split())
    assert " ".join(HOSTILE.split()) in shown
    assert opened.said == []


def test_the_policy_stops_what_would_get_through(opened: Opened, tmp_path: Path) -> None:
    html = rendered(benchmark_page())
    path = tmp_path / "broken.html"
    attack = "<script>document.title='run'</script><img src='https://evil.example/x.png'>"
    path.write_text(html.replace("</main>", f"{attack}</main>"), encoding="utf-8")
    opened.page.goto(path.as_uri())
    assert opened.page.title() == "A run"
    assert len([told for told in opened.said if "Content Security Policy" in told]) == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", pages())
def test_nothing_is_wider_than_the_window(
    name: str, width: int, scheme: str, opened: Opened, tmp_path: Path
) -> None:
    page = opened.page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(written(tmp_path, pages()[name]))
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    page.screenshot(path=str(tmp_path / f"{name}-{width}-{scheme}.png"), full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(int(part) for part in paper.removeprefix("rgb(").removesuffix(")").split(",")) > 380
    assert light == (scheme == "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(scheme: str, opened: Opened, tmp_path: Path) -> None:
    opened.page.emulate_media(color_scheme=scheme)
    opened.page.goto(written(tmp_path, benchmark_page()))
    opened.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert opened.page.evaluate(_CONTRASTS) >= 4.5


_CONTRASTS = """() => {
  const numbers = (told) => (told.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
    .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const found = numbers(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  let least = 21;
  for (const node of document.querySelectorAll("body *:not(svg *)")) {
    const own = [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    if (!own || node.closest(".skip")) continue;
    const a = light(numbers(getComputedStyle(node).color)), b = light(ground(node));
    least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return least;
}"""
