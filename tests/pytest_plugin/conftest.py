"""Load the library before pytester runs pytest in this process, which unloads what it loaded."""

import tracedance_sdk as td
from tracedance_sdk import journal, otel
from tracedance_sdk.pytest_plugin import passing, result_rows

LOADED = (td.TraceRecorder, td.tool, td.evaluate, journal, otel, passing, result_rows)
