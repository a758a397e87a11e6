"""Past conversations as text for the index: the messages of owner and assistant, turn by turn.

Everything in a transcript is indexed, including what compaction summarised. Transcripts are read as
lines of JSON of any version: only the fields that contain text matter.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import msgspec

from assistant.disk import storage
from assistant.display import local_day, shortened
from assistant.memory.base import Passage
from assistant.messages import without_forgotten
from assistant.workspace.folder import Survey, Workspace

SUFFIX = ".jsonl"
LONGEST = 4000
"""Characters of an attachment that are indexed: it is data, and may be a whole log."""
UNTITLED = "Conversation"
TITLE = 80
CITED = 64
"""The number of conversations whose turns are cached: reading one of 40 MB takes half a second."""
_SPEAKERS = {"user": "You", "assistant": "Assistant", "attachment": "Attached"}
_QUESTION = re.compile(r"[^.!?。！？؟]*[?？؟]")
_MARKUP = re.compile(r"^[#\s]+|[\r\n]+")


class _Line(msgspec.Struct):
    """The fields of an entry that are indexed."""

    type: str
    time: str = ""
    text: str = ""
    joins: bool = False
    parent: str = ""
    call_id: str = ""
    imported: bool = False


_DECODER = msgspec.json.Decoder(_Line)


@dataclass(frozen=True, slots=True)
class Said:
    """A message: its turn (from 1), its day (ISO, local), the speaker and the text."""

    turn: int
    day: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session: its title, and its messages in order."""

    title: str
    said: tuple[Said, ...]


class Conversations:
    """The past conversations of a workspace, one file each: a `Corpus`."""

    def __init__(self, workspace: Workspace) -> None:
        self.root = self.identity = workspace.sessions
        self.private = workspace.private
        self.index = workspace.sessions_index

    def absence(self) -> str:
        """Return "": they are always available."""
        return ""

    def survey(self) -> Survey:
        """Return the names of the transcripts, oldest first."""
        return Survey(sorted(path.name for path in self.root.glob(f"*{SUFFIX}")), {})

    def cited(self, passage: Passage) -> Passage | None:
        """Return the passage cited as `SESSION:TURN`, under the conversation's title."""
        path = self.root / passage.source
        stat = storage.stat_or_none(path)
        if stat is None:
            return None
        title, lines, turns = _turns(path, stat.size, stat.mtime_ns)
        message = bisect_right(lines, passage.start_line) - 1
        turn = turns[max(message, 0)] if turns else 0
        return replace(
            passage,
            source=passage.source.removesuffix(SUFFIX),
            heading=(title,),
            start_line=turn,
            end_line=turn,
        )


def read(data: bytes) -> Conversation:
    """Parse a transcript, skipping lines that cannot be read."""
    title, turn, said = "", 0, []
    speakers = _SPEAKERS
    for line in _lines(data):
        if line.type == "title":
            title = without_forgotten(line.text)
        elif line.type == "header" and line.parent:  # a subtask, requested by the assistant
            speakers = _SPEAKERS | {"user": "Assistant"}
        elif line.type in _SPEAKERS and line.text.strip() and not line.call_id:
            turn += line.type == "user" and not line.joins
            text = line.text[:LONGEST] if line.type == "attachment" else line.text
            said.append(Said(turn, local_day(line.time), speakers[line.type], text.strip()))
    requests = (
        without_forgotten(message.text) for message in said if message.speaker == speakers["user"]
    )
    title = _MARKUP.sub(" ", title or next(filter(None, requests), "")).strip()
    return Conversation(shortened(title, TITLE), tuple(said))


def rendered(conversation: Conversation) -> tuple[str, Sequence[tuple[int, Said]]]:
    """Render a conversation as markdown under dated headings, and the line each message begins on.

    A message is a list item, so any markdown in it stays inside.
    """
    lines, starts, day = [f"# {conversation.title}"], [], ""
    for message in conversation.said:
        if message.day != day:
            day = message.day
            lines += ["", f"## {UNTITLED} -- {day}", ""]
        starts.append((len(lines) + 1, message))
        head, *rest = re.split(r"\r\n|\r|\n", message.text)
        lines += [f"- {message.speaker}: {head}", *(f"  {line}".rstrip() for line in rest)]
    return "\n".join([*lines, ""]), starts


def text(name: str, data: bytes) -> str:
    """Return the indexed text of a transcript."""
    return rendered(read(data))[0]


def is_imported(path: Path) -> bool:
    """Return whether a transcript was imported from another program's export."""
    with suppress(OSError), storage.open_file(path) as file:
        return any(line.imported for line in _lines(file.readline()))
    return False


def may_answer(passage: Passage, message: str) -> bool:
    """Return whether a passage may be informative about a message: it is not an attachment, not
    only a question and not the message itself."""
    speaker, _, text = passage.plain.strip().partition(": ")
    is_asked = _QUESTION.fullmatch(text) or text.casefold() == message.strip().casefold()
    return speaker != _SPEAKERS["attachment"] and not is_asked


@lru_cache(CITED)
def _turns(path: Path, size: int, mtime_ns: int) -> tuple[str, Sequence[int], Sequence[int]]:
    """Return the title of a conversation, and each message's line in the indexed text and its turn.
    `size` and `mtime_ns` are those of the file, for the cache."""
    conversation = read(storage.read(path))
    messages = rendered(conversation)[1]
    lines, turns = (line for line, _ in messages), (said.turn for _, said in messages)
    return conversation.title, array("L", lines), array("L", turns)


def _lines(data: bytes) -> Iterator[_Line]:
    for line in data.split(b"\n")[:-1]:
        try:
            yield _DECODER.decode(line)
        except msgspec.MsgspecError:
            continue
