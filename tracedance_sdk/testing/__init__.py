"""For tests of others: a scripted model endpoint, and a conformance kit for integrations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.testing.conformance import (
        CHECKS,
        Check,
        Driver,
        check_quiet,
        check_trace,
        checks_for,
        installed,
        same,
    )
    from tracedance_sdk.testing.expected_traces import SeenTrace, SeenTurn, expected, seen
    from tracedance_sdk.testing.scenes import (
        SECRET,
        Desk,
        Scene,
        Step,
        failing_model,
        failing_tool,
        mail,
        nested,
        parallel,
        slow_model,
        with_secret,
    )
    from tracedance_sdk.testing.scripted_endpoint import Endpoint, said_in, scripted_models

__all__ = [
    "CHECKS",
    "SECRET",
    "Check",
    "Desk",
    "Driver",
    "Endpoint",
    "Scene",
    "SeenTrace",
    "SeenTurn",
    "Step",
    "check_quiet",
    "check_trace",
    "checks_for",
    "expected",
    "failing_model",
    "failing_tool",
    "installed",
    "mail",
    "nested",
    "parallel",
    "said_in",
    "same",
    "scripted_models",
    "seen",
    "slow_model",
    "with_secret",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "conformance": (
            "CHECKS",
            "Check",
            "Driver",
            "check_quiet",
            "check_trace",
            "checks_for",
            "installed",
            "same",
        ),
        "expected_traces": ("SeenTrace", "SeenTurn", "expected", "seen"),
        "scenes": (
            "SECRET",
            "Desk",
            "Scene",
            "Step",
            "failing_model",
            "failing_tool",
            "mail",
            "nested",
            "parallel",
            "slow_model",
            "with_secret",
        ),
        "scripted_endpoint": ("Endpoint", "said_in", "scripted_models"),
    },
)
