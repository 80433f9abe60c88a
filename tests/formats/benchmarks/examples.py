"""One small invented record of each benchmark's format, as its files have them."""

from __future__ import annotations

from typing import Any, Final

SWE_AGENT: Final[dict[str, Any]] = {
    "environment": "main",
    "trajectory": [
        {
            "action": "open a.py\n",
            "observation": "[File: a.py]",
            "response": "I look.\n```\nopen a.py\n```\n",
            "state": '{"open_file": "a.py", "working_dir": "/r"}\n',
            "thought": "I look.\n",
        },
        {
            "action": "ls -F",
            "observation": "",
            "response": "I list.\n```\nls -F\n```",
            "state": "no JSON",
            "thought": "I list.\n",
        },
        {
            "action": "exit_cost",
            "observation": "Exited (autosubmitted)",
            "response": "Exit due to cost limit",
            "state": "{}",
            "thought": "Exit due to cost limit",
        },
    ],
    "history": [
        {
            "role": "system",
            "content": "COMMANDS:\nopen:\n  docstring: opens a file\n  signature: open <path>\n\n",
            "agent": "primary",
        },
        {"role": "user", "content": "Example.", "agent": "primary", "is_demo": True},
        {
            "role": "assistant",
            "content": "Shown.",
            "agent": "primary",
            "is_demo": True,
            "action": "ls",
        },
        {"role": "user", "content": "Fix it.", "agent": "primary"},
        {
            "role": "assistant",
            "content": "I look.\n```\nopen a.py\n```\n",
            "action": "open a.py\n",
            "agent": "primary",
        },
        {"role": "user", "content": "[File: a.py]\n(Open file: a.py)\nbash-$", "agent": "primary"},
    ],
    "info": {
        "exit_status": "submitted (exit_cost)",
        "submission": "diff",
        "model_stats": {"instance_cost": 1.5},
    },
}

MINI_SWE_AGENT: Final[dict[str, Any]] = {
    "info": {
        "mini_version": "2.0.0",
        "exit_status": "LimitsExceeded",
        "submission": "",
        "config": {"model": {"model_name": "m-1", "model_kwargs": {"temperature": 0}}},
    },
    "messages": [
        {"role": "system", "content": "You have a shell."},
        {"role": "user", "content": "Fix it."},
        {
            "role": "assistant",
            "content": "I list.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "bash", "arguments": '{"command": "ls"}'},
                },
                {
                    "id": "c2",
                    "type": "function",
                    "function": {"name": "bash", "arguments": '{"command": '},
                },
            ],
            "extra": {
                "cost": 0.25,
                "timestamp": 1700000002.5,
                "response": {
                    "id": "r1",
                    "model": "m-1-0",
                    "created": 1700000000,
                    "choices": [{"finish_reason": "tool_calls"}],
                    "usage": {
                        "prompt_tokens": 10,
                        "completion_tokens": 3,
                        "prompt_tokens_details": {"cached_tokens": 4},
                    },
                },
            },
        },
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": "<returncode>2</returncode>",
            "extra": {"returncode": 2, "raw_output": "whole output", "timestamp": 1700000003.0},
        },
        {"role": "exit", "content": "", "extra": {"exit_status": "LimitsExceeded"}},
    ],
    "trajectory_format": "mini-swe-agent-1.1",
    "instance_id": "lib__lib-7",
}

OPENHANDS_LOG: Final[dict[str, Any]] = {
    "messages": [
        {"role": "system", "content": [{"type": "text", "text": "You are OpenHands agent."}]},
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
    ],
    "response": {
        "id": "r1",
        "model": "m-1",
        "created": 1700000000,
        "choices": [
            {
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "finish", "arguments": "{}"},
                        }
                    ],
                },
            }
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1},
    },
    "kwargs": {"tools": [{"type": "function", "function": {"name": "finish"}}]},
    "timestamp": 1700000001.0,
    "cost": 0.5,
}


def _of_response(call_id: str, name: str) -> dict[str, Any]:
    entry = {"function": {"name": name, "arguments": '{"command": "ls"}'}, "type": "function"}
    calls = [{**entry, "id": "c1"}, {**entry, "id": "c2"}]
    message = {"role": "assistant", "content": "Both.", "tool_calls": calls}
    return {
        "function_name": name,
        "tool_call_id": call_id,
        "model_response": {"id": "r1", "model": "m-1", "choices": [{"message": message}]},
    }


OPENHANDS_EVENTS: Final[list[dict[str, Any]]] = [
    {
        "id": 0,
        "timestamp": "2025-01-01T00:00:00",
        "source": "user",
        "action": "message",
        "args": {"content": "Look.", "image_urls": ["https://host.example/a.png"]},
    },
    {
        "id": 1,
        "timestamp": "2025-01-01T00:00:01",
        "source": "agent",
        "action": "run",
        "args": {"command": "ls", "thought": "Both."},
        "tool_call_metadata": _of_response("c1", "execute_bash"),
    },
    {
        "id": 2,
        "timestamp": "2025-01-01T00:00:02",
        "source": "agent",
        "action": "run",
        "args": {"command": "ls", "thought": ""},
        "tool_call_metadata": _of_response("c2", "execute_bash"),
    },
    {
        "id": 3,
        "source": "agent",
        "observation": "run",
        "cause": 2,
        "content": "second",
        "extras": {"metadata": {"exit_code": 1}},
        "success": False,
    },
    {
        "id": 4,
        "source": "agent",
        "observation": "error",
        "cause": 1,
        "content": "no shell",
        "extras": {},
    },
    {
        "id": 5,
        "timestamp": "2025-01-01T00:00:05",
        "source": "user",
        "action": "run",
        "args": {"command": "pwd"},
    },
    {"id": 6, "source": "agent", "observation": "run", "cause": 5, "content": "/r", "extras": {}},
    {"id": 7, "source": "environment", "observation": "agent_state_changed", "extras": {}},
]

