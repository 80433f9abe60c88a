"""The command itself: its verbs, its exit codes, and how anything that goes wrong is said.

A verb's module is imported only when it is used, and what a verb needs only when it runs: the
help costs no more than click itself.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.exit_codes import EXIT_CODES
from tracedance_sdk.cli.leaving import leave
from tracedance_sdk.errors import TraceDanceError

VERBS: Final = {
    "benchmark": (
        "tracedance_sdk.cli.benchmark:benchmark",
        "Build benchmarks of a behaviour, run models on them.",
    ),
    "behaviors": (
        "tracedance_sdk.cli.behaviors:behaviors_command",
        "List behaviours that can be looked for; try one.",
    ),
    "calibrate": (
        "tracedance_sdk.cli.calibrate:calibrate_command",
        "Hold a judge against people.",
    ),
    "compact": (
        "tracedance_sdk.cli.compacting:compact",
        "Merge a store's small files and clear away old ones.",
    ),
    "compare": (
        "tracedance_sdk.cli.compare:compare_command",
        "Say whether a second result set is better or worse.",
    ),
    "demo": ("tracedance_sdk.demo.command:demo", "Record four runs of a demo task and grade them."),
    "evaluate": ("tracedance_sdk.cli.evaluate:evaluate_command", "Grade traces against tasks."),
    "export": ("tracedance_sdk.cli.exporting:export", "Write traces in other people's formats."),
    "faithfulness": (
        "tracedance_sdk.cli.faithfulness:faithfulness_command",
        "Say whether rebuilt tests may be believed.",
    ),
    "import": (
        "tracedance_sdk.cli.importing:import_command",
        "Bring traces of other systems into a store.",
    ),
    "index": ("tracedance_sdk.cli.compacting:index", "Derive a store's features for SQL."),
    "init": ("tracedance_sdk.cli.init:init", "Draft a task from one good run."),
    "judge": (
        "tracedance_sdk.cli.judge:judge_command",
        "Let models score runs or replies by rubrics.",
    ),
    "label": (
        "tracedance_sdk.cli.label:label_command",
        "Let people label what judges judge.",
    ),
    "ls": ("tracedance_sdk.cli.listing:ls", "List what a store holds."),
    "next-turn": (
        "tracedance_sdk.cli.next_turn:next_turn_command",
        "Let a model take the next turn of recorded runs.",
    ),
    "prune": ("tracedance_sdk.cli.prune:prune", "Remove what is old from a journal or a store."),
    "rebuild": (
        "tracedance_sdk.cli.rebuild:rebuild_command",
        "Make tests of recorded conversations.",
    ),
    "recover": (
        "tracedance_sdk.cli.recover:recover",
        "Write the traces of a journal, torn or not.",
    ),
    "replay": (
        "tracedance_sdk.cli.replay:replay_command",
        "Run an agent through tests made of recordings.",
    ),
    "report": (
        "tracedance_sdk.cli.report:report_command",
        "Write a page about results or occurrences.",
    ),
    "rm": ("tracedance_sdk.cli.removing:rm", "Take traces out of a store."),
    "scan": ("tracedance_sdk.cli.scan:scan_command", "Find out where a behaviour occurs."),
    "show": ("tracedance_sdk.cli.show:show", "Show traces turn by turn, results item by item."),
    "sql": ("tracedance_sdk.cli.querying:sql", "Ask a store in SQL."),
    "verify": ("tracedance_sdk.cli.verify:verify", "Check that a journal is as it was written."),
}
"""Verb → where its command lies, and what it does in one line."""

_BROKEN_PIPE: Final = 141
_INTERRUPTED: Final = 130


class _Verbs(click.Group):
    """Finds the verbs in `VERBS` and imports one only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        module, _, attribute = VERBS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or say which one is probably meant."""
        if args[0] not in VERBS and not args[0].startswith("-"):
            near = [verb for verb in sorted(VERBS) if verb.startswith(args[0])]
            near = near or difflib.get_close_matches(args[0], VERBS, n=1)
            meant = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(VERBS)}"
            raise click.UsageError(f"no verb {args[0]!r}; {meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, VERBS[name][1]) for name in self.list_commands(ctx)])


@click.command(
    cls=_Verbs,
    name="tracedance",
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="tracedance-sdk", message="%(prog)s %(version)s")
def tracedance() -> None:
    """Record what an agent did, grade how it did it.

    \b
      tracedance demo                          see it work, offline
      tracedance show traces/                  what an agent did
      tracedance init run.json > task.yaml     a task from a good run
      tracedance evaluate traces/ --spec task.yaml
    """  # noqa: D301 - \b is click's mark for text that is not rewrapped


def main() -> NoReturn:
    """Run the command with the process's arguments and exit."""
    leave(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code.

    Whatever goes wrong is one line on standard error: what, where, and what to do.
    """
    if sys.stdout is None:  # closed by who started us
        complain("standard output is closed; nothing was done")
        return 2
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        _refuse_empty(arguments)
        code = tracedance.main(args=list(arguments), prog_name="tracedance", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        complain(_wrong_use(error))
        return 2
    except TraceDanceError as error:
        complain(str(error))
        return 2
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except OSError as error:
        return _output_failed(error)


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse empty arguments, such as shell variables that are unset: '' is the current folder."""
    for place, argument in enumerate(arguments, 1):
        name, equals, value = argument.partition("=")
        if not argument or (name.startswith("--") and equals and not value):
            raise click.UsageError(
                f"argument {place} ({argument!r}) is empty; perhaps a shell variable is not set"
            )


def _output_failed(error: OSError) -> int:
    """Say why output ended early, unless its reader just has enough; return the exit code."""
    if error.filename is not None:
        complain(f"{error.filename!r}: {error.strerror}")
        return 2
    with contextlib.suppress(OSError, ValueError):
        # Python flushes standard output once more at exit; let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return _BROKEN_PIPE
    complain(f"standard output cannot be written: {error.strerror or error}")
    return 2


def _wrong_use(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "tracedance"
    message = error.format_message().rstrip(".")
    return f"{message}{'' if message.endswith('?') else ';'} see: {command} --help"
