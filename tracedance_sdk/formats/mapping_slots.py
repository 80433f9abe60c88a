"""One value of a mapping: where it stands in a record, and what is made of it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import shown
from tracedance_sdk.formats.mapping_paths import Steps, follow, parse_path
from tracedance_sdk.formats.places import Misfit
from tracedance_sdk.trace import UNKNOWN, Json, Unknown

UNITS: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Units that times and durations may have, in seconds."""

_KEYS: Final = ("path", "value", "map", "default", "unit")


class Slot(NamedTuple):
    """Where a value comes from.

    Attributes:
        paths: Tried in order.
        constant: The value itself; `UNKNOWN` when it is looked up.
        table: What to make of the values found, by their text; others stay as they are.
        default: When nothing is found; `UNKNOWN` for nothing.
        unit: Of a time given as a number since 1970, or of a duration.
    """

    paths: tuple[Steps, ...] = ()
    constant: Json | Unknown = UNKNOWN
    table: dict[str, Json] | None = None
    default: Json | Unknown = UNKNOWN
    unit: str | None = None

    def value(self, record: Json) -> Json | Unknown:
        """Return the value in a record; `UNKNOWN` when there is none."""
        if self.constant is not UNKNOWN:
            return self.constant
        found: Json | Unknown = UNKNOWN
        for steps in self.paths:
            found = follow(record, steps)
            if found is not UNKNOWN and found is not None:
                break
        if found is UNKNOWN or (found is None and self.default is not UNKNOWN):
            return self.default
        if self.table is not None and not isinstance(found, (dict, list)):
            return self.table.get(_key(found), found)
        return found

    def time(self, record: Json) -> str | None:
        """Return a time as ISO-8601 text, or None.

        Raises:
            Misfit: It is neither such text nor a number whose unit the mapping names.
        """
        value = self.value(record)
        if value is UNKNOWN or value is None:
            return None
        try:
            if isinstance(value, str):
                return datetime.fromisoformat(value).isoformat()
            if self.unit is not None and is_number(value):
                begin = datetime(1970, 1, 1, tzinfo=UTC)
                return (begin + timedelta(seconds=value * UNITS[self.unit])).isoformat()
        except (ValueError, OverflowError):
            pass
        hint = "" if self.unit or isinstance(value, str) else ", and the mapping names no unit"
        raise Misfit(f"expected a time, got {shown(value)}{hint}")

    def milliseconds(self, record: Json) -> float | None:
        """Return a duration in milliseconds, or None; without a unit it is in milliseconds."""
        value = self.value(record)
        if not is_number(value):
            return None
        return float(value) * UNITS[self.unit or "ms"] * 1000  # type: ignore[arg-type]  # a number


def read_slot(value: Json) -> Slot:
    """Read a slot as it is written: a path, a list of paths, or an object.

    Raises:
        Misfit: It is none of these.
    """
    if isinstance(value, str):
        return Slot((parse_path(value),))
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return Slot(tuple(parse_path(str(item)) for item in value))
    if not isinstance(value, dict):
        raise Misfit(f"expected a path, a list of paths or an object, got {shown(value)}")
    known_only(value, _KEYS)
    if ("path" in value) == ("value" in value):
        raise Misfit("expected either 'path' or 'value'")
    if "value" in value:
        return Slot(constant=value["value"])
    unit = value.get("unit")
    if unit is not None and unit not in UNITS:
        raise Misfit(f"unit {shown(unit)} is none of {', '.join(UNITS)}", "unit")
    table = value.get("map")
    if table is not None and not isinstance(table, dict):
        raise Misfit(f"expected an object, got {shown(table)}", "map")
    try:
        paths = read_slot(value["path"]).paths
    except Misfit as misfit:
        raise misfit.below("path") from None
    return Slot(paths, UNKNOWN, table, value.get("default", UNKNOWN), unit)


def known_only(section: dict[str, Any], known: Collection[str]) -> None:
    """Refuse keys that mean nothing, and name the nearest that does.

    Raises:
        Misfit: There is one.
    """
    for key in section:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise Misfit(f"unknown key {shown(key)}; {hint}", key)


def is_number(value: Any) -> bool:
    """Whether a value is a number; ``true`` is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _key(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)
