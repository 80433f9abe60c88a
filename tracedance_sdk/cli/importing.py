"""`tracedance import`: bring traces of other systems into a store."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.number_options import whole

if TYPE_CHECKING:
    from tracedance_sdk.cli.import_jobs import ImportOptions
    from tracedance_sdk.formats import Collector, TraceSource
    from tracedance_sdk.store import ImportReport

_EXIT_CODES: Final = """\b
Exit codes:
  0  something was imported, or was there already
  1  with --strict: something was not read, or a run is not all there
  2  wrong use, or nothing could be imported
"""
_FILE: Final = click.Path(path_type=Path)


@click.command(name="import", epilog=_EXIT_CODES)
@click.argument("paths", nargs=-1, required=True, type=_FILE, metavar="PATH...")
@click.option("--store", required=True, type=_FILE, metavar="DIR", help="Made when not there.")
@click.option("--from", "collector", metavar="NAME", help="Only this collector reads.")
@click.option("--mapping", type=_FILE, metavar="FILE", help="Describes records of your own.")
@click.option("--tools", type=_FILE, metavar="FILE", help="Your own table of tools.")
@click.option("--no-redact", is_flag=True, help="Keep secrets as they are.")
@click.option(
    "--pseudonymise", is_flag=True, help="Replace e-mail addresses, home folders and --names."
)
@click.option("--names", type=_FILE, metavar="FILE", help="Names to replace, a person a line.")
@click.option("--strict", is_flag=True, help="Exit with 1 when anything was lost.")
@click.option(
    "--jobs",
    type=whole(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes to share the files among.",
)
@click.option("--problems", type=_FILE, metavar="FILE", help="Write every problem, a line each.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
@click.option("--quiet", is_flag=True, help="Print the last line alone.")
def import_command(
    paths: tuple[Path, ...],
    *,
    store: Path,
    collector: str | None,
    mapping: Path | None,
    tools: Path | None,
    no_redact: bool,
    pseudonymise: bool,
    names: Path | None,
    strict: bool,
    jobs: int,
    problems: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Bring traces of other systems into a store, with secrets masked.

    PATHs are files or folders: sessions of coding agents, logs of benchmarks, spans, chats, traces
    of ours; plain, .gz, .zst or in a .zip. What a file is shows in its first bytes. Importing
    again adds nothing; a session that grew replaces what was there of it.
    """
    from tracedance_sdk.cli.import_jobs import ImportOptions, chosen_collectors, import_all
    from tracedance_sdk.errors import InvalidOption

    if names is not None and not pseudonymise:
        raise InvalidOption("--names FILE needs --pseudonymise")
    options = ImportOptions(
        store=store,
        roots=paths,
        collector=collector,
        mapping=mapping,
        redact=not no_redact,
        pseudonymise=pseudonymise,
        names=names,
        tools=tools,
    )
    collectors = chosen_collectors(options)
    cleaned = _cleaner(options)
    sources = _sources(options, collectors, cleaned)
    _say_what_is_there(options)
    with _progress(len(sources)) as on_done:
        report = import_all(options, sources, jobs=jobs, on_done=on_done)
    if problems is not None:
        _write_problems(problems, report)
    _print(report, cleaned(str(store)), as_json=as_json, quiet=quiet)
    if report.total.traces == 0:
        complain(f"nothing was imported from {', '.join(repr(cleaned(str(p))) for p in paths)}")
        return 2
    return 1 if strict and not report.is_whole else 0


def _cleaner(options: ImportOptions) -> Callable[[str], str]:
    """Return what takes secrets and people out of the paths that are printed."""
    from tracedance_sdk.cli.import_jobs import chosen_redactor
    from tracedance_sdk.store import cleaned_text

    redactor = chosen_redactor(options)
    return lambda text: text if redactor is None else cleaned_text(text, redactor)


def _say_what_is_there(options: ImportOptions) -> None:
    """Say so when people would come into a store from which they were taken out."""
    from tracedance_sdk.cli.counts import count
    from tracedance_sdk.store import TraceStore, holds_store

    if options.pseudonymise or not holds_store(options.store):
        return
    sql = "SELECT count(*) FROM traces WHERE starts_with(protection, 'pseudonymised')"
    ((number,),) = TraceStore.open(options.store).select(sql).rows
    if number:
        complain(
            f"note: the store holds {count(number, 'pseudonymised trace')}; without "
            "--pseudonymise, people stand in what is added now"
        )


def _sources(
    options: ImportOptions, collectors: tuple[Collector, ...], cleaned: Callable[[str], str]
) -> list[TraceSource]:
    """Return what is to be read, without the store itself."""
    from tracedance_sdk.cli.sources import trace_sources

    found, notes = trace_sources(options.roots, collectors=collectors)
    for note in notes:
        complain(f"note: {cleaned(note)}")
    own = options.store.resolve()
    if not any(own.is_relative_to(root.resolve()) for root in options.roots):
        return found
    return [item for item in found if not _is_inside(item.path, own)]


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder)
    except (OSError, RuntimeError, ValueError):
        return False


def _print(report: ImportReport, store: str, *, as_json: bool, quiet: bool) -> None:
    from tracedance_sdk.cli.import_output import closing_line, print_import
    from tracedance_sdk.report import document_text, report_console

    if as_json:
        click.echo(document_text({**report.to_dict(), "store": store}))
    elif quiet:
        click.echo(closing_line(report))
    else:
        print_import(report, report_console())


def _write_problems(path: Path, report: ImportReport) -> None:
    from tracedance_sdk.errors import UnreadableFile
    from tracedance_sdk.report import in_one_line

    text = "".join(f"{in_one_line(str(problem))}\n" for problem in report.problems)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be written: {error.strerror}") from error


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error when a person is watching."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda _number: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("importing", total=total)
        yield lambda number: bar.advance(task, number)
