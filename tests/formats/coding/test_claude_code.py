"""One conversation of Claude Code: its messages, calls, results, and what stands beside them."""

from __future__ import annotations

from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.support.claude_code_records import (
    chain,
    found_in,
    only,
    record,
    reply,
    result,
    told,
    use,
    user,
)
from tracedance_sdk.formats import ImportProblem
from tracedance_sdk.trace import UNKNOWN, Trace, Turn


def extra(turn: Turn) -> dict[str, Any]:
    found: dict[str, Any] = (turn.__pydantic_extra__ or {}).get("claude_code", {})
    return found


def test_a_message_over_several_records_is_one_turn_with_its_usage_counted_once() -> None:
    usage = {"input_tokens": 3, "output_tokens": 90, "cache_creation_input_tokens": 7}
    trace = only(
        chain(
            user("u1", None, "Look around."),
            reply("a2", None, "m1", {"type": "thinking", "thinking": "hm", "signature": "s"}),
            reply("a3", None, "m1", "I look."),
            reply("a4", None, "m1", use("c1", command="ls"),
                  message={"usage": usage, "stop_reason": "tool_use"}),
            result("r5", None, "c1", "a.txt"),
        )
    )  # fmt: skip
    turn = trace.turns[1]
    assert len(trace.turns) == 2
    assert [part.type for part in turn.content] == ["reasoning", "text"]
    assert (turn.model, turn.finish_reason) == ("claude-test-1", "tool_use")
    assert turn.usage is not None
    assert turn.usage.model_dump(exclude_none=True) == snapshot(
        {"input_tokens": 10, "output_tokens": 90, "cache_write_tokens": 7}
    )
    assert [(c.name, c.arguments, c.bound_by) for c in turn.calls] == [
        ("Bash", {"command": "ls"}, "id")
    ]
    assert [line["uuid"] for line in extra(turn)["lines"]] == ["a3", "a4"]
    assert extra(turn)["usage"] == {
        "input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 40,
    }  # fmt: skip


def test_parallel_calls_with_results_between_stand_in_one_turn() -> None:
    trace = only(
        [
            user("u1", None, "Do both."),
            reply("a2", "u1", "m1", use("c1")),
            result("r3", "a2", "c1", "first"),
            reply("a4", "a2", "m1", use("c2")),
            result("r5", "a4", "c2", "second"),
            reply("a6", "r3", "m2", "Done."),
        ]
    )
    assert [turn.role for turn in trace.turns] == ["user", "assistant", "assistant"]
    assert [call.result.content for call in trace.calls if call.result] == ["first", "second"]


def test_records_written_while_a_message_streamed_in_do_not_repeat_it() -> None:
    trace = only(
        chain(
            user("u1", None, "Hi"),
            reply("a2", None, "m1", "Hel"),
            reply("a3", None, "m1", "Hello", use("c1", n=1)),
            reply("a4", None, "m1", "Hello", use("c1", n=12)),
        )
    )
    assert told(trace)[1] == ("assistant", "agent", "Hello")
    assert [call.arguments for call in trace.calls] == [{"n": 12}]


def test_a_record_written_twice_counts_once() -> None:
    records = chain(user("u1", None, "Hi"), reply("a2", None, "m1", "Hello"))
    assert len(only([*records, *records]).turns) == 2


def test_the_same_id_after_another_prompt_is_another_message() -> None:
    trace = only(
        chain(
            user("u1", None, "Hi"),
            reply("a2", None, "m1", "Hello"),
            user("u3", None, "Bye"),
            reply("a4", None, "m1", "Goodbye"),
        )
    )
    assert [turn.text for turn in trace.turns] == ["Hi", "Hello", "Bye", "Goodbye"]


REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
STOPPED = "The user doesn't want to take this action right now. STOP what you are doing."


