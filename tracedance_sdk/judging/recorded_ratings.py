"""Ratings that recorded traces already hold: a judge's verdict beside the truth.

Where they stand, and what their words mean, is a file of its own::

    format: tracedance.ratings
    version: 1
    judge: gpt-4o customer_outcome_v1        # whose verdicts these are
    in: /metadata/annotations/*              # where they stand in a trace
    only: {/judge_prompt_name: customer_outcome_v1}
    verdict: {at: /judge_response, json: /verdict, pass: [pass, satisfied], fail: [fail]}
    reason: {at: /judge_response, json: /justification}
    truth: {at: /outcome/reward, pass: [1], fail: [0]}

`verdict` and `reason` are pointers within what `in` and `only` choose, `truth` within the trace.
Words that are in no list are counted and left out, never guessed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tracedance_sdk.errors import InvalidSpec, Problem, UnsupportedVersion, shown
from tracedance_sdk.judging.judged_rows import Judged, JudgeRating, KnownJudge
from tracedance_sdk.judging.labels import ItemKey
from tracedance_sdk.judging.ratings import HumanRating, Rated, RatedItem
from tracedance_sdk.judging.verdict_words import ABSENT, Place, Pointer, VerdictPlace
from tracedance_sdk.trace import (
    Json,
    Trace,
    find,
    parse_json,
    parse_yaml,
    path_text,
    plain,
    read_bytes,
    same_json,
)

FORMAT: Final = "tracedance.ratings"
VERSION: Final = 1
TRUTH: Final = "truth"
"""Who says it, where the other side is no person."""

_MOST_BYTES: Final = 2**20


class RecordedRatings(BaseModel):
    """Where traces hold a judge's verdict and the truth.

    Attributes:
        judge: Whose verdicts; the name that a calibration is bound to.
        within: Pointer to the place of a rating in a trace; several may fit.
        only: Pointer within that place → the value it must have there.
        verdict: Where the judge's verdict stands within that place.
        reason: Where its reason does.
        truth: Where the truth stands in the trace.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    format: Literal["tracedance.ratings"] = "tracedance.ratings"
    version: Literal[1] = 1
    judge: Annotated[str, Field(min_length=1, max_length=200)]
    within: Pointer = Field(default="", alias="in")
    only: dict[Pointer, Json] = Field(default_factory=dict)
    verdict: VerdictPlace
    reason: Place | None = None
    truth: VerdictPlace

    def rated(self, traces: Iterable[Trace]) -> Rated:
        """Return the judge's verdicts beside the truth.

        Args:
            traces: Read once; each trace counts once.
        """
        ratings: dict[ItemKey, JudgeRating] = {}
        truths: dict[ItemKey, HumanRating] = {}
        missing: Counter[str] = Counter()
        for trace in traces:
            key = ItemKey(trace.id, None, None, 0, None)
            if key in ratings:
                missing["the same trace again"] += 1
                continue
            document = plain(trace)
            rating, why = self._rating(document, trace.group)
            if rating is None:
                missing[f"verdict: {why}"] += 1
                continue
            ratings[key] = rating
            truth, why = self.truth.verdict(document)
            if truth is None:
                missing[f"{TRUTH}: {why}"] += 1
            else:
                truths[key] = HumanRating(truth)
        items = tuple(RatedItem(key, ratings[key], {TRUTH: truth}) for key, truth in truths.items())
        judged = Judged((KnownJudge(name=self.judge),), ratings, dict(missing))
        return Rated(judged, items, {TRUTH: truths}, dict(missing))

    def _rating(self, document: Json, group: str | None) -> tuple[JudgeRating | None, str | None]:
        chosen = [place for _, place in find(self.within, document) if self._is_wanted(place)]
        if len(chosen) != 1:
            return None, "several in the trace; narrow 'only'" if chosen else ABSENT
        passed, why = self.verdict.verdict(chosen[0])
        if passed is None:
            return None, why
        said = self.reason.value(chosen[0])[0] if self.reason is not None else None
        reasons = {self.judge: said} if isinstance(said, str) else {}
        return JudgeRating(passed, reasons=reasons, group=group), None

    def _is_wanted(self, place: Json) -> bool:
        return all(
            any(same_json(value, wanted) for _, value in find(pointer, place))
            for pointer, wanted in self.only.items()
        )


def load_recorded_ratings(path: str | os.PathLike[str]) -> RecordedRatings:
    """Read from a file where traces hold ratings, YAML or (``.json``) JSON.

    Raises:
        UnreadableFile: The file is missing or not permitted.
        InvalidSpec: Not such a file; `problems` lists everything wrong with it.
        InvalidJSON: A JSON file that is not JSON.
        UnsupportedVersion: Written for a newer release.
    """
    where, data = str(path), read_bytes(path, limit=_MOST_BYTES)
    is_json = where.lower().endswith(".json")
    document: Any = parse_json(data, where=where) if is_json else parse_yaml(data, where=where)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidSpec(f"{where}: 'format: {FORMAT}' is needed @ $.format")
    if type(document.get("version")) is not int or document["version"] != VERSION:
        raise UnsupportedVersion(
            f"{where}: format version {document.get('version')!r}; "
            f"this release reads version {VERSION}"
        )
    try:
        return RecordedRatings.model_validate(document)
    except ValidationError as error:
        problems = [_problem(item) for item in error.errors(include_url=False)]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InvalidSpec(f"{where}: {problems[0]}{more}", problems=problems) from error


def _problem(item: Any) -> Problem:
    path = path_text(item["loc"])
    if item["type"] == "missing":
        return Problem("this is needed", path)
    if item["type"] == "extra_forbidden":
        return Problem("no such field", path)
    if item["type"] == "value_error":
        return Problem(str(item["ctx"]["error"]), path)
    return Problem(f"{item['msg']}, not {shown(item['input'])}", path)
