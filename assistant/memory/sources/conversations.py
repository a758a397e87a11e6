"""Past conversations as text to be indexed: what the owner and the assistant said, turn by turn.

Everything a transcript ever held is in it, so that what compaction summarised is found as well. It
is read as lines of JSON, of whatever version: all that counts is which fields hold what was said.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import msgspec

from assistant.disk import storage
from assistant.display import local_day, shortened
from assistant.memory.base import Passage
from assistant.workspace.folder import Workspace
from assistant.workspace.survey import Survey

SUFFIX = ".jsonl"
LONGEST = 4000
"""Characters of an attachment that are indexed: it is data, and may be a whole log."""
UNTITLED = "Conversation"
TITLE = 80
CITED = 64
"""Conversations whose turns are cached: to read one of 40 MB again takes half a second."""
_SPEAKERS = {"user": "You", "assistant": "Assistant", "attachment": "Attached"}
_MARKUP = re.compile(r"^[#\s]+|[\r\n]+")


class _Line(msgspec.Struct):
    """What is indexed of an entry."""

    type: str
    time: str = ""
    text: str = ""
    joins: bool = False


_DECODER = msgspec.json.Decoder(_Line)


@dataclass(frozen=True, slots=True)
class Said:
    """A message: the turn it belongs to (from 1), its day (ISO, local), who said it and what."""

    turn: int
    day: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session: its title, and what was said in it, in order."""

    title: str
    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Conversations:
    """The past conversations of a workspace, a file each."""

    workspace: Workspace

    @property
    def root(self) -> Path:
        """The folder of the transcripts."""
        return self.workspace.sessions

    @property
    def private(self) -> Path:
        """The program's own folder."""
        return self.workspace.private

    @property
    def index(self) -> Path:
        """Beside the index of memory, and derived as it is."""
        return self.workspace.sessions_index

    @property
    def identity(self) -> Path:
        """The folder of the transcripts: no other corpus lies there."""
        return self.workspace.sessions

    def absence(self) -> str:
        """They are where the workspace is."""
        return ""

    def survey(self) -> Survey:
        """The transcripts there are, oldest first."""
        return Survey(sorted(path.name for path in self.root.glob(f"*{SUFFIX}")), {})


def read(data: bytes) -> Conversation:
    """What a transcript says; a line that cannot be read says nothing."""
    title, turn, said = "", 0, []
    for line in _lines(data):
        if line.type == "title":
            title = line.text
        elif line.type in _SPEAKERS and line.text.strip():
            turn += line.type == "user" and not line.joins
            text = line.text[:LONGEST] if line.type == "attachment" else line.text
            said.append(Said(turn, local_day(line.time), _SPEAKERS[line.type], text.strip()))
    first = next((message.text for message in said if message.speaker == "You"), "")
    return Conversation(_title(title or first), tuple(said))


def rendered(conversation: Conversation) -> tuple[str, Sequence[tuple[int, Said]]]:
    """A conversation as markdown under dated headings, and the line each message begins on.

    A message is a list item, so that whatever markdown it holds stays inside it.
    """
    lines, places, day = [f"# {conversation.title}"], [], ""
    for message in conversation.said:
        if message.day != day:
            day = message.day
            lines += ["", f"## {UNTITLED} -- {day}", ""]
        places.append((len(lines) + 1, message))
        head, *rest = re.split(r"\r\n|\r|\n", message.text)
        lines += [f"- {message.speaker}: {head}", *(f"  {line}".rstrip() for line in rest)]
    return "\n".join([*lines, ""]), places


def text(name: str, data: bytes) -> str:
    """A transcript as it is indexed."""
    return rendered(read(data))[0]


def cited(passage: Passage, folder: Path) -> Passage:
    """A passage of an indexed conversation as it is cited: `SESSION:TURN`, under its title.

    Raises FileNotFoundError if it is gone from the folder.
    """
    path = folder / passage.source
    stat = path.stat()
    title, lines, turns = _turns(path, stat.st_size, stat.st_mtime_ns)
    message = bisect_right(lines, passage.start_line) - 1
    turn = turns[max(message, 0)] if turns else 0
    return replace(
        passage,
        source=passage.source.removesuffix(SUFFIX),
        heading=(title,),
        start_line=turn,
        end_line=turn,
    )


@lru_cache(CITED)
def _turns(path: Path, size: int, mtime_ns: int) -> tuple[str, Sequence[int], Sequence[int]]:
    """The title of a conversation that was written then, the line each of its messages begins on as
    it is indexed, and their turns."""
    conversation = read(storage.read(path))
    messages = rendered(conversation)[1]
    lines, turns = ([line for line, _ in messages], [said.turn for _, said in messages])
    return conversation.title, array("L", lines), array("L", turns)


def _lines(data: bytes) -> Iterator[_Line]:
    for line in data.split(b"\n")[:-1]:
        try:
            yield _DECODER.decode(line)
        except msgspec.MsgspecError:
            continue


def _title(text: str) -> str:
    return shortened(_MARKUP.sub(" ", text).strip(), TITLE)
