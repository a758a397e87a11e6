"""The owner's message in the transcript, with what comes with it.

It begins a turn, or answers what the model has asked.
"""

from collections.abc import Callable, Iterator

from assistant.agent.loop import answered
from assistant.events import Attached
from assistant.messages import Given, Picture
from assistant.session import pictures
from assistant.session.entries import AttachmentEntry, ToolResultEntry, UserEntry
from assistant.session.history.turns import group, open_question
from assistant.session.transcript import Transcript
from assistant.tools.asking import ASK
from assistant.tools.base import Question


def heard(transcript: Transcript, message: str) -> UserEntry:
    """Write a message down; the request of the turn that it begins or goes on with."""
    if (waits := open_question(transcript.entries)) is None:
        transcript.settle("The session ended before this turn did")
        return transcript.append(UserEntry(message))
    said = answered(Question(waits.question, waits.options, waits.several), message)
    transcript.append(ToolResultEntry(waits.call_id, ASK, said.content, said.error, said.compact))
    return group(transcript.entries)[-1].asked


def attach(transcript: Transcript, given: Given, redact: Callable[[str], str]) -> None:
    """Write down what comes with the message, a picture with its copy."""
    for title, each in given.items():
        if isinstance(each, Picture):
            pictures.keep(transcript, title, each)
        else:
            transcript.append(AttachmentEntry(title, redact(each)))


def attached(transcript: Transcript) -> Iterator[Attached]:
    """What came with the latest message."""
    for entry in group(transcript.entries)[-1].entries:
        if isinstance(entry, AttachmentEntry):
            picture = entry.text.strip("()") if entry.picture else ""
            yield Attached(entry.title, len(entry.text.splitlines()), picture)
