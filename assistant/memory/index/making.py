"""What the index holds of a text: chunks without secrets, and a vector for each, embedded once."""

import contextlib
from collections.abc import Callable, Iterable
from functools import partial

from assistant.memory.base import Progress
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.backlog import SLICE, Backlog
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.text.chunks import Chunk, Chunker
from assistant.memory.text.masking import masked
from assistant.memory.text.standing import standing
from assistant.secrets.redactor import Redactor

Read = Callable[[str, bytes], str]
"""The text to index of a file, by its name and bytes. Raises ValueError that says why there is
none."""
Refine = Callable[[Iterable[Chunk], str, str], Iterable[Chunk]]
"""What is indexed of a file's chunks, by its name and text."""


class Maker:
    """Makes the chunks of one corpus's texts.

    What `redactor` knows for a secret is left out; `text` tells what to index of a file.
    """

    def __init__(
        self,
        embedder: Embedder,
        redactor: Callable[[], Redactor],
        text: Read,
        refine: Refine | None = None,
    ) -> None:
        self.text = text
        self.fingerprint = embedder.fingerprint
        self._embedder = embedder
        self._chunks = Chunker(embedder.count_tokens, embedder.max_tokens)
        self._redactor = redactor
        self._refine = refine

    def chunks(
        self,
        name: str,
        text: str,
        catalog: Catalog,
        progress: Progress,
        go_on: Callable[[], object] | None = None,
    ) -> list[Chunk]:
        """The chunks of a text, whose vectors are cached. `go_on` is asked now and then whether
        it is still worth while, and raises if not."""
        chunks = []
        there = catalog.embedded(name)
        with contextlib.closing(Backlog(catalog.vectors, self._embedder)) as backlog:
            found = self._chunks(text, name)
            refined = self._refine(found, name, text) if self._refine else found
            for chunk in masked(refined, text, self._redactor()):
                if there.get(chunk.id) != chunk.plain:
                    backlog.add(chunk.plain)
                chunks.append(chunk)
                if go_on and len(chunks) % SLICE == 0:
                    go_on()
            backlog.work_off(partial(progress, f"Indexing {name}"))
            backlog.add_headings(standing(name, path) for path in {c.heading for c in chunks})
        return chunks
