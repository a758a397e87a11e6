"""What was said in other programs' conversations, and the sessions that become of it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from assistant.integrations.hook_event import answer, event_named, parsed_event
from assistant.integrations.hook_transcript import json_objects, messages_in
from assistant.session import listing, transcript
from assistant.session.adopting import adopt
from assistant.session.entries import InterruptedEntry, UserEntry
from assistant.workspace.folder import Workspace

CLAUDE = [
    {"type": "summary", "summary": "Deploys"},
    {"type": "user", "isMeta": True, "message": {"role": "user", "content": "Caveat: no"}},
    {"type": "user", "timestamp": "2026-11-20T10:00:00Z", "message": {"content": "When is it?"}},
    {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": "At noon."}, {"type": "tool_use", "name": "Bash"}],
        },
    },
    {"type": "user", "message": {"content": [{"type": "tool_result", "content": "a secret"}]}},
    {"type": "user", "message": {"content": "<command-name>/clear</command-name>"}},
    {
        "type": "assistant",
        "message": {"model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]},
    },
    {"type": "api-request-blob", "message": {"role": "user", "content": "When is it?"}},
]
CODEX = [
    {"type": "session_meta", "payload": {"id": "x"}},
    {"type": "response_item", "payload": {"role": "user", "content": "AGENTS.md says"}},
    {
        "type": "event_msg",
        "timestamp": "2026-11-20T11:00:00+01:00",
        "payload": {"type": "user_message", "message": "When is it?"},
    },
    {"type": "event_msg", "payload": {"type": "agent_message", "message": "At noon."}},
    {"type": "event_msg", "payload": {"type": "token_count", "message": 3}},
]
CODEX_ITEMS = [
    {"type": "response_item", "payload": {"role": "user", "content": "AGENTS.md says"}},
    {"type": "event_msg", "payload": {"type": "item_started", "item": {"type": "UserMessage"}}},
    *(
        {
            "type": "event_msg",
            "timestamp": "2026-11-20T10:00:00Z",
            "payload": {"type": "item_completed", "item": {"type": kind, "content": content}},
        }
        for kind, content in (
            ("UserMessage", [{"type": "text", "text": "When is it?"}]),
            ("McpToolCall", "a secret"),
            ("AgentMessage", [{"type": "Text", "text": "At noon."}]),
        )
    ),
    {"type": "response_item", "payload": {"role": "assistant", "content": "At noon."}},
]
CURSOR = [
    {
        "role": "user",
        "message": {
            "content": [
                {
                    "type": "text",
                    "text": "<timestamp>now</timestamp><user_query>\nWhen is it?\n</user_query>",
                }
            ]
        },
    },
    {"role": "assistant", "message": {"content": [{"type": "text", "text": "At noon."}]}},
]
GEMINI = [
    {"sessionId": "x", "kind": "main"},
    {"$set": {"messages": [{"type": "user", "content": [{"text": "<session_context>"}]}]}},
    {
        "id": "1",
        "timestamp": "2026-11-20T10:00:00Z",
        "type": "user",
        "content": [{"text": "When is it?"}, {"text": "<hook_context>[MEMORY]</hook_context>"}],
    },
    {"id": "2", "type": "gemini", "content": "At"},
    {"id": "3", "type": "user", "content": [{"functionResponse": {"response": "a secret"}}]},
    {"id": "2", "type": "gemini", "content": "At noon.", "toolCalls": [{"result": "a secret"}]},
]
CONTEXT = "<qwen:user-prompt-submit-context>[MEMORY]</qwen:user-prompt-submit-context>"
QWEN = [
    {
        "timestamp": "2026-11-20T10:00:00Z",
        "type": "user",
        "message": {"role": "user", "parts": [{"text": "When is it?"}, {"text": CONTEXT}]},
    },
    {"type": "system", "subtype": "ui_telemetry", "systemPayload": {}},
    {
        "type": "assistant",
        "message": {
            "role": "model",
            "parts": [{"text": "They ask.", "thought": True}, {"text": "At noon."}],
        },
    },
    {"type": "tool_result", "message": {"role": "user", "parts": [{"text": "a secret"}]}},
]
INLINE = [
    {"role": "user", "text": "When is it?", "time": 1795168800000},
    {"role": "assistant", "text": "At noon."},
]


@pytest.mark.parametrize("lines", [CLAUDE, CODEX, CODEX_ITEMS, GEMINI, QWEN, CURSOR, INLINE])
def test_only_what_the_two_said_is_taken(lines: Sequence[dict[str, Any]]) -> None:
    data = "\n".join(["no json", "[]", *map(json.dumps, lines), '{"type": "user", "mess'])
    found = messages_in(json_objects(data.encode()))
    assert [(each.type, each.text) for each in found] == [
        ("user", "When is it?"),
        ("assistant", "At noon."),
    ]
    if lines is not CURSOR:
        assert found[0].time.endswith("+00:00")


@pytest.mark.parametrize("indent", [None, 2])
def test_a_conversation_in_one_document_is_read(indent: int | None) -> None:
    document = {"sessionId": "x", "startTime": "2026-11-20T10:00:00Z", "messages": GEMINI[2:]}
    found = messages_in(json_objects(json.dumps(document, indent=indent).encode()))
    assert [each.text for each in found] == ["When is it?", "At noon."]


def test_what_codex_gave_its_model_is_not_what_the_user_said() -> None:
    assert not messages_in([line for line in CODEX if line["type"] != "event_msg"])


def test_a_conversation_is_one_session_however_often_it_is_taken_over(
    workspace: Workspace,
) -> None:
    first = messages_in(CLAUDE)
    more = [*first, UserEntry("And then?")]
    new = [adopt(workspace.sessions, "claude-code", "abc", said) for said in (first, first, more)]
    assert new == [2, 0, 1]
    (session,) = transcript.session_ids(workspace.sessions)
    assert session.startswith("20261120-100000-")
    entries = transcript.read(workspace.sessions, session)
    assert [each.type for each in entries[1:]] == ["user", "assistant", "user", "interrupted"]
    assert isinstance(entries[-1], InterruptedEntry) and entries[1].time.startswith("2026-11-20T10")
    (listed,) = listing.sessions(workspace.sessions)
    assert (listed.origin, listed.left) == ("claude-code", "")
    assert listing.latest(workspace.sessions) is None  # no chat goes on with it
    assert adopt(workspace.sessions, "codex", "abc", first) == 2
    assert adopt(workspace.sessions, "codex", "none", []) == 0
    assert len(transcript.session_ids(workspace.sessions)) == 2


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"[1]", b'{"prompt": {"a": 1}}', b"[" * 99999])
def test_garbage_says_nothing(data: bytes) -> None:
    at = parsed_event("UserPromptSubmit", data)
    assert at is None or not at.prompt
    assert parsed_event("nonsense", b"{}") is None


def test_each_program_is_answered_in_its_form() -> None:
    assert event_named("beforeSubmitPrompt") == event_named("UserPromptSubmit") == "prompt"
    cursor = parsed_event("beforeSubmitPrompt", b'{"cursor_version": "3", "prompt": "x"}')
    claude = parsed_event("prompt", b'{"hook_event_name": "UserPromptSubmit", "prompt": "x"}')
    plain = parsed_event("prompt", b'{"prompt": "x"}', "opencode")
    assert cursor and claude and plain
    assert json.loads(answer(cursor, "y")) == {"continue": True, "additional_context": "y"}
    told = json.loads(answer(claude, "y"))["hookSpecificOutput"]
    assert told == {"hookEventName": "UserPromptSubmit", "additionalContext": "y"}
    assert answer(plain, "y") == "y"
