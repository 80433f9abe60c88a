"""How faithful rebuilt tests are: nine measurements against an outside reference."""

from __future__ import annotations

from tracedance_sdk.replay.faithfulness.answered import AnsweredCall, Withheld, answered_calls
from tracedance_sdk.replay.faithfulness.change_points import (
    ChangedAgent,
    JudgedPair,
    judged_pairs,
)
from tracedance_sdk.replay.faithfulness.coverage import Coverage, CoveredCall, coverage_of
from tracedance_sdk.replay.faithfulness.measuring import (
    Faithfulness,
    FaithfulnessEvidence,
    measure_faithfulness,
)
from tracedance_sdk.replay.faithfulness.points import FaithfulnessLimits, FaithfulnessPoint
from tracedance_sdk.replay.faithfulness.real_rates import read_rates
from tracedance_sdk.replay.faithfulness.regrading import (
    Recorded,
    Regraded,
    effects_of_traces,
    production_of_recorded,
    recorded_suite,
    recorded_traces,
    regrade,
)
from tracedance_sdk.replay.faithfulness.replayed import (
    ReplayedTest,
    production_of_replays,
    rates_of_replays,
    rates_of_rows,
    replayed_tests,
)
from tracedance_sdk.replay.faithfulness.tampering import (
    Alteration,
    SelfCheck,
    Tampered,
    self_check,
)
from tracedance_sdk.replay.faithfulness.truth import Truth, read_truth

__all__ = [
    "Alteration",
    "AnsweredCall",
    "ChangedAgent",
    "Coverage",
    "CoveredCall",
    "Faithfulness",
    "FaithfulnessEvidence",
    "FaithfulnessLimits",
    "FaithfulnessPoint",
    "JudgedPair",
    "Recorded",
    "Regraded",
    "ReplayedTest",
    "SelfCheck",
    "Tampered",
    "Truth",
    "Withheld",
    "answered_calls",
    "coverage_of",
    "effects_of_traces",
    "judged_pairs",
    "measure_faithfulness",
    "production_of_recorded",
    "production_of_replays",
    "rates_of_replays",
    "rates_of_rows",
    "read_rates",
    "read_truth",
    "recorded_suite",
    "recorded_traces",
    "regrade",
    "replayed_tests",
    "self_check",
]
