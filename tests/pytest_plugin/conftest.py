"""Load the library before pytester runs pytest in this process, which unloads what it loaded."""

import tracedance_sdk as td
from tracedance_sdk import journal, otel
from tracedance_sdk.llm import price_table
from tracedance_sdk.pytest_plugin import passing, repeating, result_rows
from tracedance_sdk.replay import replaying
from tracedance_sdk.statistics import always_valid_interval, sequential_test

LOADED = (
    *(td.TraceRecorder, td.tool, td.evaluate, journal, otel, passing, repeating, result_rows),
    *(price_table, always_valid_interval, sequential_test, replaying),
)
