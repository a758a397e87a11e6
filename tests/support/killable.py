"""A conversation in a process of its own, to be killed: `killable.py WORKSPACE MESSAGE...`.

It goes on where the last run ended, prints a line for each event, and notes what is wrong with
each request in `requests.jsonl`.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from assistant.conversation import Conversation
from assistant.memory.open import open_in_process
from assistant.messages import Message, Reply, ToolCall
from assistant.model.base import ToolSpec
from assistant.session import listing, transcript
from assistant.session.entries import UserEntry
from assistant.settings.tree import Settings
from assistant.tools.files.access import Roots
from assistant.tools.files.read import reading_tools
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.model.validator import faults
from tests.support.conversations import compacting
from tests.support.scripted import Answer, ScriptedModel

PLACE = Workspace(Path(sys.argv[1]))


def answer(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
    """Look when asked to, else say something long; the same for the same messages."""
    with (PLACE.root / "requests.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(faults(messages)) + "\n")
    if not tools:
        return compacting(*(message.content for message in messages))
    last = messages[-1]
    if last.role == "user" and "look" in last.content:
        calls = [ToolCall(f"c{n}", "list_files", {}) for n in range(2)]
        return Reply("I look.", tool_calls=tuple(calls))
    return "word " * 800


def main() -> None:
    """Resume, then send the messages that were not sent yet."""
    session = listing.latest(PLACE.sessions)
    place = PLACE.sessions
    record = transcript.reopen(place, session) if session else transcript.create(place)
    memory = open_in_process(PLACE, Settings())
    model = ScriptedModel(respond=answer, context_window=9_000)
    toolbox = Toolbox(reading_tools(Roots(PLACE)))
    talk = Conversation(PLACE, model, memory, toolbox, record)
    for event in talk.resume():
        show(event.name)
    sent = sum(isinstance(entry, UserEntry) for entry in record.entries)
    for message in sys.argv[2 + sent :]:
        for event in talk.send(message):
            show(event.name)
    memory.close()
    show("done")


def show(line: str) -> None:
    """A line, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


main()
