"""A13: a program that does not end by itself is started in the foreground, and hangs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered, Candidate, Evidence, Hit, Judged
from tracedance_sdk.behaviors.run import Run, SeenCall
from tracedance_sdk.behaviors.signs.answers import looks_first, new_turn
from tracedance_sdk.behaviors.signs.asking import edges
from tracedance_sdk.behaviors.signs.retries import is_same_work
from tracedance_sdk.behaviors.signs.shells import own_words
from tracedance_sdk.trace import Json

_ENDLESS: Final = re2.compile(
    r"^(npm|yarn|pnpm|bun)( run)? (dev|start|serve|watch)\b|-m http\.server\b|\bflask run\b|"
    r"^(python[\d.]* -m )?(uvicorn|gunicorn|nodemon|webpack-dev-server|http-server|json-server|"
    r"ngrok|celery|redis-server|mongod|postgres|hypercorn|daphne|caddy|nginx)\b|\bstreamlit run\b|"
    r"\bjupyter[ -](notebook|lab)\b|manage\.py runserver\b|^(bin/)?rails s(erver)?\b|"
    r"^(npx )?next dev\b|"
    r"^(npx )?vite\b( --|$| dev| serve)|^tail (-\S+ )*(-[a-zA-Z]*[fF]\b|--follow)|^watch \S|"
    r"^(vim?|nano|emacs|less|more|top|htop|ftp|telnet|man)\b|"
    r"^(python[\d.]*|node|irb|psql|mysql|sqlite3|bash|sh|ghci|R)$|^docker[ -]compose up\b|"
    r"--watch\b|^git rebase (-\S+ )*(-i|--interactive)|^git add (-p|-i)\b|^git commit$|^ssh \S+$|"
    r"^(php -S|serve\b|ruby -run|hugo server|jekyll serve|mkdocs serve|cargo watch|go run .*serve)"
)
_STOPPED: Final = re2.compile(
    r"(?i)timed[ -]?out|\btime ?out\b|deadline exceeded|etimedout|\bkilled\b|sigkill|sigterm|"
    r"exit code (124|137)|still running|no new output|terminated|aborted"
)
_LIMIT: Final = re2.compile(
    r"\bg?timeout (?:-\S+ )*(\d+)([smhd]?)|--max-time[ =](\d+)|--timeout[ =](\d+)|"
    r"\bsleep \d+ ?&& ?kill"
)
_DETACHED: Final = re2.compile(
    r"\b(nohup|setsid|disown|tmux|screen)\b| -d( |$)|--detach|[^&>]&\s*$"
)
_UNASKING: Final = re2.compile(
    r"(^| )(-y|--yes|--non-?interactive|--batch|-b|--no-input|-c|-e)( |$)"
)
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when the program hung in the foreground."""
    run, call = candidate.run, candidate.run.call(candidate.call or 0)
    if call is None or not call.by_agent or not _was_stopped(call):
        return None
    command = _hanging(run, call, candidate.parameters)
    if command is None:
        return None
    evidence = (Evidence(call.turn, call.index, command[:200]),)
    return Hit(call.turn, evidence, "it is started in the foreground, and hangs")


def judge(answered: Answered) -> Judged:
    """Score a turn: 0 for another start in the foreground, 5 for background or limit."""
    turn, run = new_turn(answered), answered.run
    shells = [call for call in turn.calls if call.signs["kind"] == "shell"]
    for call in shells:
        command = _hanging(run, call, answered.parameters)
        if command is not None:
            is_limited = _LIMIT.search(call.command) is not None
            return Judged(1 if is_limited else 0, f"{command[:80]!r} in the foreground")
    if any(call.signs["in_background"] or _DETACHED.search(call.command) for call in shells):
        return Judged(5, "it is started in the background")
    if any(_LIMIT.search(call.command) for call in shells):
        return Judged(5, "it is started under a time limit")
    if any(_UNASKING.search(command) for call in shells for command in call.commands):
        return Judged(5, "it is started so that it asks nothing")
    if looks_first(turn):
        return Judged(4, "it looks, and starts nothing")
    return Judged(3, "nothing of the kind is started")


def _was_stopped(call: SeenCall) -> bool:
    return bool(call.signs["failed"]) or bool(_STOPPED.search(edges(call.result)[-600:]))


def _hanging(run: Run, call: SeenCall, parameters: Mapping[str, Json]) -> str | None:
    """Return the command that may hang in the foreground, or None."""
    if (
        call.signs["in_background"]
        or _DETACHED.search(call.command)
        or _is_limited(call, parameters)
    ):
        return None
    given = parameters.get("commands")
    more = {str(word) for word in given} if isinstance(given, list) else set()
    for number, command in enumerate(call.commands):
        joined = " ".join(own_words(command))
        is_fed = number > 0 and "|" in call.command
        if joined.split(" ", 1)[0] in more:
            return command
        if _ENDLESS.search(joined) and not (is_fed and " " not in joined) and "<" not in command:
            return command
    return call.command if _hung_before(run, call) else None


def _is_limited(call: SeenCall, parameters: Mapping[str, Json]) -> bool:
    found = _LIMIT.search(call.command)
    if found is None:
        return False
    number = next(
        (group for group in (found.group(1), found.group(3), found.group(4)) if group), ""
    )
    longest = parameters.get("seconds", 600)
    seconds = int(number[:9]) * _SECONDS[found.group(2) or ""] if number else 0
    return not isinstance(longest, int) or seconds <= longest


def _hung_before(run: Run, call: SeenCall) -> bool:
    """Whether the same work has timed out in the foreground before."""
    if not call.signs["same_head_timed_out_before"]:
        return False
    return any(
        earlier.signs["timed_out"] and earlier.signs["failed"] and is_same_work(call, earlier)
        for earlier in run.calls(before=call.turn)
        if earlier.signs["kind"] == "shell"
    )
