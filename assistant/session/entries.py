"""The entries of a transcript, each a frozen value and a line of JSON.

Every entry has an `id`, unique in its session, a `time` (ISO 8601, UTC) and a `type`. These types
are the schema. A field with its default value is omitted. An entry of an unknown type is read as
`OtherEntry`, kept in the file and ignored in the history.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from assistant.messages import FORGOTTEN, Signed, ToolCall, Usage

if TYPE_CHECKING:
    from assistant.memory.base import Recall

FORMAT = (1, 9)
"""Version of the format. A newer major is refused; a newer minor only adds types and fields."""

NO_USAGE = Usage()


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """A line of a transcript."""

    id: str = ""
    time: str = ""

    @property
    def type(self) -> str:
        """The type tag in its line."""
        return str(self.__struct_config__.tag)


class HeaderEntry(Entry, frozen=True, tag="header"):
    """The first line: the version of the format and the id of the session.

    `origin` names the other program in which the conversation took place, if any; `parent` is the
    session that started this one, if it is a subtask. One that was `imported` from an export is not
    read for facts.
    """

    version: str
    session: str
    origin: str = ""
    parent: str = ""
    imported: bool = False


class UserEntry(Entry, frozen=True, tag="user"):
    """A message of the owner. It begins a turn, unless it `joins` the running one."""

    text: str
    joins: bool = False


class TitleEntry(Entry, frozen=True, tag="title"):
    """A title that the owner gave the session; the last one counts."""

    text: str


class AttachmentEntry(Entry, frozen=True, tag="attachment"):
    """Data that came with a message, such as standard input; it is not the owner's own words.

    A `picture` is the name of a copy that is stored next to the session; `size` is in pixels.
    `inward` is a note by the program itself, with nothing from outside. With a `call_id` it came
    with the result of that call.
    """

    title: str
    text: str
    picture: str = ""
    size: tuple[int, int] = (0, 0)
    inward: bool = False
    call_id: str = ""


class SkillEntry(Entry, frozen=True, tag="skill"):
    """A skill that the message triggered: its text, and the `trigger` that matched."""

    name: str
    path: str
    trigger: str
    text: str


class AssistantEntry(Entry, frozen=True, tag="assistant"):
    """One answer of the model, or the part of it before an interruption.

    `signed` is the provider's own record of the reasoning, for providers that want it back.
    """

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = NO_USAGE
    model: str = ""
    signed: Signed = ()


class ApprovalEntry(Entry, frozen=True, tag="approval"):
    """A call waits for the owner (`decision` empty), or the owner has decided on it."""

    call_id: str
    decision: str = ""
    reason: str = ""


class QuestionEntry(Entry, frozen=True, tag="question"):
    """A call asks the owner something; its result is their answer."""

    call_id: str
    question: str
    options: tuple[str, ...] = ()
    several: bool = False


class SubtasksEntry(Entry, frozen=True, tag="subtasks"):
    """The sessions of a call's subtasks, and once they have ended, their cost."""

    call_id: str
    sessions: tuple[str, ...]
    usage: Usage = NO_USAGE