@pytest.mark.parametrize(
    ("block", "fields", "found"),
    [
        pytest.param({"content": "a"}, {}, (True, None, None, False), id="no flag"),
        pytest.param(
            {"content": "a", "is_error": False}, {}, (True, None, None, False), id="no error"
        ),
        pytest.param(
            {"content": "Exit code 2\nno such file", "is_error": True},
            {"toolUseResult": "Error: Exit code 2"},
            (False, "exit_code", 2, False),
            id="exit code",
        ),
        pytest.param(
            {"content": "Command timed out after 2m 0s", "is_error": True},
            {},
            (False, "timeout", None, False),
            id="timeout",
        ),
        pytest.param(
            {"content": "Exit code 143\nCommand timed out after 2m 0s", "is_error": True},
            {},
            (False, "timeout", 143, False),
            id="timeout with a code",
        ),
        pytest.param(
            {"content": REFUSED, "is_error": True}, {}, (False, "rejected", None, False), id="no"
        ),
        pytest.param(
            {"content": STOPPED, "is_error": True},
            {},
            (False, "interrupted", None, True),
            id="stop",
        ),
        pytest.param(
            {"content": "<tool_use_error>Unknown</tool_use_error>", "is_error": True},
            {},
            (False, "tool_use_error", None, False),
            id="wrong use",
        ),
        pytest.param(
            {"content": "part", "is_error": False},
            {"toolUseResult": {"stdout": "part", "interrupted": True}},
            (True, None, None, True),
            id="interrupted",
        ),
        pytest.param(
            {"content": "killed"},
            {"toolUseResult": {"status": "failed", "exitCode": 137}},
            (True, None, 137, False),
            id="background",
        ),
    ],
)
def test_a_result_says_how_its_call_ended(
    block: dict[str, Any], fields: dict[str, Any], found: tuple[Any, ...]
) -> None:
    records = chain(
        user("u1", None, "Go"),
        reply("a2", None, "m1", use("c1")),
        result("r3", None, "c1", **block, **fields),
    )
    (call,) = only(records).calls
    assert call.result is not None
    error = call.result.error.type if call.result.error else None
    assert (call.result.ok, error, call.result.exit_code, call.result.interrupted) == found


def test_what_the_client_knows_of_a_result_is_kept_with_it() -> None:
    told_more = {"stdout": "a", "stderr": "", "durationMs": 1234}
    trace = only(
        chain(
            user("u1", None, "Go"),
            reply("a2", None, "m1", use("c1")),
            result("r3", None, "c1", [{"type": "text", "text": "a"}], toolUseResult=told_more),
        )
    )
    (call,) = trace.calls
    assert call.duration_ms == 1234
    assert call.result is not None
    assert call.result.content == "a"
    assert (call.result.__pydantic_extra__ or {})["claude_code"] == snapshot(
        {
            "uuid": "r3",
            "parentUuid": "a2",
            "toolUseResult": {"stdout": "a", "stderr": "", "durationMs": 1234},
            "timestamp": "2026-01-01T00:00:03.000Z",
        }
    )


def test_images_are_media_and_stay_in_results() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    image = {"type": "image", "source": source}
    trace = only(
        chain(
            user("u1", None, [{"type": "text", "text": "See"}, image]),
            reply("a2", None, "m1", use("c1")),
            result("r3", None, "c1", [image]),
        )
    )
    part = trace.turns[0].content[1]
    assert part.type == "media"
    assert (part.modality, part.mime_type, part.data) == ("image", "image/png", "AAAA")
    assert trace.calls[0].result is not None
    assert trace.calls[0].result.content == [image]


def test_words_beside_a_result_are_a_turn_of_their_own() -> None:
    blocks = [
        {"type": "tool_result", "tool_use_id": "c1", "content": STOPPED, "is_error": True},
        {"type": "text", "text": "[Request interrupted by user for tool use]"},
    ]
    trace = only(
        chain(
            user("u1", None, "Go"),
            reply("a2", None, "m1", use("c1")),
            user("u3", None, blocks),
            user("u4", None, "Not so."),
        )
    )
    assert told(trace)[2:] == snapshot(
        [
            ("user", "harness", "[Request interrupted by user for tool use]"),
            ("user", "human", "Not so."),
        ]
    )


