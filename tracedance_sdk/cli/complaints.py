"""How a verb says that something is wrong: one line on standard error."""

from __future__ import annotations

import contextlib

import click


def complain(message: str) -> None:
    """Print one line on standard error, safe for a terminal whatever the message quotes."""
    from tracedance_sdk.report import in_one_line

    with contextlib.suppress(OSError):  # there is nowhere left to say it
        click.echo(f"tracedance: {in_one_line(message)}", err=True)
