"""Findings, the evidence for them, and the grade they add up to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict

from tracedance_sdk.grading.verdicts import Severity, Verdict
from tracedance_sdk.trace import UNKNOWN, Json, is_type_stub, plain, type_stub

Dimension = Literal["outcome", "actions", "critical_errors", "further"]
"""Which group of criteria a grade belongs to."""

_MOST_EVIDENCE: Final = 1_000
_MOST_BYTES: Final = 2_000
_MOST_REPR: Final = 200
_SEVERITY_ORDER: Final[dict[Severity, int]] = {"critical": 0, "major": 1, "minor": 2}


class Evidence(BaseModel):
    """One place that a grade rests on.

    Attributes:
        what: A sentence that stands alone.
        call_id: Id of the call it concerns; None when it concerns no call.
        action: The call's position in ``trace.actions``, from 1; None when it is no action.
        turn: Index of the turn it concerns.
        path: JSON Pointer into the state or the call's arguments.
        expected: What should have been there; `UNKNOWN` when it cannot be said as one value.
        found: What was there; `UNKNOWN` when there was nothing, or nothing was observed. A value
            of more than 2,000 bytes is a type stub with its beginning.
        certain: False when the evidence needed to decide is missing, cut or masked.
        severity: Of this violation.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    what: str
    call_id: str | None = None
    action: int | None = None
    turn: int | None = None
    path: str | None = None
    expected: Json = UNKNOWN
    found: Json = UNKNOWN
    certain: bool = True
    severity: Severity | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as JSON; what does not apply is absent."""
        return plain(self)


class Grade(BaseModel):
    """What became of one criterion.

    Attributes:
        criterion: Id of the criterion, unique in a report.
        type: Type of the criterion, such as ``final_state``; ``callable`` for a function.
        severity: Of the worst violation, or the criterion's own when there is none. A ``minor``
            grade is reported and decides nothing.
        score: From 0 to 1; None when there is no answer (inconclusive, error).
        reason: One line.
        evidence: In the order of the run.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    criterion: str
    name: str = ""
    dimension: Dimension = "further"
    type: str
    verdict: Verdict
    severity: Severity = "major"
    score: float | None = None
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()

    @property
    def decides(self) -> bool:
        """Whether the grade counts for the verdict of the report."""
        return self.severity != "minor"

    @property
    def title(self) -> str:
        """The criterion's name, or its id."""
        return self.name or self.criterion

    def to_dict(self) -> dict[str, Any]:
        """Return the grade as JSON."""
        found = plain(self)
        found["verdict"] = self.verdict.value
        return {**found, "severity": self.severity, "dimension": self.dimension}


class Finding(NamedTuple):
    """A violation, or a place where one can be neither shown nor excluded.

    Attributes:
        certain: Whether the violation is certain.
        severity: Overrides the criterion's.
    """

    evidence: Evidence
    certain: bool = True
    severity: Severity | None = None


class Identity(NamedTuple):
    """What a grade says of the criterion it belongs to."""

    criterion: str
    type: str
    name: str = ""
    dimension: Dimension = "further"
    severity: Severity = "major"


def grade_of(
    identity: Identity, findings: Iterable[Finding], *, negate: bool = False, holds: str = "holds"
) -> Grade:
    """Add findings up to a grade.

    Args:
        identity: Of the criterion.
        findings: All of them, in the order of the run.
        negate: Turn pass and violation round; what is uncertain stays uncertain.
        holds: What to say when there is no finding.
    """
    found = [_with_severity(finding, identity.severity) for finding in findings]
    if negate:
        found = _negated(found, identity.severity, holds)
        holds = "does not hold, as required"
    if not found:
        return _grade(identity, Verdict.PASS, identity.severity, holds, ())
    verdict, severity = min(map(_weight, found), key=_order)
    return _grade(identity, verdict, severity, _reason(found), [item.evidence for item in found])


