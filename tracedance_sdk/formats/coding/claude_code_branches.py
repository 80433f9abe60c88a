"""Which traces a Claude Code conversation is: one for each session of each branch."""

from __future__ import annotations

from typing import Final, NamedTuple

from tracedance_sdk.formats.coding.branches import Branch, find_branches
from tracedance_sdk.formats.coding.claude_code_records import TALK, Links, Thread, session_of
from tracedance_sdk.formats.coding.lenient import text_at

MOST_RETOLD: Final = 200_000
"""Most records of all branches of a file together, or four times those of the file if that is more.

Those that branches share count for each: a small file may else ask for any number of turns.
"""


class Strand(NamedTuple):
    """The records of one trace.

    Attributes:
        session: Its session.
        name: What its id has beyond the session's; empty for the first.
        steps: Positions of its records.
    """

    session: str
    name: str
    steps: list[int]


class Strands(NamedTuple):
    """The traces of a conversation in the order in which they begin, and how many are left out."""

    found: list[Strand]
    left_out: int


def find_strands(thread: Thread, links: Links, *, session: str) -> Strands:
    """Return which traces a conversation is.

    A session that goes on from another one, in the same file, is a trace that begins with the
    other's records.

    Args:
        thread: The conversation.
        links: Where its records stand.
        session: Of records that name none.
    """
    branches = find_branches(links.found)
    found: list[Strand] = []
    known: set[str] = set()
    left_out = branches.left_out
    told = 0
    most = max(MOST_RETOLD, 4 * len(thread.entries))
    for branch in branches.found:
        for name, end in _ends(branch, thread, session).items():
            told += end
            if told > most and found:
                left_out += 1
                continue
            own = thread.fragment
            if name in known:
                own = f"{own}/{_name(branch, links)}"
            known.add(name)
            found.append(Strand(name, own, list(branch.steps[:end])))
    return Strands(found, left_out)


def _beginning(branch: Branch) -> int:
    """Return the position of the record with which a branch leaves another one."""
    return int(branch.name.removeprefix("#")) if branch.name else 0


def _name(branch: Branch, links: Links) -> str:
    return links.found[_beginning(branch)].names[-1] if branch.name else ""


def _ends(branch: Branch, thread: Thread, session: str) -> dict[str, int]:
    """Return the sessions of a branch, each with how many of its records it goes on from.

    The last one has also what follows its last word.
    """
    beginning = _beginning(branch)
    ends: dict[str, int] = {}
    last = session
    for count, step in enumerate(branch.steps, start=1):
        entry = thread.entries[step]
        session = session_of(entry) or session
        if entry.kind in TALK and step >= beginning:
            ends[session] = count
            last = session
    if ends:
        ends[last] = len(branch.steps)
    return ends


def calls_beyond_first(thread: Thread, strands: Strands) -> dict[str, Strand]:
    """Return the calls that the first trace does not have, each with the first that has it."""
    found: dict[str, Strand] = {}
    seen = set(strands.found[0].steps) if strands.found else set()
    for strand in strands.found[1:]:
        for step in strand.steps:
            if step in seen:
                continue
            seen.add(step)
            for block in thread.entries[step].blocks:
                if isinstance(block, dict) and block.get("type") == "tool_use":
                    found.setdefault(text_at(block, "id") or "", strand)
    return found
