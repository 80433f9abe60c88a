"""Why a benchmark that was asked for is not built, by one of ten reasons."""

from __future__ import annotations

from typing import Final

REASONS: Final = {
    "too_many_behaviours": "more than two behaviours are asked for at once",
    "missing_parameter": "a behaviour needs a value that nobody gave",
    "unsupported_request": "no behaviour of the catalogue, and no file, is what is asked for",
    "adversarial_or_invalid": "the request makes no sense, or asks for what is not allowed",
    "too_few_instances": "the store holds fewer occurrences than are wanted at least",
    "no_valid_spec": "the file of a behaviour is none that can be used",
    "unsafe_anchor": "the anchor of a behaviour asks for what is not allowed",
    "not_undesirable_behaviour": "what is asked for is nothing undesirable",
    "unknown_domain": "no trace of the store is of the origin that is asked for",
    "contradictory_constraints": "no trace could ever meet the limits together",
}
"""Every reason, with its meaning."""
