"""Chunks of a text, as a model with a limit would get them."""

from collections.abc import Callable

from assistant.memory.text.blocks import MAX_CHARS
from assistant.memory.text.chunk import Chunk, Chunker


def chunk(
    text: str,
    source: str,
    *,
    count_tokens: Callable[[str], int],
    max_tokens: int,
    max_chars: int = MAX_CHARS,
) -> list[Chunk]:
    """The chunks of a markdown file, in order; see `Chunker`."""
    return list(Chunker(count_tokens, max_tokens, max_chars)(text, source))
