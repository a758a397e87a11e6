"""The journal's lines: JSON, a write, a purge, an outcome or what was saved each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from assistant.memory.writing.record.writes import Purging, Verdict, Write


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
_KNOWN = {*_TYPES, "done", "void", "verdict"}


def outcomes(
    done: Iterable[str], void: Iterable[str], verdicts: Mapping[str, Verdict]
) -> list[Outcome]:
    """The lines that say which writes are in the files, which are not, and of what became of
    facts."""
    lines = [Outcome("done", tuple(done)), Outcome("void", tuple(void))]
    ids: dict[Verdict, list[str]] = {}
    for name, verdict in verdicts.items():
        ids.setdefault(verdict, []).append(name)
    lines += [Outcome("verdict", tuple(ids[verdict]), verdict) for verdict in ids]
    return [line for line in lines if line.ids]


def written(entry: Entry) -> bytes:
    """A line, its end included."""
    match entry:
        case Outcome():
            fields = {"type": entry.type, "ids": entry.ids}
            if entry.verdict:
                fields["verdict"] = entry.verdict
        case _:
            kind = next(name for name, each in _TYPES.items() if isinstance(entry, each))
            fields = {"type": kind, **msgspec.to_builtins(entry)}
    return _ENCODER.encode(fields) + b"\n"


def read(line: bytes) -> Entry:
    """What a line says. Raises ValueError if it has no form of the journal's."""
    peeked = _PEEK.decode(line)
    if peeked.type not in _KNOWN or (peeked.type == "verdict") != (peeked.verdict is not None):
        raise ValueError(f"an entry of type {peeked.type!r}")
    known = _DECODERS.get(peeked.type)
    return known.decode(line) if known else peeked
