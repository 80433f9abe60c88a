"""Numbers of options: each that nobody can use is refused before anything is done."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.cli.conftest import Tracedance
from tracedance_sdk.cli import number_options
from tracedance_sdk.cli.number_options import MOST, number, whole
from tracedance_sdk.cli.program import VERBS


def numeric_options() -> Iterator[tuple[str, click.Option]]:
    """Yield every option of every verb that takes a number."""
    for verb, (place, _) in sorted(VERBS.items()):
        module, _, name = place.partition(":")
        yield from options_of(verb, getattr(importlib.import_module(module), name))


def options_of(path: str, command: click.Command) -> Iterator[tuple[str, click.Option]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from options_of(f"{path} {name}", inner)
    kinds = (click.types.IntParamType, click.types.FloatParamType, click.IntRange, click.FloatRange)
    for option in command.params:
        if isinstance(option, click.Option) and isinstance(option.type, kinds) and not option.count:
            yield f"{path} {option.opts[-1]}", option


OPTIONS = dict(numeric_options())


def test_the_options_that_take_numbers_are_found() -> None:
    known = {"next-turn --seed", "judge --max-cost", "compare --alpha", "benchmark build --kmin"}
    assert known <= OPTIONS.keys()


@pytest.mark.parametrize("name", OPTIONS)
def test_no_option_takes_a_number_that_cannot_be_written_down(name: str) -> None:
    option = OPTIONS[name]
    is_whole = isinstance(option.type, (click.types.IntParamType, click.IntRange))
    too_large = ["9" * 20, "-" + "9" * 24] if is_whole else ["1e999", "9" * 400]
    for given in ("nan", "inf", "-inf", *too_large):
        with pytest.raises(click.BadParameter):
            option.type.convert(given, option, None)


@pytest.mark.parametrize("name", OPTIONS)
def test_every_number_is_of_the_shared_types(name: str) -> None:
    assert type(OPTIONS[name].type).__module__ == number_options.__name__


@pytest.mark.parametrize("given", ["0", "-7", str(MOST), str(-MOST)])
def test_whole_numbers_are_taken_as_they_are(given: str) -> None:
    assert whole().convert(given, None, None) == int(given)


def test_a_number_of_any_size_that_is_finite_is_one() -> None:
    assert number().convert("-1e308", None, None) == -1e308


@pytest.mark.parametrize("kind", [whole(), whole(1), number()], ids=["whole", "from 1", "number"])
def test_a_very_long_number_is_not_quoted(kind: click.ParamType[float]) -> None:
    with pytest.raises(click.BadParameter, match=r"^a text of 5,000 characters is no number$"):
        kind.convert("9" * 5_000, None, None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--max-tokens", "9" * 20], "is too large; a whole number goes up to"),
        (["--seed", "1" + "0" * 23], "is too large; a whole number goes up to"),
        (["--seed", "-1" + "0" * 23], "is too small; a whole number goes down to"),
        (["--temperature", "nan"], "'nan' is not a finite number"),
        (["--max-cost", "inf"], "'inf' is not a finite number"),
        (["--timeout", "NaN"], "'NaN' is not a finite number"),
        (["--timeout", "1e9"], "is not in the range 0<x<=604800"),
    ],
    ids=lambda value: " ".join(value)[:24] if isinstance(value, list) else None,
)
@pytest.mark.parametrize(
    "verb", [["next-turn"], ["judge", "--rubric", "tool-use"]], ids=lambda v: v[0]
)
def test_such_a_number_is_wrong_use(
    tracedance: Tracedance, tmp_path: Path, verb: list[str], given: list[str], said: str
) -> None:
    out = tmp_path / "out"
    model = ["--model", "openai:m@http://127.0.0.1:9/v1", "--out", str(out)]
    ran = tracedance(*verb, str(tmp_path), *model, *given)
    assert (ran.code, ran.out) == (2, "")
    assert re.fullmatch(r"tracedance: Invalid value for '--.*", ran.err.strip())
    assert said in ran.err
    assert not out.exists()
