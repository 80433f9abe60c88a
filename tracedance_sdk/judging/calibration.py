"""What a judge has been shown to be worth: its errors against people, bound to who it is.

A calibration is the calibration of one judge, or of one panel: of its models, prompts and rubric,
and of the score from which it passes. Whoever differs in any of them is another judge.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tracedance_sdk.errors import (
    InvalidJSON,
    InvalidOption,
    NotEnoughData,
    UnknownFormat,
    UnreadableFile,
    UnsupportedVersion,
)
from tracedance_sdk.grading import Calibration
from tracedance_sdk.judging.coefficients import kappa_value
from tracedance_sdk.judging.judged_rows import KnownJudge
from tracedance_sdk.judging.measures import Measure
from tracedance_sdk.judging.ratings import Consensus
from tracedance_sdk.judging.row_fields import MOST
from tracedance_sdk.statistics import Confusion, CorrectedRate, corrected_rate
from tracedance_sdk.trace import Json, invalid_trace, parse_json, read_bytes

FORMAT: Final = "tracedance.calibration"
VERSION: Final = 1

_Count = Annotated[int, Field(ge=0, strict=True)]
_Bound = Annotated[float, Field(ge=0, le=MOST, allow_inf_nan=False)]
_MOST_BYTES: Final = 64 * 2**20


class Minimum(BaseModel):
    """What a judge has to reach before anything may rest on it.

    Attributes:
        kappa: Least Cohen's kappa against people.
        items: On at least so many items.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    kappa: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] = 0.6
    items: _Count = 50


class Counts(BaseModel):
    """Passes and fails by the judge against those by people; see `statistics.Confusion`."""

    model_config = ConfigDict(frozen=True, extra="allow")

    tp: _Count
    fp: _Count
    fn: _Count
    tn: _Count

    @property
    def confusion(self) -> Confusion:
        """The counts as statistics have them."""
        return Confusion(self.tp, self.fp, self.fn, self.tn)