class ToolResultEntry(Entry, frozen=True, tag="tool_result"):
    """The result of a call. `synthetic`: the call did not run, or its result was lost.

    If the result was long, `content` is the part that the model was given, and `whole` all of it.
    `seconds` is the duration of the call.
    """

    call_id: str
    tool: str
    content: str
    error: bool = False
    compact: str = ""
    synthetic: bool = False
    whole: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A passage as it was put into the prompt; `signals` are the shares of its score."""

    id: str
    citation: str
    text: str
    date: str | None = None
    heading: str = ""
    signals: Mapping[str, float] | None = None


class RecalledEntry(Entry, frozen=True, tag="recalled"):
    """The passages recalled for the turn, best first. `weak`: none of them matches well."""

    passages: tuple[CitedPassage, ...] = ()
    tokens: int = 0
    weak: bool = False


class ReminderEntry(Entry, frozen=True, tag="reminder"):
    """A text that the program sends the model in the middle of a turn; `kind` is the reason."""

    text: str
    kind: str = ""


class RetryEntry(Entry, frozen=True, tag="retry"):
    """A request failed before the first token; `model` was tried after `delay` seconds."""

    model: str
    reason: str
    delay: float = 0.0
    attempt: int = 1


class NoticeEntry(Entry, frozen=True, tag="notice"):
    """A notice shown to the owner; the model never sees it."""

    text: str


@dataclass(frozen=True, slots=True)
class CapturedFact:
    """A fact found in a conversation, with the entries that state it; `kind` is its source.

    `day` (ISO) is when it was said, `under` the owner's heading that it belongs under,
    `matters_for` the occasions that it matters for, `struck` the text of the replaced fact. One
    that `waits` is reviewed by the owner first.
    """

    text: str
    kind: str
    entries: tuple[str, ...]
    replaces: str | None = None
    day: str = ""
    under: str = ""
    matters_for: tuple[str, ...] = ()
    struck: str = ""
    waits: bool = False


class CaptureEntry(Entry, frozen=True, tag="capture"):
    """The facts found in the entries up to `through`, recorded before they are written to memory,
    and what was `left_out`, with the reason.

    A compaction that was cut off only repeats the write, which is harmless; extracting the facts
    again might word them differently.
    """

    through: str
    facts: tuple[CapturedFact, ...] = ()
    usage: Usage = NO_USAGE
    left_out: tuple[str, ...] = ()


class CapturedEntry(Entry, frozen=True, tag="captured"):
    """Memory has acknowledged the facts of these captures.

    `stored` and `waiting` count them; `kept` has the texts of the stored ones, `held` of those that
    wait for review. `struck` are pairs of a stored fact and one that was struck out for it;
    `left_out` are those that are not in memory, with the reason.
    """

    captures: tuple[str, ...]
    stored: int = 0
    waiting: int = 0
    kept: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    struck: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()

    def with_struck(self, fact: str) -> str:
        """Return a stored fact with those that were struck out for it."""
        old = [old for new, old in self.struck if new == fact and old and FORGOTTEN not in old]
        return f"{fact} (struck out: {'; '.join(old)})" if old else fact


class CompactionEntry(Entry, frozen=True, tag="compaction"):
    """From here on, `summary` replaces the entries up to and including `through`.

    `method` says who wrote it: the model, or the program with one line per turn.
    """

    summary: str
    through: str
    turns: int
    tokens_before: int
    tokens_after: int
    method: Literal["model", "lines"] = "model"
    usage: Usage = NO_USAGE


class InterruptedEntry(Entry, frozen=True, tag="interrupted"):
    """The turn or the answer broke off here; `text` says why."""

    text: str


class RewindEntry(Entry, frozen=True, tag="rewind"):
    """The owner rewound the session: the entries from `to` on no longer count."""

    to: str


class OtherEntry(Entry, frozen=True, tag="other"):
    """An entry of a type that a later version added."""

    data: Mapping[str, Any]


def usage_of(entries: Iterable[Entry]) -> Usage:
    """Return the total usage of the model requests in some entries."""
    kinds = (AssistantEntry, CaptureEntry, CompactionEntry, SubtasksEntry)
    return sum((entry.usage for entry in entries if isinstance(entry, kinds)), start=NO_USAGE)


def texts_of(entries: Iterable[Entry]) -> dict[str, str]:
    """Return the whole text of each attachment and result by the entry's id, in the order in which
    `read_on` numbers them."""
    kinds = (AttachmentEntry, ToolResultEntry)
    return {entry.id: whole_text(entry) for entry in entries if isinstance(entry, kinds)}


def text_of(entry: Entry) -> str:
    """Return the text of an attachment or a result as the model got it; "" for any other entry."""
    match entry:
        case AttachmentEntry(text=text) | ToolResultEntry(content=text):
            return text
    return ""


def whole_text(entry: Entry) -> str:
    """Return the whole text of an attachment or a result, even if the model got a part; or ""."""
    return getattr(entry, "whole", "") or text_of(entry)


def with_text(entry: Entry, text: str) -> Entry:
    """Return a message, an attachment or a result with another text."""
    field = "content" if isinstance(entry, ToolResultEntry) else "text"
    return msgspec.structs.replace(entry, **{field: text})


def recalled_entry(recall: "Recall", redact: Callable[[str], str]) -> RecalledEntry:
    """Return the passages of a recall as a transcript records them."""
    passages = tuple(
        CitedPassage(
            passage.id,
            passage.citation,
            redact(passage.shown),
            passage.date,
            " › ".join(passage.heading),
            {name: round(share, 3) for name, share in passage.signals.items()},
        )
        for passage in recall.passages
    )
    return RecalledEntry(passages, recall.tokens, recall.weak)


# As lines of JSON


_TYPES = {kind.__struct_config__.tag: kind for kind in Entry.__subclasses__()}


def encode(entry: Entry) -> bytes:
    """Encode the entry as one line of JSON, with its line end.

    A lone surrogate, which UTF-8 cannot encode, is written as its JSON escape.
    """
    text = json.dumps(msgspec.to_builtins(entry), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def decode(line: bytes) -> Entry:
    """Decode the entry of one line. Raises ValueError with what is wrong with it."""
    try:
        text = line.decode("utf-8-sig", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text from byte {error.start} on") from error
    values = json.loads(text)
    if not isinstance(values, dict) or not all(
        isinstance(values.get(name), str) for name in ("type", "id", "time")
    ):
        raise ValueError("it is not an object with a type, an id and a time")
    if values["type"] not in _TYPES:
        return OtherEntry(values, id=values["id"], time=values["time"])
    try:
        entry: Entry = msgspec.convert(values, _TYPES[values["type"]])
    except msgspec.ValidationError as error:
        raise ValueError(f"this {values['type']} entry is malformed: {error}") from error
    return entry
