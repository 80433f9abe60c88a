"""The most memory that this process has held, for tests that run a process and measure it."""

from __future__ import annotations

import re
from pathlib import Path


def peak_kib() -> int:
    """Return it in KiB.

    Linux counts into ``ru_maxrss`` what stood before exec, the size of the parent; the high-water
    mark of the address space begins anew.
    """
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    assert found is not None
    return int(found[1])
