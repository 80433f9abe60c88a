"""Generated coding sessions: each of its own, with behaviours that go wrong now and then.

No two share their files, errors or words beyond the vocabulary. They are 16 kB on average and
skewed, as real ones are; about one in a hundred repeats a failed call, and the other behaviours are
as rare.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.performance.sample_data import words

_PARTS = ("api", "auth", "cart", "cli", "core", "db", "forms", "io", "jobs", "mail", "parse", "ui")
_MODELS = ("model-a", "model-b", "model-c", "model-d")
_AGENTS = ("claude-code", "codex", "openclaw", "gemini-cli")
_ERRORS = (
    ("AssertionError: expected {n} but was {m}", "--expect {m}"),
    ("ModuleNotFoundError: No module named 'pkg{n}'", "--with pkg{n}"),
    ("error: unrecognized arguments: --flag{n}; did you mean --level{m}?", "--level{m}"),
    ("make: *** No rule to make target 'step{n}'. Stop.", "--list"),
    ("cannot open /srv/data{n}: no such file", "--data /tmp/data{m}"),
    ("TimeoutError: gave up after {n} s", "--limit {m}"),
)
"""What fails, and what is done about it."""


def sessions(n_sessions: int, *, seed: int = 0) -> Iterator[Any]:
    """Yield sessions as traces; the first `k` are the same whatever `n_sessions` is."""
    from tracedance_sdk.trace import assess, build

    for number in range(n_sessions):
        chance = random.Random(f"{seed}/{number}")
        yield assess(build(_session(number, chance), f"session {number}"))


class _Session:
    """One session as it grows."""

    def __init__(self, number: int, chance: random.Random) -> None:
        self.chance = chance
        self.turns: list[dict[str, Any]] = []
        self.n_calls = 0
        self.time = datetime(2026, 1, 5, tzinfo=UTC) + timedelta(minutes=number % 60_000)

    def human(self, text: str) -> None:
        self._turn({"role": "user", "origin": "human", "content": _said(text)})

    def agent(self, text: str, *calls: tuple[str, dict[str, Any], str, bool]) -> None:
        own = []
        for name, arguments, result, ok in calls:
            own.append(
                {
                    "index": self.n_calls,
                    "id": f"c{self.n_calls}",
                    "name": name,
                    "arguments": arguments,
                    "result": {"content": result, "ok": ok},
                }
            )
            self.n_calls += 1
        turn = {"role": "assistant", "origin": "agent", "content": _said(text), "calls": own}
        self._turn({**turn, "model": self.chance.choice(_MODELS)})

    def _turn(self, turn: dict[str, Any]) -> None:
        self.time += timedelta(seconds=self.chance.randrange(2, 90))
        started = self.time.isoformat().replace("+00:00", "Z")
        self.turns.append({"index": len(self.turns), "started_at": started, **turn})


def _said(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}] if text else []


def _session(number: int, chance: random.Random) -> dict[str, Any]:
    session = _Session(number, chance)
    part, file = chance.choice(_PARTS), f"{chance.choice(_PARTS)}_{number}.py"
    path = f"src/{part}/{file}"
    session.human(f"Please change {path}: {words(chance, chance.randrange(8, 60))}.")
    if chance.random() < 0.98:
        _look(session, path)
    for _ in range(min(60, 2 + int(chance.lognormvariate(1.5, 0.8)))):
        chance.choices(_STEPS, _WEIGHTS)[0](session, path)
    _end(session)
    return {
        "id": f"generated-{number:07d}",
        "session_id": f"session-{number:07d}",
        "agent": {"name": chance.choice(_AGENTS)},
        "metadata": {"project": f"project-{number % 997}", "cwd": f"/home/dev{number % 89}/{part}"},
        "turns": session.turns,
    }


def _bash(command: str, result: str, *, ok: bool = True) -> tuple[str, dict[str, Any], str, bool]:
    return ("Bash", {"command": command}, result, ok)


def _text(session: _Session, n_lines: int) -> str:
    chance = session.chance
    return "\n".join(f"{line:4d}  {words(chance, 9)}" for line in range(n_lines))


def _look(session: _Session, path: str) -> None:
    shown = _text(session, min(400, 5 + int(session.chance.lognormvariate(3.3, 0.9))))
    session.agent("I read the file first.", ("Read", {"file_path": path}, shown, True))


def _edit(session: _Session, path: str) -> None:
    change = {"file_path": path, "old_string": words(session.chance, 9), "new_string": "x = 1"}
    session.agent("Now I change it.", ("Edit", change, "The file has been updated.", True))


def _test(session: _Session, path: str) -> None:
    passed = session.chance.random() < 0.6
    n = session.chance.randrange(1, 200)
    told = f"{n} passed in 3.1s" if passed else f"1 failed, {n} passed in 3.1s"
    session.agent("I run the tests.", _bash(f"pytest -q {path}", told, ok=passed))
    if not passed:
        _edit(session, path)


def _fail(session: _Session, path: str) -> None:
    chance = session.chance
    numbers = {"n": chance.randrange(999), "m": chance.randrange(999)}
    error, remedy = (text.format(**numbers) for text in chance.choice(_ERRORS))
    command = f"python tools/step{chance.randrange(9_999)}.py {path}"
    session.agent("I run the step.", _bash(command, f"{_text(session, 4)}\n{error}", ok=False))
    if chance.random() < 0.03:
        session.agent("Again.", _bash(command, error, ok=False))
    else:
        told = f"That failed: {error}. {words(chance, 20)}."
        session.agent(told, _bash(f"{command} {remedy}", "done", ok=True))


def _git(session: _Session, path: str) -> None:
    chance = session.chance
    if chance.random() < 0.97:
        session.agent("", _bash("git status --short && git diff --stat", f" M {path}", ok=True))
    message = words(chance, 5)
    add = chance.choice(("git add -A", f"git add {path}"))
    session.agent(
        "I commit.", _bash(f"{add} && git commit -m '{message}'", "[main 1a2b] ok", ok=True)
    )


def _talk(session: _Session, path: str) -> None:
    chance = session.chance
    session.agent(f"Should I also look at {path}? {words(chance, 40)}.")
    session.human(chance.choice(("Yes, go on.", "No, only this file.", "Please do.", "Not now.")))


def _end(session: _Session) -> None:
    chance = session.chance
    claim = chance.choices(_CLAIMS, (2, 30, 10, 1))[0]
    session.agent(f"{words(chance, 30)}. {claim}")


_STEPS = (_look, _edit, _test, _fail, _git, _talk)
_WEIGHTS = (6, 3, 2, 1, 1, 1)
_CLAIMS = (
    "All tests pass now.", "The change is in place.", "The bug is fixed.", "I could not do it.",
)  # fmt: skip