AGENTDOJO: Final[dict[str, Any]] = {
    "index": 1,
    "messages": [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Pay."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": {"n": 1}}}
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": "",
            "error": "ValueError: no money",
            "tool_call": {"function": "pay", "args": {"n": 1}, "id": "c1"},
        },
    ],
    "metadata": {
        "suite_name": "bank",
        "model": "m-1",
        "success": False,
        "security": True,
        "user_task_id": "user_task_0",
        "injection_task_id": None,
        "name": "user_task_0[without attack]",
    },
    "annotations": [],
}

TAU2: Final[dict[str, Any]] = {
    "id": "sim-1",
    "task_id": "7",
    "trial": 0,
    "termination_reason": "max_steps",
    "reward_info": {"reward": 0.0, "db_check": {"db_match": False}},
    "messages": [
        {"role": "assistant", "content": "Hi! How can I help you today?", "turn_idx": 0},
        {
            "role": "user",
            "content": "No signal.",
            "tool_calls": [
                {"id": "u1", "name": "toggle", "arguments": {"on": True}, "requestor": "user"}
            ],
        },
        {"role": "tool", "id": "u1", "content": "On", "requestor": "user", "error": False},
        {
            "role": "assistant",
            "content": None,
            "cost": 0.5,
            "usage": {"prompt_tokens": 7, "completion_tokens": 2},
            "raw_data": {
                "finish_reason": "tool_calls",
                "message": {"role": "assistant", "reasoning_content": "Hm.", "content": None},
            },
            "tool_calls": [{"id": "a1", "name": "look", "arguments": {}, "requestor": "assistant"}],
        },
        {"role": "tool", "id": "a1", "content": "Error: no line", "requestor": "assistant"},
    ],
}
TAU2_INFO: Final[dict[str, Any]] = {
    "git_commit": "abc",
    "agent_info": {"llm": "m-1", "llm_args": {"temperature": 0.0}},
    "environment_info": {"domain_name": "phone", "policy": "Be kind.", "tool_defs": None},
}

WHO_AND_WHEN: Final[dict[str, Any]] = {
    "is_correct": False,
    "question": "How many?",
    "question_ID": "q-1",
    "ground_truth": "7",
    "history": [
        {"role": "human", "content": "How many?"},
        {"role": "Orchestrator (thought)", "content": "A plan."},
        {"role": "Orchestrator (-> Coder)", "content": "Count."},
        {"role": "Coder", "content": "```python\nprint(6)\n```"},
        {"role": "ComputerTerminal", "content": "6"},
    ],
    "mistake_agent": "Coder",
    "mistake_step": "3",
    "mistake_reason": "It counted wrong.",
}

ADP: Final[dict[str, Any]] = {
    "id": "t-1",
    "content": [
        {"class_": "text_observation", "content": "Fix it.", "source": "user"},
        {
            "class_": "code_action",
            "language": "python",
            "content": "print(1)",
            "description": "Try.",
        },
        {"class_": "text_observation", "content": "1", "source": "environment"},
        {"class_": "api_action", "function": "browse", "kwargs": {"url": "u"}},
        {"class_": "web_observation", "html": "<p>"},
        {"class_": "message_action", "content": "Done.", "description": ""},
    ],
    "details": {"resolved": True, "model": "m-1"},
}

NEBIUS: Final[dict[str, Any]] = {
    "instance_id": "lib__lib-7_1",
    "model_name": "m-1",
    "target": False,
    "exit_status": "submitted (exit_context)",
    "trajectory": [
        {"role": "system", "system_prompt": "COMMANDS:\nopen:\n  docstring: opens\n", "text": None},
        {"role": "user", "text": "Fix it."},
        {"role": "ai", "text": "No:\n```\nls\n```\nbut:\n```bash\nopen a.py\n```\n", "mask": True},
        {"role": "user", "text": "[File: a.py]"},
        {"role": "ai", "text": "I give up."},
        {"role": "user", "text": "Your output was not formatted correctly."},
    ],
}

ALFWORLD: Final[dict[str, Any]] = {"name": "env_1", "memory": ["Look first."], "is_success": True}

FEW_SHOT: Final[dict[str, Any]] = {
    "messages_display": "user: Hi\nthere\nassistant: None\ntool: Error: gone\nassistant: Sorry."
}

REACT: Final = """
########################################
BEGIN TRIAL 1
Trial summary: Correct: 0, Incorrect: 1, Halted: 0
#######################################
------------- BEGIN INCORRECT AGENTS -----------

Question: Who? You have attempted to answer following question before and failed.
Reflections:
- I was hasty.
- I guessed.
Thought 1: I look.
Action 1: Search[Who
is it]
Observation 1: Somebody.

Thought 2: I know.
Action 2: answer it
Observation 2: Invalid Action.
Correct answer: Nobody
"""