def error_grade(identity: Identity, reason: str) -> Grade:
    """Return the grade of a grader that could not do its work."""
    return _grade(identity, Verdict.ERROR, identity.severity, reason, ())


def shown(value: Json) -> Json:
    """Return a value as evidence keeps it: whole, or a type stub when it is long."""
    if value is None or isinstance(value, (bool, int, float)) or value is UNKNOWN:
        return value
    if is_type_stub(value) or _is_short(value):
        return value
    return type_stub(type(value).__name__, brief(value, limit=_MOST_REPR))


def brief(value: Json, *, limit: int = 80) -> str:
    """Return a value for use inside a sentence, cut to a number of characters.

    However large or deep the value is, only its beginning is looked at.
    """
    if is_type_stub(value):
        return _cut(str(value["$repr"]), limit)
    text = ""
    for piece in _pieces(value, limit):
        text += piece
        if len(text) > limit:
            break
    return _cut(text, limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _pieces(value: Json, limit: int) -> Iterator[str]:
    """Yield the text of a value bit by bit, as `repr` gives it."""
    if isinstance(value, str):
        yield repr(value[: limit + 1])
    elif isinstance(value, dict):
        separator = "{"
        for key, item in value.items():
            yield f"{separator}{brief(key, limit=limit)}: "
            yield from _pieces(item, limit)
            separator = ", "
        yield "}" if value else "{}"
    elif isinstance(value, (list, tuple)):
        separator = "["
        for item in value:
            yield separator
            yield from _pieces(item, limit)
            separator = ", "
        yield "]" if value else "[]"
    else:
        yield repr(value)


def _is_short(value: Json) -> bool:
    try:
        return len(orjson.dumps(value)) <= _MOST_BYTES
    except (TypeError, ValueError):
        # Too deep for the fast writer, or numbers it does not take.
        return len(brief(value, limit=_MOST_REPR)) < _MOST_REPR


def counted(number: int | str, thing: str) -> str:
    """Return a number with the word for what is counted: ``1 action``, ``2 actions``."""
    return f"{number} {thing}" if number in (1, "1") else f"{number} {thing}s"


def _with_severity(finding: Finding, default: Severity) -> Finding:
    severity = finding.severity or default
    evidence = finding.evidence.model_copy(
        update={"certain": finding.certain, "severity": severity}
    )
    return Finding(evidence, finding.certain, severity)


def _negated(found: Sequence[Finding], severity: Severity, holds: str) -> list[Finding]:
    if any(item.certain for item in found):
        return []
    if found:
        return list(found)
    what = f"it should not hold, but: {holds}"
    return [_with_severity(Finding(Evidence(what=what)), severity)]


def _weight(finding: Finding) -> tuple[Verdict, Severity]:
    severity = finding.severity or "major"
    if not finding.certain:
        return Verdict.INCONCLUSIVE, severity
    return (Verdict.CRITICAL if severity == "critical" else Verdict.FAIL), severity


def _order(weight: tuple[Verdict, Severity]) -> tuple[bool, int, int]:
    """Sort what decides before what is only reported, then the worst first."""
    verdict, severity = weight
    return severity == "minor", verdict.rank, _SEVERITY_ORDER[severity]


def _reason(found: Sequence[Finding]) -> str:
    first = min(found, key=lambda item: _order(_weight(item)))
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{first.evidence.what}{more}"


def _grade(
    identity: Identity,
    verdict: Verdict,
    severity: Severity,
    reason: str,
    evidence: Sequence[Evidence],
) -> Grade:
    decided = verdict not in (Verdict.ERROR, Verdict.INCONCLUSIVE)
    return Grade(
        criterion=identity.criterion,
        name=identity.name,
        dimension=identity.dimension,
        type=identity.type,
        verdict=verdict,
        severity=severity,
        score=float(verdict is Verdict.PASS) if decided else None,
        reason=reason,
        evidence=tuple(evidence[:_MOST_EVIDENCE]),
    )
