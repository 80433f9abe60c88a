"""The work of `tracedance label`: a session at the screen, a table read, a table written."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.judge_items import NO_CONTEXT
from tracedance_sdk.cli.label_items import NO_REPLY, LabelItems
from tracedance_sdk.cli.label_keys import standard_keys
from tracedance_sdk.cli.label_screen import LabelScreen
from tracedance_sdk.cli.left_out import told_left_out
from tracedance_sdk.errors import InvalidOption, UnreadableFile, shown
from tracedance_sdk.judging import (
    ItemKey,
    JudgedItem,
    LabelHeader,
    Labelling,
    LabelWriter,
    Rubric,
    Scale,
    TableReading,
    TemplateItem,
    TextLine,
    check_label_rubric,
    chosen_items,
    item_texts,
    label_template,
    labels_from_table,
    read_labels,
    score_problem,
)
from tracedance_sdk.report import in_one_line, report_console, visible
from tracedance_sdk.trace import check_file, json_digest

_LONGEST_NAME = 80
_ADVICE = {
    NO_REPLY: "; give the folder that holds the replies too: tracedance label JUDGED REPLIES "
    "--traces TRACES",
    NO_CONTEXT: "; give with --traces the folder, file or store that holds their traces",
}
"""Why all is left out -> what to do."""


class LabelPlan(NamedTuple):
    """What the verb was asked to do; the fields are named as its options."""

    rubric: Rubric
    out: Path | None = None
    labeller: str | None = None
    sample: int | None = None
    seed: int = 0
    again: bool = False
    own_order: bool = False
    pass_fail: bool = False
    max_characters: int = 24_000
    csv: Path | None = None
    columns: tuple[tuple[str, str], ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    template: Path | None = None
    as_json: bool = False

    @property
    def scale(self) -> Scale:
        """The answers that are asked for."""
        return Scale.of(self.rubric, is_pass_fail=self.pass_fail)


class LabelOutcome(NamedTuple):
    """What came of a plan.

    Attributes:
        told: In one line, for people.
        document: For programs.
        exit_code: Of the verb.
        problems: A line each.
    """

    told: str
    document: dict[str, Any]
    exit_code: int
    problems: tuple[str, ...] = ()


def run_label_plan(plan: LabelPlan, find: Callable[[], LabelItems]) -> LabelOutcome:
    """Do what a plan says.

    Args:
        plan: What was asked for.
        find: Returns the items; called once the rest of the plan is known to be sound.

    Raises:
        TraceDanceError: What cannot be used, or nothing to label; nothing was written then.
        KeyboardInterrupt: Ctrl-C; what was answered is kept.
    """
    words = _one_meaning(plan.words, "word", ignores_case=True)
    columns = _one_meaning(plan.columns, "column")
    if plan.template is not None and plan.csv is not None:
        raise InvalidOption(
            "give either --template, which writes a table, or --csv, which reads one"
        )
    if plan.template is None and plan.out is None:
        raise InvalidOption("--out FILE is needed: where the labels go")
    _check_out(plan)
    if plan.template is not None:
        return _write_template(plan, find, plan.template)
    if plan.csv is not None:
        labeller = None if plan.labeller is None else _labeller(plan)
        how = TableReading(plan.scale, columns, words, labeller)
        return _take_table(plan, find, plan.csv, how)
    return _ask(plan, find)


def _one_meaning(
    pairs: tuple[tuple[str, str], ...], option: str, *, ignores_case: bool = False
) -> dict[str, str]:
    """Return pairs as a mapping; an option that says two things of one name is refused."""
    found: dict[str, str] = {}
    for name, meaning in pairs:
        key = name.casefold() if ignores_case else name
        if found.setdefault(key, meaning) != meaning:
            raise InvalidOption(
                f"--{option} says both {shown(f'{key}={found[key]}')} and "
                f"{shown(f'{name}={meaning}')}: give one of them"
            )
    return found


def _ask(plan: LabelPlan, find: Callable[[], LabelItems]) -> LabelOutcome:
    """Ask a person about each item."""
    keys = standard_keys()
    labeller = _labeller(plan)
    items = find()
    chosen = _chosen(plan, items)
    console = report_console(sys.stderr if plan.as_json else None)
    for reason, number in items.exclusions.items():
        complain(f"note: left out: {reason} ({number:,})")
    with _writer(plan, chosen, items) as writer:
        given = writer.found.by(labeller)
        session = Labelling(chosen, labeller, given=given, again=plan.again)
        screen = LabelScreen(
            console,
            keys,
            rubric=plan.rubric,
            scale=plan.scale,
            write=writer.add,
            most_characters=plan.max_characters,
        )
        try:
            ended = screen.run(session) if session.item is not None else "done"
        except KeyboardInterrupt:
            kept = f"{session.n_labelled:,} of {count(session.n_items, 'item')}"
            complain(f"stopped; {kept} labelled and kept: the same command goes on from there")
            raise
    left = len(session.unlabelled)
    unsure = f" ({session.n_unsure:,} unsure)" if session.n_unsure else ""
    told = (
        f"{session.n_labelled:,} of {count(session.n_items, 'item')} labelled by {labeller}{unsure}"
    )
    told += f", {left:,} left: the same command goes on" if left else ""
    document = {
        "labeller": labeller,
        "items": session.n_items,
        "labelled": session.n_labelled,
        "unsure": session.n_unsure,
        "left": left,
        "ended": ended,
    }
    code = 3 if left or NO_CONTEXT in items.exclusions else 0
    return LabelOutcome(f"{told}; {plan.out}", _document(plan, items, document), code)


def _take_table(
    plan: LabelPlan, find: Callable[[], LabelItems], path: Path, how: TableReading
) -> LabelOutcome:
    """Take the labels of a table."""
    check_file(path)
    items = find()
    if not items.items:
        raise InvalidOption(_nothing(items))
    table = labels_from_table(path, items.items, how)
    fresh = []
    if table.labels:
        with _writer(plan, items.items, items) as writer:
            there = {(label.item, label.labeller): label for label in writer.found.labels}
            fresh = [x for x in table.labels if there.get((x.item, x.labeller)) != x]
            writer.add(fresh)
    n_old, n_bad = len(table.labels) - len(fresh), len(table.problems)
    told = f"{count(len(fresh), 'label')} from {path}"
    told += f", {n_old:,} there already" if n_old else ""
    told += f", {table.n_again:,} in the table twice" if table.n_again else ""
    told += f", {count(n_bad, 'bad row')} left out" if n_bad else ""
    told += f", {count(table.n_empty, 'row')} without an answer" if table.n_empty else ""
    document = {
        "labels": len(fresh),
        "there_already": n_old,
        "twice": table.n_again,
        "empty": table.n_empty,
        "problems": list(table.problems),
    }
    code = (3 if table.labels else 2) if n_bad or not table.labels else 0
    document = _document(plan, items, document)
    return LabelOutcome(f"{told}; {plan.out}", document, code, table.problems)


def _write_template(plan: LabelPlan, find: Callable[[], LabelItems], path: Path) -> LabelOutcome:
    """Write a table of what is still to be labelled."""
    if path.exists():
        raise InvalidOption(f"{str(path)!r} is there already and may hold labels; name a new file")
    items = find()
    chosen = _chosen(plan, items)
    if plan.out is not None and plan.out.exists() and not plan.again:
        labels = read_labels(plan.out)
        done = labels.by(_labeller(plan))
        chosen = [item for item in chosen if ItemKey.of(item) not in done]
    is_json = path.suffix.lower() in (".jsonl", ".ndjson")
    rows = (_template_item(item, plan.max_characters) for item in chosen)
    text = label_template(rows, plan.scale, as_json=is_json)
    mark = "" if is_json else "\ufeff"  # without it, spreadsheets guess another encoding
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(mark + text)
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be written: {error}") from error
    document = _document(plan, items, {"template": str(path), "items": len(chosen)})
    return LabelOutcome(f"{count(len(chosen), 'item')} to be labelled; {path}", document, 0)


def _template_item(item: JudgedItem, most_characters: int) -> TemplateItem:
    texts = item_texts(item, most_characters=most_characters)
    if item.response is None:
        return TemplateItem(item, "", _plain(texts.context))
    return TemplateItem(item, _plain(texts.context), _plain(texts.response))


def _plain(lines: tuple[TextLine, ...]) -> str:
    return "\n".join(visible(line.text) for line in lines)


def _chosen(plan: LabelPlan, items: LabelItems) -> list[JudgedItem]:
    own = _labeller(plan) if plan.own_order else None
    chosen = chosen_items(items.items, n=plan.sample, seed=plan.seed, order_of=own)
    if not chosen:
        raise InvalidOption(_nothing(items))
    if plan.sample is not None and len(chosen) < plan.sample:
        complain(f"note: there are {count(len(chosen), 'item')}, not {plan.sample:,}")
    return chosen


def _nothing(items: LabelItems) -> str:
    """Return that there is nothing to label, why, and what to do about it."""
    if not items.excluded:
        return (
            "there is nothing to label: the sources hold no trace; name a store, a folder or files "
            "with traces, or a result set of next-turn or judge"
        )
    advice = next((told for why, told in _ADVICE.items() if why in items.exclusions), "")
    return f"there is nothing to label; {told_left_out(items.excluded)}{advice}"


def _check_out(plan: LabelPlan) -> None:
    """Refuse labels by another rubric before anything is read or asked."""
    if plan.out is not None and plan.out.is_file() and plan.out.stat().st_size:
        rubric = plan.rubric
        found = read_labels(plan.out)
        where = str(plan.out)
        check_label_rubric(found.header, rubric=rubric.id, sha256=rubric.sha256, where=where)
        for note in found.notes:
            complain(f"note: {note}")
        problem = score_problem(found, pass_from=rubric.pass_from, where=where)
        if problem is not None:
            complain(f"note: {problem}: calibrate takes no such label; answer anew with --again")


def _writer(plan: LabelPlan, chosen: list[JudgedItem], items: LabelItems) -> LabelWriter:
    about = {
        "about": plan.rubric.about,
        "pass_from": plan.rubric.pass_from,
        "n_items": len(chosen),
        "of_items": len(items.items),
        "seed": plan.seed,
        "items_sha256": json_digest(sorted(ItemKey.of(item).short for item in chosen)),
    }
    header = LabelHeader(rubric=plan.rubric.id, rubric_sha256=plan.rubric.sha256, set=about)
    if plan.out is None:
        raise InvalidOption("--out FILE is needed: where the labels go")
    writer = LabelWriter(plan.out, header)
    before = writer.found.header.set
    if writer.found.labels and before.get("items_sha256") != about["items_sha256"]:
        complain(
            f"note: {str(plan.out)!r} was begun with another choice of items "
            f"({shown(before.get('n_items'))} by seed {shown(before.get('seed'))}): labellers can "
            "be compared only where they labelled the same"
        )
    return writer


def _labeller(plan: LabelPlan) -> str:
    name = plan.labeller
    if name is None:
        try:
            name = getpass.getuser()
        except (OSError, KeyError, ImportError) as error:
            raise InvalidOption("say who labels with --labeller NAME") from error
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or in_one_line(name) != name:
        raise InvalidOption(
            f"{shown(name)} is no name of a labeller; up to {_LONGEST_NAME} plain characters are"
        )
    return name


def _document(plan: LabelPlan, items: LabelItems, own: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": "tracedance.labelling",
        "version": 1,
        "out": None if plan.out is None else str(plan.out),
        "rubric": plan.rubric.id,
        "rubric_sha256": plan.rubric.sha256,
        "exclusions": items.exclusions,
        **own,
    }
