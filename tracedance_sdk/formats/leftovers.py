"""What a foreign document says beyond our model, kept so that it can be written back exactly.

A reader builds our record, writes it back in the foreign shape, and keeps the difference to the
original as a JSON Patch beside a digest of what it was taken against. A record that was edited
since has another digest; the patch is then left out instead of misplaced.
"""

from __future__ import annotations

from tracedance_sdk.trace import Json, apply_patch, diff, json_digest


def leftover(rebuilt: Json, original: Json) -> dict[str, Json] | None:
    """Return what `restored` needs to turn `rebuilt` into `original`; None when they are equal."""
    if rebuilt == original:
        return None
    operations = diff(rebuilt, original)
    return {"of": json_digest(rebuilt)[:16], "patch": operations} if operations else None


def restored(rebuilt: Json, kept: Json) -> Json:
    """Return the original document, or `rebuilt` itself when the leftover does not belong to it."""
    if not isinstance(kept, dict) or not isinstance(kept.get("patch"), list):
        return rebuilt
    if kept.get("of") != json_digest(rebuilt)[:16]:
        return rebuilt
    return apply_patch(kept["patch"], rebuilt)
