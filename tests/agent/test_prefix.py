"""What a provider has read once it need not read again: two requests in a row begin alike.

Measured over real HTTP, in characters of the request in the order in which a provider reads it:
tools, system, messages. Cache marks are no part of the text.
"""

import json
from collections.abc import Callable, Iterator
from itertools import count, pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest

from assistant.conversation import Conversation
from assistant.memory.base import Fact
from assistant.messages import Reply, ToolCall
from assistant.model.provider.litellm_model import LitellmModel
from assistant.session import transcript
from assistant.settings.sections import ContextSettings, ModelSettings
from assistant.tools.base import tool
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.support.conversations import ListMemory, reply
from tests.support.provider import Provider, Received

WIRES = ("openai/gpt-4o", "anthropic/claude-sonnet-4-5", "ollama_chat/qwen3")
FACTS = [Fact(f"Boat number {n} lies in harbour {n}") for n in range(60)]


def read(request: Received) -> str:
    """The request as its provider reads it."""
    body = request.body
    parts = [*body.get("tools", ()), *_blocks(body.get("system", ())), *body["messages"]]
    return "\n".join(json.dumps(_unmarked(part), sort_keys=True) for part in parts)


def _blocks(system: Any) -> list[Any]:
    return [system] if isinstance(system, str) else list(system)


def _unmarked(value: Any) -> Any:
    match value:
        case dict():
            kept = {key: _unmarked(each) for key, each in value.items() if key != "cache_control"}
            text = kept.get("content")
            alone = isinstance(text, list) and [block.get("type") for block in text] == ["text"]
            return kept | {"content": text[0]["text"]} if alone else kept
        case list():
            return [_unmarked(each) for each in value]
        case _:
            return value


def last_turn(request: Received) -> int:
    """The characters from the owner's latest message on."""
    messages = request.body["messages"]
    asked = max(n for n, each in enumerate(messages) if _is_asked(each))
    return len("\n".join(json.dumps(_unmarked(each), sort_keys=True) for each in messages[asked:]))


def _is_asked(message: dict[str, Any]) -> bool:
    said = message.get("content")
    blocks = said if isinstance(said, list) else []
    result = any(block.get("type") == "tool_result" for block in blocks)
    return message["role"] == "user" and not result


@pytest.fixture
def talk(workspace: Workspace) -> Iterator[Callable[..., tuple[Conversation, Provider]]]:
    """Opens a conversation with a provider of a wire format; its clock goes on by an hour."""
    opened: list[Provider] = []

    def make(name: str, **settings: Any) -> tuple[Conversation, Provider]:
        calls = count()

        def answer(request: Received) -> Reply | str:
            after_tool = "nothing there" in json.dumps(request.body["messages"][-1])
            if after_tool or len(request.body["messages"]) % 3:
                return f"Answer {next(calls)} is this. " * 5
            return Reply(tool_calls=(ToolCall(f"c{next(calls)}", "look"),))

        def look() -> str:
            """Look around."""
            return "nothing there " * 30

        provider = Provider(respond=answer).__enter__()
        opened.append(provider)
        base = provider.url if name.startswith("openai") else provider.root
        model = ModelSettings(name=name, api_base=base, context_window=900_000)
        scratch = Scratch()
        conversation = Conversation(
            workspace,
            LitellmModel(model),
            ListMemory(list(FACTS)),
            Toolbox([tool(look), *scratch_tools(scratch)]),
            transcript.off_the_record(),
            ContextSettings(**settings),
            scratch=scratch,
            clock=_clock(),
        )
        return conversation, provider

    yield make
    for provider in opened:
        provider.__exit__(None, None, None)


def _clock() -> Callable[[], Any]:
    from datetime import UTC, datetime, timedelta

    hours = count()
    return lambda: datetime(2026, 11, 22, tzinfo=UTC) + timedelta(hours=next(hours))


def first_requests(conversation: Conversation, provider: Provider, turns: int) -> list[Received]:
    """The first request of each of so many turns."""
    found = []
    for number in range(turns):
        before = len(provider.requests)
        reply(conversation.send(f"Where does boat number {number % 60} lie? Message {number}"))
        found.append(provider.requests[before])
    return found


def common_prefix(one: str, other: str) -> int:
    """The characters that two texts have in common at their beginning."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in same)


@pytest.mark.parametrize(
    ("name", "turns"),
    [
        *((name, 5) for name in WIRES),
        *(pytest.param(n, turns, marks=pytest.mark.slow) for n in WIRES for turns in (30, 200)),
    ],
)
def test_a_request_begins_as_the_one_before_it_but_for_its_last_turn(
    name: str, turns: int, talk: Callable[..., tuple[Conversation, Provider]]
) -> None:
    earlier, later = first_requests(*talk(name), turns)[-2:]
    common = common_prefix(read(earlier), read(later))
    assert common >= len(read(earlier)) - last_turn(earlier)


def test_claude_is_given_marks_where_the_one_before_left_them(
    talk: Callable[..., tuple[Conversation, Provider]],
) -> None:
    conversation, provider = talk(WIRES[1])
    first_requests(conversation, provider, 12)
    ends = [_marked(request) for request in provider.requests]
    for earlier, later in pairwise(ends):
        assert len(later) <= 4
        assert set(earlier) & set(later)


def _marked(request: Received) -> list[int]:
    """The blocks of a request that are marked, by their number from its beginning."""
    blocks = [*request.body["system"]]
    for message in request.body["messages"]:
        said = message["content"]
        blocks += said if isinstance(said, list) else [{"text": said}]
    return [number for number, block in enumerate(blocks) if "cache_control" in block]


def test_within_a_turn_all_of_it_stays(
    talk: Callable[..., tuple[Conversation, Provider]], tmp_path: Path
) -> None:
    conversation, provider = talk(WIRES[0])
    first_requests(conversation, provider, 9)
    texts = [read(request) for request in provider.requests]
    pairs = [(a, b) for a, b in pairwise(texts) if b.count("nothing there") > 0]
    inside = [b.startswith(a) for a, b in pairs if '"role": "tool"' in b.rpartition("\n")[2]]
    assert inside and all(inside)