class JudgeCalibration(BaseModel):
    """A judge or a panel held against people, as in a file.

    Attributes:
        judges: Whom it is about, by name; several are a panel.
        rubric: Id of their rubric; None for judges without one.
        pass_from: The mean score, from 0 to 5, from which the judge passes an item.
        fail_below: The score below which it fails one; between the two a gate is inconclusive.
        settings: How they judged: mode, repeats.
        labellers: Who labelled, by name.
        consensus: How several labellers of an item count.
        n_items: Items in the calibration.
        n_pairs: Pairs of ratings; more than items where each label counts.
        n_clusters: Independent units: groups, else items.
        items: Short names of the items, so that other results can leave them out.
        confusion: Of the pairs.
        measures: Name → figure with interval.
        exclusions: Reason → how many items or labels were left out.
        minimum: What is asked of it.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    judges: Annotated[tuple[KnownJudge, ...], Field(min_length=1)]
    rubric: str | None = None
    pass_from: _Bound
    fail_below: _Bound
    settings: dict[str, Any] = Field(default_factory=dict)
    labellers: tuple[str, ...] = ()
    consensus: Consensus = "majority"
    n_items: _Count
    n_pairs: _Count
    n_clusters: _Count
    items: tuple[str, ...] = ()
    confusion: Counts
    measures: dict[str, Measure]
    exclusions: dict[str, int] = Field(default_factory=dict)
    minimum: Minimum = Minimum()

    @model_validator(mode="after")
    def _consistent(self) -> JudgeCalibration:
        counted = self.confusion.confusion
        if self.fail_below > self.pass_from:
            raise ValueError("fail_below is above pass_from")
        if counted.n != self.n_pairs or self.n_items > self.n_pairs:
            raise ValueError("the confusion matrix, n_pairs and n_items do not fit each other")
        return self

    @property
    def kind(self) -> Literal["judge", "panel"]:
        """Whether it is of one judge or of several together."""
        return "judge" if len(self.judges) == 1 else "panel"

    @property
    def name(self) -> str:
        """The judge's name; of a panel all names, joined by ``+``."""
        return " + ".join(judge.name for judge in self.judges)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of the confusion matrix; None when it is not defined."""
        try:
            return kappa_value(self.confusion.confusion)
        except NotEnoughData:
            return None

    @property
    def shortfall(self) -> str | None:
        """What is missing to the minimum, in one line; None when it is met."""
        if self.n_items < self.minimum.items:
            return f"{self.n_items:,} items, and at least {self.minimum.items:,} are asked for"
        if self.kappa is None:
            return "kappa is not defined: judge and people gave every item the same verdict"
        if self.kappa < self.minimum.kappa:
            return f"kappa is {self.kappa:.3f}, and at least {self.minimum.kappa:g} is asked for"
        return None

    @property
    def meets_minimum(self) -> bool:
        """Whether something may rest on this judge."""
        return self.shortfall is None

    def gate(self) -> Calibration:
        """Return what lets the judge gate a verdict, with its bounds as shares of 5.

        Raises:
            InvalidOption: The minimum is not met, or it is the calibration of a panel.
        """
        if self.kind == "panel":
            raise InvalidOption(
                f"a calibration of {len(self.judges)} judges together lets none of them gate; "
                "calibrate one with --judge NAME"
            )
        if self.shortfall is not None:
            raise InvalidOption(
                f"the judge {self.name!r} may not gate: {self.shortfall}; "
                "label more items, or mend the judge"
            )
        return Calibration(
            judge=self.name,
            fail_below=self.fail_below / MOST,
            pass_from=self.pass_from / MOST,
        )

    def corrected(self, passes: int, n: int) -> CorrectedRate:
        """Return the rate behind the judge's, by Rogan and Gladen; see `corrected_rate`.

        Args:
            passes: Items that this judge passes.
            n: Items that it judged; none of them in the calibration.

        Raises:
            InvalidOption: Impossible counts.
            NotEnoughData: Nothing judged, or a judge whose rate cannot be corrected.
        """
        return corrected_rate(passes, n, calibration=self.confusion.confusion)

    def to_dict(self) -> dict[str, Any]:
        """Return the document that `load_calibration` reads back."""
        fields = self.model_dump(mode="json")
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "meets_minimum": self.meets_minimum,
            **fields,
        }


def load_calibration(path: str | os.PathLike[str]) -> JudgeCalibration:
    """Read a calibration from a file.

    Raises:
        UnreadableFile: The file is missing or not permitted.
        UnknownFormat: Not a calibration, or its figures do not fit each other.
        UnsupportedVersion: Written by a newer release.
    """
    where = str(path)
    try:
        document = parse_json(read_bytes(path, limit=_MOST_BYTES), where=where, unique_keys=True)
    except InvalidJSON as error:
        raise UnknownFormat(str(error)) from error
    return parse_calibration(document, where=where)


def parse_calibration(document: Json, *, where: str = "calibration") -> JudgeCalibration:
    """Read a calibration from a parsed document; see `load_calibration`.

    Whether the minimum is met is found anew and not taken from the document.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UnknownFormat(f"{where!r} is no calibration: 'format' is not {FORMAT!r}")
    if type(document.get("version")) is not int or document["version"] != VERSION:
        raise UnsupportedVersion(
            f"{where!r}: format version {document.get('version')!r}; "
            f"this release reads version {VERSION}"
        )
    found = ("format", "version", "kind", "meets_minimum")
    fields = {name: value for name, value in document.items() if name not in found}
    try:
        return JudgeCalibration.model_validate(fields)
    except ValidationError as error:
        raise UnknownFormat(str(invalid_trace(error, where))) from error


def save_calibration(
    calibration: JudgeCalibration,
    path: str | os.PathLike[str],
    *,
    more: Mapping[str, Json] | None = None,
) -> None:
    """Write a calibration to a file.

    Args:
        calibration: What to write.
        path: Written anew.
        more: Further fields, such as the command that made it.

    Raises:
        UnreadableFile: It cannot be written.
    """
    document = {**calibration.to_dict(), **(more or {})}
    draft = Path(f"{os.fspath(path)}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UnreadableFile(f"{str(path)!r} cannot be written: {error.strerror}") from error
