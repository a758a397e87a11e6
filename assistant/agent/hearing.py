"""The owner's message in the transcript: it begins a turn, or answers what the model has asked."""

from assistant.agent.loop import answered
from assistant.session.entries import ToolResultEntry, UserEntry
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
