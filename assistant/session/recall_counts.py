"""How often each passage of memory was recalled, by what past sessions tell."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assistant.disk import storage
from assistant.session.entries import RecalledEntry
from assistant.session.ids import SUFFIX
from assistant.session.transcript import whole_lines


@dataclass(frozen=True, slots=True)
class Asked:
    """A passage was put into so many prompts, the last time on a day (ISO, UTC)."""

    times: int
    last: str


class _Passage(msgspec.Struct):
    id: str = ""


class _Line(msgspec.Struct):
    type: str = ""
    time: str = ""
    passages: Sequence[_Passage] = ()


_DECODER = msgspec.json.Decoder(_Line)
_MARK = f'"type":"{RecalledEntry.type}"'.encode()


def recalls(directory: Path) -> dict[str, Asked]:
    """By its id, what is known of each passage; a line that cannot be read counts nothing."""
    found: dict[str, Asked] = {}
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        for line in _recalled(path):
            for passage in line.passages:
                before = found.get(passage.id, Asked(0, ""))
                found[passage.id] = Asked(before.times + 1, max(before.last, line.time[:10]))
    return found


def _recalled(path: Path) -> Iterator[_Line]:
    for line in whole_lines(storage.read(path))[0].split(b"\n"):
        if _MARK in line:
            try:
                yield _DECODER.decode(line)
            except msgspec.MsgspecError:
                continue
