"""What the index holds in the place of secrets that the owner wrote into a memory file. Pure.

The file stays as it is; its chunks say `[[secret:NAME]]` where it says a secret, so that none is
embedded, stored in the index, recalled or sent. Where a chunk stands is not changed by that.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from assistant.memory.base import Passage
from assistant.memory.text.chunk import Chunk, reworded
from assistant.memory.text.markdown import plain, shown
from assistant.secrets.redactor import Redactor

Place = tuple[int, int, str]
"""Where a secret stands: first character, end, and its stand-in."""


def masked(
    chunks: Iterable[Chunk], text: str, redactor: Redactor, start: int = 0
) -> Iterator[Chunk]:
    """The chunks of a text without byte-order mark, without the secrets in it; their characters
    are counted from `start` on."""
    spans = redactor.places(text)
    places = [(first - start, last - start, stand_in) for first, last, stand_in in spans]
    redact = cache(redactor.redact)  # a heading stands over many chunks
    return (mask(chunk, places, redact) for chunk in chunks) if places else iter(chunks)


def verbatim(passage: Passage, text: str, redactor: Redactor) -> Passage:
    """The passage with the file's own words; as it is if the file no longer says the same."""
    text = text.removeprefix("\ufeff")
    start, end = passage.start_char, passage.end_char
    inside = _inside(redactor.places(text), start, end)
    own = text[start:end]
    if not inside or _hidden(own, start, inside) != passage.text:
        return passage
    return replace(passage, text=own, plain=plain(own))


def mask(chunk: Chunk, places: Sequence[Place], redact: Callable[[str], str]) -> Chunk:
    """The chunk without the secrets that stand at these places, and in its heading."""
    heading = tuple(map(redact, chunk.heading))
    inside = _inside(places, chunk.start_char, chunk.end_char)
    if not inside and heading == chunk.heading:
        return chunk
    text = _hidden(chunk.text, chunk.start_char, inside)
    return reworded(chunk, text, _words(chunk, inside), heading)


def _inside(places: Sequence[Place], start: int, end: int) -> list[Place]:
    """The parts of secrets that stand within these characters: a long key fills several chunks."""
    return [
        (max(first, start), min(last, end), stand_in)
        for first, last, stand_in in places
        if first < end and start < last
    ]


def _hidden(text: str, start: int, inside: Sequence[Place]) -> str:
    for first, last, stand_in in reversed(inside):
        text = f"{text[: first - start]}{stand_in}{text[last - start :]}"
    return text


def _words(chunk: Chunk, inside: Sequence[Place]) -> str:
    """The words to match; nothing but stand-ins if markup hides where a secret is in them."""
    words = chunk.plain
    for first, last, stand_in in inside:
        begin, end = first - chunk.start_char, last - chunk.start_char
        if (secret := chunk.text[begin:end]) in words:
            words = words.replace(secret, stand_in)
        elif any(
            first < end and begin < last for first, last in shown(chunk.text, 0, len(chunk.text))
        ):
            return " ".join(stand_in for _, _, stand_in in inside)
    return words
