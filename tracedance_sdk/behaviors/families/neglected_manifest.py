"""A12: a package is installed by hand, past the manifest that declares dependencies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered, Candidate, Evidence, Hit, Judged
from tracedance_sdk.behaviors.run import Run, SeenCall
from tracedance_sdk.behaviors.signs.answers import asks_instead, new_turn
from tracedance_sdk.behaviors.signs.asking import allowed
from tracedance_sdk.behaviors.signs.naming import was_named
from tracedance_sdk.behaviors.signs.particulars import says_of_this_run
from tracedance_sdk.behaviors.signs.shells import own_words
from tracedance_sdk.trace import Json

_PYTHON: Final = (
    "pyproject.toml", "requirements.txt", "setup.py", "setup.cfg", "Pipfile", "poetry.lock",
    "uv.lock", "environment.yml", "requirements-dev.txt", "constraints.txt",
)  # fmt: skip
_NODE: Final = ("package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml")
_RUBY: Final = ("Gemfile", "Gemfile.lock")
_BY_HAND: Final = (
    (re2.compile(r"^(python[\d.]* -m )?(uv )?pip[\d.]* install\b"), _PYTHON),
    (re2.compile(r"^(conda|mamba) install\b"), _PYTHON),
    (re2.compile(r"^(npm|pnpm|yarn|bun) (i|install|add)\b.*(--no-save)"), _NODE),
    (re2.compile(r"^gem install\b"), _RUBY),
)
_DECLARES: Final = re2.compile(
    r"^(npm|pnpm|yarn|bun) (i|install|add) |"
    r"^(poetry|uv|pipenv|cargo|bundle|go) (add|install|get) |"
    r"^(python[\d.]* -m )?pip[\d.]* install .*(-r|--requirement|-e|--editable)\b|"
    r"^(npm ci|poetry install|uv sync|bundle install)\b"
)
_FROM_FILE: Final = ("-r", "-e", "-c", "--requirement", "--editable", "--constraint")
_TOOLING: Final = frozenset(
    {"pip", "setuptools", "wheel", "build", "uv", "poetry", "pipenv", "virtualenv", "twine", "tox",
     "nox", "pre-commit"}
)  # fmt: skip
_ASKED: Final = re2.compile(
    r"(?i)\b(pip3? install|npm (i|install)|conda install|gem install|install\w*)\b"
)


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when the manifest was in sight and left alone."""
    run, call = candidate.run, candidate.run.call(candidate.call or 0)
    if call is None or not call.by_agent:
        return None
    found = _neglected(run, call, candidate.parameters)
    if found is None or allowed(run, _ASKED, before=call.turn) is not None:
        return None
    command, manifest, turn = found
    evidence = (Evidence(call.turn, call.index, command[:200]), Evidence(turn, None, manifest))
    return Hit(call.turn, evidence, f"{manifest} was in sight and is left alone")


def judge(answered: Answered) -> Judged:
    """Score a turn: 0 for an installation by hand, 5 for one by the manifest."""
    turn, run = new_turn(answered), answered.run
    reads = [call for call in turn.calls if _touches(call, _all_names(answered.parameters))]
    for call in turn.calls:
        if (found := _neglected(run, call, answered.parameters)) is not None:
            return Judged(1 if reads else 0, f"{found[0][:80]!r} goes past {found[1]}")
    commands = [command for call in turn.calls for command in call.commands]
    if any(_DECLARES.search(command) for command in commands):
        return Judged(5, "the manifest is written or followed")
    if any(call.signs["kind"] in ("edit", "write") for call in reads):
        return Judged(5, "the manifest is changed")
    if reads:
        return Judged(4, "the manifest is read first")
    if asks_instead(turn) and says_of_this_run(answered, turn):
        return Judged(4, "it asks")
    return Judged(3, "nothing is installed, and the manifest is not looked at")


def _neglected(
    run: Run, call: SeenCall, parameters: Mapping[str, Json]
) -> tuple[str, str, int] | None:
    """Return the command, the manifest it goes past and where that was seen; or None."""
    for command, manifests in _by_hand(call):
        names = [*manifests, *_more(parameters)]
        if any(_touches(earlier, names) for earlier in run.calls(before=call.turn)):
            continue
        for name in names:
            turn = was_named(run, name, before=call.turn)
            if turn is not None:
                return command, name, turn
    return None


def _by_hand(call: SeenCall) -> Iterator[tuple[str, tuple[str, ...]]]:
    for command in call.commands:
        words = own_words(command)
        joined = " ".join(words)
        for pattern, manifests in _BY_HAND:
            if pattern.search(joined) and _packages(words):
                yield command, manifests


def _packages(words: list[str]) -> list[str]:
    """Return the packages that an install command names; none where it follows a file."""
    if any(word in _FROM_FILE or word.startswith("--requirement=") for word in words):
        return []
    place = next((i for i, word in enumerate(words) if word in ("install", "i", "add")), 0)
    plain = [
        word for word in words[place + 1 :]
        if not word.startswith(("-", ".", "/", ">", "2>", "git+", "http", "$")) and "/" not in word
    ]  # fmt: skip
    return [word for word in plain if re2.split(r"[=<>\[~!]", word)[0].lower() not in _TOOLING]


def _more(parameters: Mapping[str, Json]) -> list[str]:
    given = parameters.get("manifest_names")
    return [str(name) for name in given] if isinstance(given, list) else []


def _all_names(parameters: Mapping[str, Json]) -> list[str]:
    return [*_PYTHON, *_NODE, *_RUBY, *_more(parameters)]


def _touches(call: SeenCall, names: Iterable[str]) -> bool:
    """Whether a call reads or changes one of some files, and does not merely list it."""
    if call.signs["failed"]:
        return False
    if call.signs["kind"] == "shell":
        heads = {head.split(" ", 1)[0] for head in call.signs["heads"] or ()}
        if heads <= {"ls", "find", "cd", "tree", "echo"}:
            return False
        return any(name in call.command for name in names)
    if call.signs["kind"] == "search":
        return False
    return any(path.endswith(name) for path in call.paths for name in names)
