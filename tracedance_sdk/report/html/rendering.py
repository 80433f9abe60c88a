"""A page as HTML: one file without script, server or anything from outside."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tracedance_sdk.errors import MissingDependency
from tracedance_sdk.report.html.page import HtmlPage
from tracedance_sdk.report.safe_text import visible

if TYPE_CHECKING:
    from jinja2 import Environment


def rendered(page: HtmlPage) -> str:
    """Return a page as HTML.

    Everything in it that is text is escaped, and control characters and those that reverse the
    reading direction are shown as such. The page forbids itself scripts and all that is not in it.

    Args:
        page: What stands on it.

    Raises:
        MissingDependency: Jinja2 is not installed.
    """
    return _environment().get_template("page.html.j2").render(page=page)


@cache
def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingDependency.for_extra("Jinja2", extra="report") from error
    return Environment(
        loader=PackageLoader("tracedance_sdk.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _shown(value: Any) -> Any:
    """Return text with control characters shown; what macros made is of such text already."""
    return visible(value) if type(value) is str else value
