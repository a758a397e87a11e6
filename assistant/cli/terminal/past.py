"""What was said before, on the screen again: the last exchange of a session that goes on."""

from collections.abc import Sequence

from assistant.cli.calls import work
from assistant.cli.terminal.palette import faint, said
from assistant.cli.terminal.screen.base import Screen
from assistant.display import spelled
from assistant.messages import ToolCall
from assistant.session.entries import AssistantEntry, Entry, ToolResultEntry, UserEntry


def show(entries: Sequence[Entry], screen: Screen) -> None:
    """Put up what the owner and the assistant said, and what tools did."""
    calls: dict[str, ToolCall] = {}
    for entry in entries:
        match entry:
            case UserEntry(text=text):
                screen.put(said(text))
            case AssistantEntry(text=text, tool_calls=asked):
                calls |= {call.id: call for call in asked}
                if text.strip():
                    screen.put(screen.render(spelled(text)))
            case ToolResultEntry(call_id=id, tool=tool, compact=compact, error=error):
                arguments = calls[id].arguments if id in calls else {}
                line = work(tool, arguments, compact, entry.content, error=error)
                screen.put(faint(f"{'✗' if error else '·'} {line}"), "line")