def test_origins_and_rules_stand_with_the_turns() -> None:
    trace = only(
        chain(
            user("u1", None, "<local-command-caveat>x</local-command-caveat>", isMeta=True),
            user("u2", None, "<command-name>/clear</command-name>"),
            user("u3", None, "Fix it.\n<system-reminder>Be brief.</system-reminder>"),
            user("u4", None, "Implement it", planContent="1. Dig"),
        )
    )
    rules = [(turn.__pydantic_extra__ or {})["origin_rule"] for turn in trace.turns]
    assert list(zip([turn.origin for turn in trace.turns], rules, strict=True)) == snapshot(
        [
            ("harness", "flag-meta"),
            ("harness", "command-wrapper"),
            ("human", "none"),
            ("harness", "flag-plan"),
        ]
    )
    assert len(trace.turns[2].content) == 2


def test_a_compaction_is_a_harness_turn_of_the_same_trace() -> None:
    trace = only(
        [
            user("u1", None, "Hi"),
            reply("a2", "u1", "m1", "Hello"),
            record("system", "s3", None, subtype="compact_boundary", logicalParentUuid="a2",
                   content="Conversation compacted", compactMetadata={"preTokens": 9}),
            user("u4", "s3", "This session is being continued from a previous conversation",
                 isCompactSummary=True, isVisibleInTranscriptOnly=True),
            reply("a5", "u4", "m2", "On we go."),
        ]
    )  # fmt: skip
    summary = trace.turns[2]
    assert (summary.role, summary.origin) == ("user", "harness")
    assert (summary.__pydantic_extra__ or {})["compaction"] is True
    assert len(trace.turns) == 4
    assert trace.metadata["claude_code"]["records"] == snapshot(
        [
            {
                "uuid": "s3",
                "parentUuid": None,
                "subtype": "compact_boundary",
                "logicalParentUuid": "a2",
                "content": "Conversation compacted",
                "compactMetadata": {"preTokens": 9},
                "type": "system",
                "timestamp": "2026-01-01T00:00:03.000Z",
            }
        ]
    )


ATTACHED: list[tuple[dict[str, Any], str | None, str]] = [
    ({"type": "hook_additional_context", "content": ["a", "b"]}, "a\nb", "harness"),
    (
        {"type": "hook_success", "hookEvent": "SessionStart", "content": "ready"},
        "ready",
        "harness",
    ),
    ({"type": "hook_success", "hookEvent": "PostToolUse", "content": "ok"}, None, ""),
    ({"type": "hook_non_blocking_error", "stderr": "no"}, None, ""),
    ({"type": "hook_blocking_error", "blockingError": {"blockingError": "no"}}, "no", "harness"),
    ({"type": "file", "content": {"file": {"content": "1 x"}}}, "1 x", "harness"),
    ({"type": "queued_command", "prompt": "And water it."}, "And water it.", "human"),
    (
        {
            "type": "queued_command",
            "prompt": "<task-notification>done</task-notification>",
            "commandMode": "task-notification",
        },
        "<task-notification>done</task-notification>",
        "harness",
    ),
    ({"type": "plan_mode", "planFilePath": "/p"}, "", "harness"),
    ({"type": "brand_new_reminder", "text": "Rest."}, "Rest.", "harness"),
]


@pytest.mark.parametrize(
    ("attachment", "text", "origin"), ATTACHED, ids=[str(row[0]["type"]) for row in ATTACHED]
)
def test_attachments_that_the_model_is_shown_are_turns(
    attachment: dict[str, Any], text: str | None, origin: str
) -> None:
    trace = only(
        chain(user("u1", None, "Hi"), record("attachment", "t2", None, attachment=attachment))
    )
    if text is None:
        assert len(trace.turns) == 1
        assert trace.metadata["claude_code"]["records"][0]["attachment"] == attachment
    else:
        assert told(trace)[1] == ("user", origin, text)
        assert extra(trace.turns[1])["attachment"]["type"] == attachment["type"]


