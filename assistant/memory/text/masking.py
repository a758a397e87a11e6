"""Replaces the secrets that the owner wrote into a memory file, for the index. Pure.

The file stays as it is; its chunks contain `[[secret:NAME]]` in place of each secret, so no secret
is embedded, stored in the index, recalled or sent. The positions of chunks do not change.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from assistant.memory.base import Passage
from assistant.memory.text.chunk import Chunk, reworded
from assistant.memory.text.markdown import plain, shown
from assistant.secrets.redactor import Redactor, hidden, within
from assistant.secrets.stand_ins import Secret


def masked(chunks: Iterable[Chunk], text: str, redactor: Redactor) -> Iterator[Chunk]:
    """Return the chunks of a text (without byte-order mark) without the secrets in it."""
    secrets = redactor.findings(text)
    redact = cache(redactor.redact)  # many chunks share a heading
    return (_mask(chunk, secrets, redact) for chunk in chunks) if secrets else iter(chunks)


def verbatim(passage: Passage, text: str, redactor: Redactor) -> Passage:
    """Return the passage with the file's own text; unchanged if the file has changed."""
    text = text.removeprefix("\ufeff")
    own = text[passage.start_char : passage.end_char]
    inside = within(redactor.findings(text), passage.start_char, passage.end_char)
    if not inside or hidden(own, inside) != passage.text:
        return passage
    return replace(passage, text=own, plain=plain(own))


def _mask(chunk: Chunk, secrets: Sequence[Secret], redact: Callable[[str], str]) -> Chunk:
    """Return the chunk without these secrets of its file, and without any in its heading."""
    heading = tuple(map(redact, chunk.heading))
    inside = within(secrets, chunk.start_char, chunk.end_char)  # a long key spans several chunks
    if not inside and heading == chunk.heading:
        return chunk
    return reworded(chunk, hidden(chunk.text, inside), _words(chunk, inside), heading)


def _words(chunk: Chunk, inside: Sequence[Secret]) -> str:
    """Return the text to match; only stand-ins if markup obscures the position of a secret."""
    words, ranges = chunk.plain, [*shown(chunk.text, 0, len(chunk.text))]
    for one in inside:
        if (secret := chunk.text[one.start : one.end]) in words:
            words = words.replace(secret, one.stand_in)
        elif any(one.start < end and start < one.end for start, end in ranges):
            return " ".join(other.stand_in for other in inside)
    return words
