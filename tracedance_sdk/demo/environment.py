"""A small office to practise in: one spreadsheet, one mail to send, everything deterministic.

The state shows the spreadsheet and the mail. What is open, selected and summed stays inside, as
in a real application whose windows nobody reports.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

SHEET_NAME: Final = "Q3 Revenue"
REVENUE_RANGE: Final = "B4:B11"
REVENUE_TOTAL: Final = 482_500


class RevenueEmail:
    """The environment of the task "find the Q3 total and mail it to Sam".

    Actions are ``{"type": ..., "input": {...}}`` with six types: ``open_spreadsheet``,
    ``select_range``, ``calculate_sum``, ``select_contact``, ``compose_email``, ``send_email``.
    Two properties are kept on purpose: a contact selected after sending still changes the
    recipient, and a mail can be written without a sum.

    Example:
        >>> office = RevenueEmail()
        >>> office.execute({"type": "send_email"})
        {'success': False, 'error': 'the email has no recipient and no body'}
    """

    def __init__(self) -> None:
        self._state: dict[str, Any] = {
            "spreadsheet": {
                "name": SHEET_NAME,
                "revenueRange": REVENUE_RANGE,
                "revenueTotal": REVENUE_TOTAL,
            },
            "email": {"sent": False},
        }
        self._open_sheet: str | None = None
        self._range: str | None = None
        self._total: int | None = None
        self._moves: dict[str, Callable[[Mapping[str, Any]], str | None]] = {
            "open_spreadsheet": self._open_spreadsheet,
            "select_range": self._select_range,
            "calculate_sum": self._calculate_sum,
            "select_contact": self._select_contact,
            "compose_email": self._compose_email,
            "send_email": self._send_email,
        }

    def execute(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Do one action.

        Returns:
            ``{"success": True}``, or ``{"success": False, "error": <why>}`` with nothing changed.
        """
        kind = action.get("type")
        move = self._moves.get(kind) if isinstance(kind, str) else None
        if move is None:
            return {"success": False, "error": f"unknown action type {kind!r}"}
        given = action.get("input")
        error = move(given if isinstance(given, Mapping) else {})
        return {"success": True} if error is None else {"success": False, "error": error}

    def get_state(self) -> dict[str, Any]:
        """Return a copy of the visible state."""
        return copy.deepcopy(self._state)

    @property
    def _email(self) -> dict[str, Any]:
        email: dict[str, Any] = self._state["email"]
        return email

    def _open_spreadsheet(self, given: Mapping[str, Any]) -> str | None:
        name = given.get("name")
        if name != self._state["spreadsheet"]["name"]:
            return f"spreadsheet {name!r} not found"
        self._open_sheet = name
        return None

    def _select_range(self, given: Mapping[str, Any]) -> str | None:
        if self._open_sheet is None:
            return "no spreadsheet is open"
        chosen = given.get("range")
        if not isinstance(chosen, str):
            return f"the range {chosen!r} is not text"
        self._range = chosen
        return None

    def _calculate_sum(self, _given: Mapping[str, Any]) -> str | None:
        if self._range is None:
            return "no range is selected"
        if self._range != self._state["spreadsheet"]["revenueRange"]:
            return f"cannot sum the range {self._range!r}"
        self._total = self._state["spreadsheet"]["revenueTotal"]
        return None

    def _select_contact(self, given: Mapping[str, Any]) -> str | None:
        contact = given.get("name") or given.get("contact")
        if not isinstance(contact, str) or not contact:
            return "no contact given"
        self._email["recipient"] = contact
        return None

    def _compose_email(self, given: Mapping[str, Any]) -> str | None:
        body = given.get("body")
        if not isinstance(body, str) or not body:
            return "the body is empty"
        self._email["body"] = body
        return None

    def _send_email(self, _given: Mapping[str, Any]) -> str | None:
        missing = [f"no {part}" for part in ("recipient", "body") if part not in self._email]
        if missing:
            return f"the email has {' and '.join(missing)}"
        self._email["sent"] = True
        return None
