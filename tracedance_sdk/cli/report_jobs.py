"""The work of `tracedance report`: a result set or a scan, with what lies beside it, as a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.behaviors import Occurrence, packaged_behaviors, read_occurrences
from tracedance_sdk.cli.report_places import (
    StoredTraces,
    benchmark_places,
    occurrence_places,
    opened_benchmarks,
    store_places,
)
from tracedance_sdk.cli.show_results import ItemFilter, result_folder, shown_sets
from tracedance_sdk.errors import InvalidOption, TraceDanceError, UnreadableFile
from tracedance_sdk.formats import Document, documents
from tracedance_sdk.replay import read_test
from tracedance_sdk.report import (
    HtmlPage,
    RebuiltFile,
    Relations,
    ReportItem,
    ResultSource,
    ScanSource,
    ShownSecrets,
    file_href,
    in_one_line,
    rendered,
    results_page,
    scan_page,
    wanted_items,
    wanted_occurrences,
)
from tracedance_sdk.store import TraceStore
from tracedance_sdk.trace import Json

OCCURRENCES: Final = "tracedance.occurrences"
_FILE: Final = "occurrences.jsonl"
_MARK: Final = b'<meta name="generator" content="tracedance report">'
_HEAD_BYTES: Final = 4096
_ALL: Final = 10**9
_MOST_PROBLEMS: Final = 5


class ReportPlan(NamedTuple):
    """What `report` was asked to do; the fields are named as its arguments and options."""

    results: Path
    out: Path
    benchmarks: tuple[Path, ...] = ()
    store: Path | None = None
    occurrences: Path | None = None
    tests: Path | None = None
    title: str | None = None
    no_redact: bool = False


class Written(NamedTuple):
    """A page that was written.

    Attributes:
        n_subjects: How many it is about.
        what: What each of them is.
        n_details: How many have details.
        n_bytes: Of the file.
        problems: What could not be read, one line each.
    """

    n_subjects: int
    what: str
    n_details: int
    n_bytes: int
    problems: tuple[str, ...]


def write_report(plan: ReportPlan) -> Written:
    """Make a page and write it.

    Raises:
        TraceDanceError: Nothing that a page can be made of, something named beside it that is not
            there, or a file that cannot be written; nothing was written then.
    """
    _check_out(plan.out)
    problems: list[str] = []
    secrets = ShownSecrets(is_masking=not plan.no_redact)
    folder = result_folder(plan.results)
    found = _occurrences_file(plan.results)
    if folder is not None:
        page, number = _of_results(plan, folder, secrets, problems)
        what = "subject"
    elif found is not None:
        page, number = _of_scan(plan, found, secrets, problems)
        what = "occurrence"
    else:
        raise InvalidOption(
            f"{str(plan.results)!r} is no result set and no file of occurrences; name a folder "
            "that --out of evaluate, next-turn, judge, replay or benchmark run wrote, or the "
            "occurrences.jsonl of scan"
        )
    data = rendered(page).encode("utf-8", "backslashreplace")
    _write(plan.out, data)
    told = problems[:_MOST_PROBLEMS]
    if len(problems) > len(told):
        told.append(f"{len(problems) - len(told):,} more problems are not listed")
    return Written(number, what, len(page.details), len(data), tuple(told))


def _of_results(
    plan: ReportPlan, folder: Path, secrets: ShownSecrets, problems: list[str]
) -> tuple[HtmlPage, int]:
    shown = shown_sets([folder], ItemFilter(), limit=_ALL)[0]
    items = [
        ReportItem(item.key, tuple(map(secrets.model, item.rows)), secrets.value(item.reply))
        for item in shown.chosen
    ]
    benchmarks = opened_benchmarks(plan.benchmarks, problems)
    tests = _tests(plan, secrets, problems)
    sources = {test.id: test.trace_id for test in tests}
    traces = {item.name: _traces_of(item, sources) for item in items}
    relations = _relations(plan, tests, secrets)._replace(traces=traces)
    notes = []
    if shown.n_unfound:
        notes.append(
            f"{shown.n_unfound:,} of the subjects are replies that are in no result set beside "
            "this one, so their texts are not shown."
        )
    source = ResultSource(
        title=plan.title or f"Results: {folder.resolve().name}",
        manifest=_object(secrets.value(shown.results.manifest)),
        items=items,
        relations=relations,
    )
    wanted = wanted_items(source)
    places = benchmark_places(wanted, benchmarks, secrets)
    if plan.benchmarks and wanted and not places:
        notes.append("None of the subjects shown is an instance of the benchmark that was named.")
    if plan.store is not None:
        stored = StoredTraces(TraceStore.open(plan.store), secrets, problems)
        rest = [item for item in wanted if item.key not in places]
        found, unknown = store_places(rest, stored, sources)
        places |= found
        if unknown:
            notes.append(f"The traces of {unknown:,} of the subjects shown are not in the store.")
    page = results_page(source._replace(places=places, notes=[*notes, *_told(plan, secrets)]))
    return page, len(items)


def _of_scan(
    plan: ReportPlan, path: Path, secrets: ShownSecrets, problems: list[str]
) -> tuple[HtmlPage, int]:
    if plan.occurrences is not None or plan.benchmarks:
        raise InvalidOption(
            f"{str(path)!r} holds occurrences; --occurrences and --benchmark are for result sets"
        )
    found = list(read_occurrences(path))
    name = path.resolve().parent.name
    source = ScanSource(
        title=plan.title or f"Occurrences: {name}",
        header=_object(secrets.value(_header(path))),
        occurrences=found,
        relations=_relations(plan, _tests(plan, secrets, problems), secrets),
    )
    notes = []
    stored = None
    if plan.store is not None:
        stored = StoredTraces(TraceStore.open(plan.store), secrets, problems)
        places, unknown = occurrence_places(wanted_occurrences(source), stored, secrets)
        source = source._replace(places=places)
        if unknown:
            notes.append(f"The traces of {unknown:,} of the occurrences are not in the store.")
    shown = [
        secrets.occurrence(one)
        if stored is None or one.id not in source.places
        else secrets.occurrence(
            one, before=stored.get(one.trace_id), after=stored.shown(one.trace_id)
        )
        for one in found
    ]
    notes += _told(plan, secrets)
    return scan_page(source._replace(occurrences=shown, notes=notes)), len(found)


def _told(plan: ReportPlan, secrets: ShownSecrets) -> list[str]:
    """Say what was done about secrets, where there is something to say."""
    if plan.no_redact:
        return ["Secrets are shown as they were recorded: the page was made with --no-redact."]
    if not secrets.number:
        return []
    many = "1 secret is" if secrets.number == 1 else f"{secrets.number:,} secrets are"
    return [f"{many} masked here that the recording holds; equal numbers are equal secrets."]


def _object(value: Json) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _relations(plan: ReportPlan, tests: Sequence[RebuiltFile], secrets: ShownSecrets) -> Relations:
    names = {behavior.id: behavior.name for behavior in packaged_behaviors().values()}
    occurrences: list[Occurrence] = []
    href = None
    if plan.occurrences is not None:
        path = _occurrences_file(plan.occurrences)
        if path is None:
            raise InvalidOption(
                f"--occurrences {str(plan.occurrences)!r}: no file of occurrences, and no folder "
                f"with {_FILE}; scan --out writes one"
            )
        occurrences = [secrets.occurrence(one) for one in read_occurrences(path)]
        beside = path.with_suffix(".html")
        href = file_href(beside, plan.out) if _is_report(beside) else None
    return Relations(occurrences, tests, {}, href, names)


def _tests(plan: ReportPlan, secrets: ShownSecrets, problems: list[str]) -> list[RebuiltFile]:
    if plan.tests is None:
        return []
    if not plan.tests.is_dir():
        raise InvalidOption(f"--tests {str(plan.tests)!r} is no folder; rebuild --out writes one")
    found = []
    for path in sorted(plan.tests.glob("*.yaml")):
        try:
            test = read_test(path)
        except TraceDanceError as error:
            problems.append(str(error))
            continue
        found.append(
            RebuiltFile(
                test.id,
                test.source.trace_id,
                secrets.text(test.opening),
                test.source.verdict,
                len(test.recordings),
                file_href(path, plan.out),
                path.name,
            )
        )
    if not found and not problems:
        raise InvalidOption(f"--tests {str(plan.tests)!r} holds no rebuilt tests")
    return found


def _traces_of(item: ReportItem, sources: dict[str, str]) -> tuple[str, ...]:
    """Return the recorded traces that an item is about: its own, and that of its test."""
    named = (item.key.trace_id, sources.get(item.key.instance_id or ""))
    return tuple(dict.fromkeys(name for name in named if name))


def _occurrences_file(path: Path) -> Path | None:
    """Return the file of occurrences that a path is, or holds; None for others."""
    found = path / _FILE if path.is_dir() else path
    if found.suffix != ".jsonl" or not found.is_file():
        return None
    return found if _header(found).get("format") == OCCURRENCES else None


def _header(path: Path) -> dict[str, Any]:
    """Return the first line of a file, if it is an object."""
    first = next(documents(str(path)), None)
    value = first.value if isinstance(first, Document) else None
    return value if isinstance(value, dict) else {}


def _check_out(out: Path) -> None:
    """Refuse to replace anything but a page that was written here before."""
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InvalidOption(f"--out {str(out)!r}: name a file in a folder that is there")
    if out.exists() and not _is_report(out):
        raise InvalidOption(f"--out {str(out)!r} is there and is no report; name another file")


def _is_report(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _MARK in file.read(_HEAD_BYTES)
    except OSError:
        return False


def _write(out: Path, data: bytes) -> None:
    draft = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(data)
        draft.replace(out)
    except OSError as error:
        draft.unlink(missing_ok=True)
        told = in_one_line(str(out))
        raise UnreadableFile(f"{told!r} cannot be written: {error.strerror}") from error
