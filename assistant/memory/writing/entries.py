"""The journal's entries, and their JSON: what is kept of a write to memory."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

import msgspec

from assistant.memory.base import Origin, Passage
from assistant.memory.text.identity import digest

Verdict = Literal["seen", "deleted", "erased", "dismissed", "restored"]
OWNER = Origin()
ADDING = frozenset({"remember", "supersede", "restore"})


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of one file. What it removed is the image `removed` in the history, or "".

    `at` counts characters of the file as it was just before. `before` and `after` are the digests
    of the whole text; `above` and `below` digests of the lines that were nearest, nearest first.
    """

    source: str
    at: int
    removed: str
    inserted: str
    before: str
    after: str
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()

    @property
    def makes(self) -> bool:
        """Whether there was no text before."""
        return self.before == digest("")


@dataclass(frozen=True, slots=True)
class Write:
    """One write: `action` is remember, supersede, forget, undo, restore or amend.

    `request` and `part` name the client's request and the place in its batch; `undoes` the write
    that this one reversed. A purged one has lost its words and cannot be reversed. `gone` are keyed
    digests of the lines that it forgot (`forgotten.py`).
    """

    id: str
    time: str
    action: str
    text: str = ""
    origin: Origin = OWNER
    edits: tuple[Edit, ...] = ()
    request: str | None = None
    part: int = 0
    undoes: str | None = None
    purged: bool = False
    together: str = ""
    gone: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The file that the write is filed under: the one it added a fact to, if any."""
        added = self.added
        return added.source if added else next((edit.source for edit in self.edits), "")

    @property
    def added(self) -> Edit | None:
        """The edit that added the fact, if the write added one."""
        if self.action not in ADDING:
            return None
        return next((edit for edit in self.edits if edit.inserted and not edit.removed), None)


@dataclass(frozen=True, slots=True)
class Purging:
    """A purge that has begun. It stands in the journal until it is done, and no longer.

    `facts` are the facts in every wording that is known of them, `passages` what goes from the
    files, `cited` the entries that the facts were taken from, by session. `sessions`: past
    conversations and the prompt's history are gone through as well.
    """

    id: str
    time: str
    facts: tuple[str, ...]
    passages: tuple[Passage, ...]
    cited: dict[str, tuple[str, ...]]
    sessions: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of writes and purges: `done`, `void`, or a `verdict` on their facts."""

    type: str
    ids: tuple[str, ...] = ()
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """A text that somebody else gave a file, by its digest."""

    source: str
    state: str


Entry = Outcome | Write | Purging | Saved
_TYPES: dict[str, type[Entry]] = {"write": Write, "purge": Purging, "saved": Saved}
_ENCODER = msgspec.json.Encoder()
_PEEK = msgspec.json.Decoder(Outcome)
_DECODERS = {name: msgspec.json.Decoder(kind) for name, kind in _TYPES.items()}
_OUTCOMES = ("done", "void", "verdict")


def outcomes(
    done: Iterable[str], void: Iterable[str], verdicts: Mapping[str, Verdict]
) -> list[Outcome]:
    """The entries that say which writes are in the files, which are not, and what became of
    facts."""
    ids: dict[Verdict, list[str]] = {}
    for name, verdict in verdicts.items():
        ids.setdefault(verdict, []).append(name)
    entries = [Outcome("done", tuple(done)), Outcome("void", tuple(void))]
    entries += [Outcome("verdict", tuple(ids[verdict]), verdict) for verdict in ids]
    return [entry for entry in entries if entry.ids]


def encode(entry: Entry) -> bytes:
    """The entry as a line, its end included."""
    if isinstance(entry, Outcome):
        fields = {"type": entry.type, "ids": entry.ids}
        if entry.verdict:
            fields["verdict"] = entry.verdict
    else:
        kind = next(name for name, each in _TYPES.items() if isinstance(entry, each))
        fields = {"type": kind, **msgspec.to_builtins(entry)}
    return _ENCODER.encode(fields) + b"\n"


def decode(line: bytes) -> Entry:
    """The entry of a line. Raises ValueError if it is none of the journal's."""
    if line.startswith(b'{"type":"write",'):
        return _DECODERS["write"].decode(line)
    outcome = _PEEK.decode(line)
    if decoder := _DECODERS.get(outcome.type):
        return decoder.decode(line)
    is_verdict = outcome.type == "verdict"
    if outcome.type not in _OUTCOMES or is_verdict != (outcome.verdict is not None):
        raise ValueError(f"an entry of type {outcome.type!r}")
    return outcome


def new_id() -> str:
    """A fresh id of 12 hex digits."""
    return secrets.token_hex(6)


def now() -> str:
    """The local time, ISO 8601 with offset."""
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def scrubbed(write: Write) -> Write:
    """The write without its words: that something happened, and when."""
    return replace(write, text="", origin=Origin(write.origin.kind), edits=(), purged=True)
