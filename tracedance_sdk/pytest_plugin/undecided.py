"""The error of a run of which nobody can say whether it passed."""

from __future__ import annotations


class Undecided(AssertionError):
    """A test's run cannot be judged: it did not pass, and the agent need not be to blame.

    `assert_passes` raises it when the verdict is inconclusive or error. A test may raise it when
    what the agent needs is not there, such as a model's endpoint. A test that runs once fails by
    it; among several runs of a test, such a run counts neither as passed nor as failed.

    Example:
        >>> raise Undecided("the model's endpoint is down")
        Traceback (most recent call last):
        tracedance_sdk.pytest_plugin.Undecided: the model's endpoint is down
    """

    # What a reader of its traceback imports it from.
    __module__ = "tracedance_sdk.pytest_plugin"
