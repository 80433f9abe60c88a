"""Real Chromium, as Debian packages it, for looking at pages.

``TRACEDANCE_CHROMIUM`` names another executable; without one such tests are skipped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-quic"),
)


class Opened:
    """A page in the browser, and what the browser had to say of it.

    Attributes:
        page: Playwright's.
        said: Messages on the console and errors of the page.
        asked: Addresses that were asked for.
    """

    def __init__(self, page: Any) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self.asked.append(request.url))

    def _dismiss(self, dialog: Any) -> None:
        self.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """Start the browser with a new profile and give its context."""
    driver: Any = pytest.importorskip(
        "playwright.sync_api", reason="browser: playwright is not installed"
    )
    path = os.environ.get("TRACEDANCE_CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip("browser: chromium is not installed (apt-get install chromium)")
    with driver.sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=path, args=list(ARGUMENTS)
        )
        try:
            yield context
        finally:
            context.close()
