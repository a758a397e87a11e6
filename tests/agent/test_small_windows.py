"""What is sent to a model with a small window fits into it, whatever it consists of.

The provider counts as small models' tokenizers do: a digit, a sign and a Chinese character cost a
token or more each.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from assistant.agent.excerpts import batches, quote
from assistant.conversation import Conversation
from assistant.events import Notice, TurnFailed
from assistant.memory.base import Fact
from assistant.messages import Reply, ToolCall, Usage
from assistant.model.provider.litellm_model import LitellmModel
from assistant.session import transcript
from assistant.session.entries import AssistantEntry, ToolResultEntry, UserEntry
from assistant.session.history import Turn
from assistant.settings.sections import ModelSettings
from assistant.tools.files.access import Roots
from assistant.tools.files.read import reading_tools
from assistant.tools.memory import memory_tools
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.support.conversations import ListMemory, reply
from tests.support.provider import Provider, Received

ROWS = json.dumps([{"id": 97_531 * n, "ip": f"10.0.{n}.3", "ok": n % 2} for n in range(400)])
CHINESE = "今天的会议讨论了预算和下个季度的计划。" * 200
SOUL = "\n".join(f"- Rule {n}: be brief, and say so when you do not know." for n in range(12))


def count(request: Received) -> int:
    """The tokens of a request."""
    texts = [json.dumps(tool["function"]) for tool in request.body.get("tools", ())]
    texts += [message["content"] or "" for message in request.body["messages"]]
    return sum(len(re.findall(r"[A-Za-z]{1,5} ?|[^\x00-\x7f]|\S", text)) for text in texts)


@contextmanager
def talk(
    workspace: Workspace,
    window: int,
    counted: Callable[[Received], int] = count,
    *calls: ToolCall,
) -> Iterator[tuple[Conversation, list[int]]]:
    """A conversation in which each message is answered after these calls, and what its requests
    cost."""
    sizes: list[int] = []

    def answer(request: Received) -> Reply:
        sizes.append(counted(request))
        if calls and request.body.get("tools") and request.roles[-1] == "user":
            return Reply("Let me see.", tool_calls=calls, usage=Usage(sizes[-1], 5))
        return Reply("All right.", usage=Usage(sizes[-1], 5))

    (workspace.root / "SOUL.md").write_text(SOUL, encoding="utf-8")
    memory = ListMemory([Fact(f"Boat number {n} lies in harbour {n} of Lisbon") for n in range(8)])
    with Provider(respond=answer) as provider:
        settings = ModelSettings(name="openai/test", api_base=provider.url, context_window=window)
        roots = Roots(workspace)
        tools = Toolbox([*memory_tools(memory, roots), *reading_tools(roots)])
        record = transcript.off_the_record()
        yield Conversation(workspace, LitellmModel(settings), memory, tools, record), sizes


@pytest.mark.parametrize("window", [2_048, 4_096])
def test_turns_with_data_fit_and_the_next_ones_are_answered(
    workspace: Workspace, window: int
) -> None:
    with talk(workspace, window) as (conversation, sizes):
        for text in ("rows", "chinese", "Where do the boats lie?"):
            given = {"rows": {"d.json": ROWS}, "chinese": {"z.txt": CHINESE}}.get(text, {})
            assert reply(conversation.send(text, given)) == "All right."
    assert max(sizes) <= window


def test_a_message_goes_before_what_memory_holds(workspace: Workspace) -> None:
    with talk(workspace, 2_048) as (conversation, sizes):
        assert reply(conversation.send("Where do the boats lie? " + "Tell me. " * 150))
    assert sizes[0] <= 2_048


@pytest.mark.parametrize("window", [2_048, 3_072])
def test_long_files_leave_room_for_a_message_and_what_it_calls(
    workspace: Workspace, window: int
) -> None:
    recall = ToolCall("c1", "recall", {"query": "Where do the boats lie?"})
    with talk(workspace, window, count, recall) as (conversation, sizes):
        for name in ("SOUL.md", "USER.md", "IDENTITY.md"):
            (workspace.root / name).write_text(SOUL * 6, encoding="utf-8")
        for more in ("", "Tell me. " * 40) * 3:
            assert reply(conversation.send(f"Where do the boats lie? {more}")) == "All right."
    assert max(sizes) <= window


def test_what_does_not_fit_is_told_with_what_takes_the_room(workspace: Workspace) -> None:
    with talk(workspace, 2_048) as (conversation, _):
        *_, last = conversation.send("Where do the boats lie? " + "Tell me. " * 900)
    assert isinstance(last, TurnFailed)
    costs = r"\d+ are free\): the prompt takes \d+ tokens, the tools \d+ and the answer 512, "
    assert re.search(f"{costs}of a window of 2,048$", last.message)


@pytest.mark.parametrize("is_dropped", [True, False])
def test_tools_that_a_template_drops_are_noticed(workspace: Workspace, is_dropped: bool) -> None:
    def counted(request: Received) -> int:
        if is_dropped:
            request.body.pop("tools")
        return count(request)

    with talk(workspace, 4_096, counted) as (conversation, _):
        (workspace.root / "SOUL.md").unlink()
        told = [
            [event.text for event in conversation.send("Hello") if isinstance(event, Notice)]
            for _ in range(2)
        ]
    assert ["model.tool_format xml" in text for text in told[0]] == [True] * is_dropped
    assert told[1] == []


def test_of_a_long_turn_its_results_are_cut_for_the_summary_and_not_its_words() -> None:
    results = [ToolResultEntry(f"c{n}", "shell", "x1 " * 400, id=f"r{n}") for n in range(9)]
    turn = Turn((UserEntry("Run it.", id="u"), *results, AssistantEntry("It ran.", id="a")))
    [[left]] = batches([turn], 100, 400)
    assert len(quote([left])) < 1_000 < len(quote([turn]))
    assert "Run it." in quote([left]) and "It ran." in quote([left])