def test_what_stands_beside_the_conversation_is_kept_without_the_fields_all_records_share() -> None:
    trace = only(
        [
            {"type": "permission-mode", "permissionMode": "plan", "sessionId": "other"},
            *chain(user("u1", None, "Hi"), record("system", "s2", None, subtype="turn_duration")),
            {"type": "brand-new", "payload": [1, {"a": None}]},
        ]
    )
    assert trace.metadata == snapshot(
        {
            "cwd": "/home/sam/garden",
            "git_branch": "main",
            "claude_code": {
                "sessionId": "other",
                "version": "2.1.0",
                "cwd": "/home/sam/garden",
                "gitBranch": "main",
                "isSidechain": False,
                "records": [
                    {"permissionMode": "plan", "type": "permission-mode"},
                    {
                        "uuid": "s2",
                        "parentUuid": "u1",
                        "sessionId": "0f0e0d0c-0000-4000-8000-000000000001",
                        "subtype": "turn_duration",
                        "type": "system",
                        "timestamp": "2026-01-01T00:00:02.000Z",
                    },
                    {"payload": [1, {"a": None}], "type": "brand-new"},
                ],
            },
        }
    )


def test_messages_that_the_client_wrote_in_the_models_place_are_the_harness() -> None:
    records = chain(
        user("u1", None, "Hi"),
        reply("a2", None, "m1", "API Error: 529", isApiErrorMessage=True,
              message={"model": "<synthetic>"}),
    )  # fmt: skip
    turn = only(records).turns[1]
    assert (turn.role, turn.origin, turn.model) == ("assistant", "harness", None)
    assert extra(turn)["message"]["model"] == "<synthetic>"


def test_calls_and_results_in_records_of_their_own_are_paired() -> None:
    trace = only(
        [
            user("u1", None, "Read it"),
            {"type": "tool_use", "name": "bash", "input": {"command": "cat a"}, "uuid": "t1"},
            {"type": "tool_result", "name": "bash", "output": "A", "uuid": "r1"},
        ]
    )
    (call,) = trace.calls
    assert (call.name, call.arguments, call.bound_by) == ("bash", {"command": "cat a"}, "order")
    assert call.result is not None
    assert (call.result.content, call.result.ok) == ("A", None)


def test_a_result_without_its_request_is_kept_and_noted() -> None:
    trace = only(chain(user("u1", None, "Hi"), result("r2", None, "gone", "x")))
    assert [(call.id, call.bound_by, call.arguments is UNKNOWN) for call in trace.calls] == [
        ("gone", "synthetic", True)
    ]
    assert trace.fidelity.count("request_missing") == 1


def test_a_bad_record_is_one_line_and_stops_no_other() -> None:
    good = chain(user("u1", None, "Hi"), reply("a2", None, "m1", "Hello"))
    bad: list[Any] = [
        42,
        "text",
        [1],
        {"no": "type"},
        {"type": "user", "message": "text"},
        {"type": "assistant", "message": {"role": "assistant"}},
        {"type": 7},
    ]
    found = found_in([good[0], *bad, good[1]])
    problems = [item for item in found if isinstance(item, ImportProblem)]
    assert [problem.line for problem in problems] == [2, 3, 4, 5, 6, 7, 8]
    assert [problem.reason for problem in problems] == snapshot(
        [
            "expected a record, got 42",
            "expected a record, got 'text'",
            "expected a record, got [1]",
            "a record without a type: {'no': 'type'}",
            "the message of a record is 'text', not an object",
            "a message without content: {'role': 'assistant'}",
            "a record without a type: {'type': 7}",
        ]
    )
    (trace,) = [item for item in found if isinstance(item, Trace)]
    assert len(trace.turns) == 2


def test_a_file_without_a_message_says_so() -> None:
    (problem,) = found_in([{"type": "summary", "summary": "x", "leafUuid": "y"}])
    assert isinstance(problem, ImportProblem)
    assert problem.reason == "no message, only records of type summary"
