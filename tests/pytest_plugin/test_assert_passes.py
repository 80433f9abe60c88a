"""assert_passes inside tests: what the reader sees, and what becomes of the kept trace."""

from __future__ import annotations

import pytest

MAIL = """
import tracedance_sdk as td

mailbox = {"sent": []}
SPEC = {
    "id": "mail",
    "outcomes": [{"id": "sent", "expected_state": {"sent": [{"to": "Ada"}]}}],
    "critical_errors": [
        {"id": "no-eve", "rules": [{"action": "send", "matches": {"to": "Eve"}}]}
    ],
}

@td.tool
def send(to: str) -> bool:
    mailbox["sent"] = [{"to": to}]
    return True
"""


@pytest.fixture
def mail(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(mail=MAIL)
    return pytester


def test_the_failure_says_why_and_where_the_trace_is(mail: pytest.Pytester) -> None:
    mail.makepyfile(
        """
        from mail import SPEC, mailbox, send
        from tracedance_sdk.pytest_plugin import assert_passes

        def test_mail(tracedance_recorder):
            with tracedance_recorder(state=mailbox) as recorder:
                send("Eve")
            assert_passes(recorder.trace, SPEC)
        """
    )

    result = mail.runpytest()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E       AssertionError: verdict critical: 2 of 3 criteria of task 'mail' do not pass",
            "E       critical no-eve: action 1 (send): *",
            "E       fail     sent: /sent/0/to is 'Eve'; expected 'Ada'",
            'E         + 1. send {"to": "Eve"}  <- critical no-eve',
            "E         /sent/0/to",
            'E         - "Ada"',
            'E         + "Eve"',
            "E       trace kept: .tracedance/run-*/test_the_failure*.json",
            "E       look at it: tracedance show .tracedance/run-*.json",
        ]
    )
    assert "passed_or_why" not in result.stdout.str()
    assert "- tracedance -" not in result.stdout.str()


@pytest.mark.parametrize(("keep", "n_kept"), [("failed", 0), ("all", 1)])
def test_a_failure_that_the_test_expects_leaves_no_file(
    mail: pytest.Pytester, keep: str, n_kept: int
) -> None:
    mail.makepyfile(
        """
        import pytest
        from mail import SPEC, mailbox, send
        from tracedance_sdk.pytest_plugin import assert_passes

        def test_mail(tracedance_recorder):
            with tracedance_recorder(state=mailbox) as recorder:
                send("Eve")
            with pytest.raises(AssertionError, match="trace kept"):
                assert_passes(recorder.trace, SPEC)
        """
    )

    mail.runpytest(f"--tracedance-keep={keep}").assert_outcomes(passed=1)

    assert len(list(mail.path.glob(".tracedance/run-*/*.json"))) == n_kept


def test_an_expected_failure_keeps_nothing_and_an_unexpected_pass_does(
    mail: pytest.Pytester,
) -> None:
    mail.makepyfile(
        """
        import pytest
        from mail import SPEC, mailbox, send
        from tracedance_sdk.pytest_plugin import assert_passes

        @pytest.mark.xfail(strict=True)
        @pytest.mark.parametrize("to", ["Eve", "Ada"])
        def test_mail(tracedance_recorder, to):
            with tracedance_recorder(state=mailbox) as recorder:
                send(to)
            assert_passes(recorder.trace, SPEC)
        """
    )

    mail.runpytest().assert_outcomes(xfailed=1, failed=1)

    (kept,) = mail.path.glob(".tracedance/run-*/*.json")
    assert "Ada" in kept.name


def test_a_trace_that_no_fixture_recorded_is_kept_too(mail: pytest.Pytester) -> None:
    mail.makepyfile(
        """
        import tracedance_sdk as td
        from mail import SPEC, mailbox, send
        from tracedance_sdk.pytest_plugin import assert_passes

        def test_mail():
            with td.TraceRecorder(state=mailbox) as recorder:
                send("Eve")
            assert_passes(recorder.trace, SPEC)
        """
    )

    mail.runpytest().assert_outcomes(failed=1)

    assert len(list(mail.path.glob(".tracedance/run-*/*.json"))) == 1


def test_a_specification_may_be_a_file_or_a_registry(mail: pytest.Pytester) -> None:
    mail.path.joinpath("tasks").mkdir()
    mail.path.joinpath("tasks", "mail.yaml").write_text(
        "format: tracedance.task\nversion: 1\nid: mail\n"
        "outcomes:\n- expected_state: {sent: [{to: Ada}]}\n"
    )
    mail.makepyfile(
        """
        from mail import mailbox, send
        from tracedance_sdk.grading import TaskRegistry
        from tracedance_sdk.pytest_plugin import assert_passes

        def test_mail(tracedance_recorder):
            with tracedance_recorder(state=mailbox, task_id="mail") as recorder:
                send("Ada")
            assert assert_passes(recorder.trace, "tasks/mail.yaml").passed
            assert assert_passes(recorder.trace, TaskRegistry.from_folder("tasks")).passed
        """
    )

    mail.runpytest().assert_outcomes(passed=1)


def test_it_works_inside_a_running_loop(mail: pytest.Pytester) -> None:
    mail.makepyfile(
        """
        import asyncio
        from mail import SPEC, mailbox, send
        from tracedance_sdk.pytest_plugin import assert_passes

        def test_mail(tracedance_recorder):
            async def main():
                async with tracedance_recorder(state=mailbox) as recorder:
                    send("Ada")
                return assert_passes(recorder.trace, SPEC)
            assert asyncio.run(main()).passed
        """
    )

    mail.runpytest().assert_outcomes(passed=1)


def test_it_works_without_the_plugin(mail: pytest.Pytester) -> None:
    mail.makepyfile(
        """
        import pytest
        import tracedance_sdk as td
        from mail import SPEC, mailbox, send
        from tracedance_sdk.pytest_plugin import assert_passes

        def test_mail():
            with td.TraceRecorder(state=mailbox) as recorder:
                send("Eve")
            with pytest.raises(AssertionError) as raised:
                assert_passes(recorder.trace, SPEC)
            assert "trace kept" not in str(raised.value)
        """
    )

    mail.runpytest_subprocess("-p", "no:tracedance").assert_outcomes(passed=1)
    assert not (mail.path / ".tracedance").exists()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("assert_passes(trace, 'missing.yaml')", "'missing.yaml'"),
        ("assert_passes(trace, {'id': 't', 'outcome': []})", "did you mean 'outcomes'?"),
        ("assert_passes(trace, SPEC, allow=['inconclusiv'])", "did you mean 'inconclusive'?"),
        ("assert_passes(trace, SPEC, allow=['snt'])", "did you mean 'sent'?"),
        ("assert_passes('run.json', SPEC)", "read the file first: td.load_trace('run.json')"),
        ("assert_passes(recorder, SPEC)", "pass recorder.trace"),
    ],
)
def test_wrong_use_is_shown_at_the_tests_own_line(
    mail: pytest.Pytester, call: str, said: str
) -> None:
    mail.makepyfile(
        f"""
        from mail import SPEC, mailbox, send
        from tracedance_sdk.pytest_plugin import assert_passes

        def test_mail(tracedance_recorder):
            with tracedance_recorder(state=mailbox) as recorder:
                send("Ada")
            trace = recorder.trace
            {call}
        """
    )
    ran = mail.runpytest()
    ran.assert_outcomes(failed=1)
    text = ran.stdout.str()
    assert said in text
    assert f">       {call}" in text
    assert "passing.py" not in text
    assert "During handling" not in text
    assert "direct cause" not in text
