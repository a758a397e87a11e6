"""What the index holds of a text: chunks without secrets, and a vector for each, embedded once.

Of a file that was indexed before, only the parts that changed are made. Small files are made in
groups: while the texts of one are embedded, the next is parsed.
"""

import contextlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Protocol, TypeVar

from assistant.memory.base import Progress
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.backlog import Backlog, Slice
from assistant.memory.index.sqlite.catalog import Catalog
from assistant.memory.index.sqlite.parts import KnownPart, NewPart, Update
from assistant.memory.text.alike import LONGEST
from assistant.memory.text.chunk import (
    GRAIN,
    TOP,
    Chunk,
    Chunker,
    Grain,
    Part,
    Section,
    repeated,
    section_of,
)
from assistant.memory.text.markdown import breaks_in
from assistant.memory.text.masking import masked
from assistant.memory.text.seals import Sealed, around, sealing, unchanged
from assistant.memory.text.standing import standing
from assistant.secrets.redactor import Redactor

Read = Callable[[str, bytes], str]
"""The text to index of a file, by its name and bytes. Raises ValueError that says why there is
none."""
Refine = Callable[[Iterable[Chunk], str, str], Iterable[Chunk]]
"""What is indexed of a file's chunks, by its name and text."""

GROUP, LARGEST_GROUP = 16, 256
"""Texts of the first group, or a few more; each is twice the one before, up to the largest: what is
alike in length is embedded together, and of few texts little is."""
LONG = 1 << 18
"""Characters of a text of which it is told how far it is read."""
AHEAD = 1
"""Groups whose texts are on their way while the next is parsed. With that one, they are what a
question waits for that comes between."""


REPEATED = 8
"""A text that is understood only as a whole grows by this fraction, lest it be parsed too often."""


class Readable(Protocol):
    """A file and its text."""

    @property
    def name(self) -> str: ...

    @property
    def text(self) -> str: ...


F = TypeVar("F", bound=Readable)
Updates = list[tuple[F, Update]]
"""Files, and what becomes of each."""


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
        grain: Grain = GRAIN,
    ) -> None:
        self.text = text
        self.fingerprint_of = embedder.fingerprint_of
        self._embedder = embedder
        self._chunks = Chunker(embedder.count_tokens, embedder.max_tokens, grain=grain)
        self._redactor = redactor
        self._refine = refine
        self._sealed = Sealed()

    def update(
        self,
        name: str,
        text: str,
        catalog: Catalog,
        progress: Progress,
    ) -> Update:
        """What becomes of a file that has this text now; its vectors are cached. What `progress`
        raises ends it."""
        with self._backlog(catalog) as backlog:
            update = self._parsed(name, text, catalog, backlog, progress)
            backlog.work_off(backlog.cut(), partial(progress, f"Indexing {name}"))
        return update

    def stretch(self, indexed: int, least: int) -> int:
        """Up to which character a long text is indexed next, of which so much is."""
        return indexed + (max(least, indexed // REPEATED) if self._refine else least)

    def updates(
        self, files: Iterable[F], catalog: Catalog, progress: Progress
    ) -> Iterator[Updates[F]]:
        """What becomes of these files, in groups whose vectors are cached; each group is to be
        written before the next is asked for."""
        group: Updates[F] = []
        size = GROUP
        begun: deque[tuple[Updates[F], list[Slice]]] = deque()

        def finished() -> Updates[F]:
            done, slices = begun.popleft()
            backlog.work_off(slices, partial(progress, f"Indexing {done[0][0].name}"))
            return done

        waiting = iter(files)
        first = next(waiting, None)
        if first is None:
            return
        with self._backlog(catalog) as backlog:
            for file in chain([first], waiting):
                group.append((file, self._parsed(file.name, file.text, catalog, backlog, progress)))
                if backlog.holds(size):
                    begun.append((group, backlog.cut()))
                    group, size = [], min(2 * size, LARGEST_GROUP)
                if len(begun) > AHEAD:
                    yield finished()
            if group:
                begun.append((group, backlog.cut()))
            while begun:
                yield finished()

    def _backlog(self, catalog: Catalog) -> "contextlib.closing[Backlog]":
        return contextlib.closing(Backlog(catalog.vectors, self._embedder))

    def _parsed(
        self,
        name: str,
        text: str,
        catalog: Catalog,
        backlog: Backlog,
        progress: Progress,
    ) -> Update:
        """What becomes of a file; its vectors are on their way."""
        file = _File(name, text, catalog, self._redactor(), backlog, progress)
        if self._refine:
            update = file.as_one(self._refine(self._chunks(text, name), name, text))
        else:
            update, self._sealed = file.as_changed(self._chunks, self._sealed)
        for path in {chunk.heading for chunk in update.chunks}:
            backlog.add_heading(standing(name, path))
        return update


class _File:
    """A file that is on its way into the index."""

    def __init__(
        self,
        name: str,
        text: str,
        catalog: Catalog,
        redactor: Redactor,
        backlog: Backlog,
        progress: Progress,
    ) -> None:
        self._name = name
        self._text = text.removeprefix("\ufeff")
        self._catalog = catalog
        self._redactor = redactor
        self._backlog = backlog
        self._progress = progress
        self._before = catalog.parts(name)
        self._key = redactor.knowledge
        self._seal = sealing(self._text, self._key)

    def as_one(self, chunks: Iterable[Chunk]) -> Update:
        """Its update, if it is understood only as a whole."""
        lines = breaks_in(self._text)
        whole = Part(0, len(self._text), lines, TOP, tuple(chunks))
        return Update([NewPart(b"", "", whole.size, lines, self._masked(whole))], self._before)

    def as_changed(self, chunker: Chunker, last: Sealed) -> tuple[Update, Sealed]:
        """Its update, of the parts alone that are not as they were; `last` was sealed before it."""
        known = [(part.size, part.seal) for part in self._before]
        alike = last.alike(self._text, self._key, known)
        head, tail = unchanged(self._text, known, self._seal, alike)
        update = self._within(chunker, head, tail) or self._renewed(chunker, 0, 0)[0]
        return update, self._sealed(update)

    def _sealed(self, update: Update) -> Sealed:
        """Its text with the seals of the parts that it is made of after an update."""
        if len(self._text) > LONGEST:
            return Sealed()
        stay, behind = self._before[: update.head], self._before[len(self._before) - update.tail :]
        kept = [part.seal for part in (*stay, *behind)]
        kept[update.head : update.head] = [part.seal for part in update.parts]
        return Sealed(self._text, self._key, kept)

    def _within(self, chunker: Chunker, head: int, tail: int) -> Update | None:
        """The update that leaves so many parts as they are, or fewer behind; None if ids in those
        change, since they say again what is said elsewhere."""
        update, renamed = self._renewed(chunker, head, tail)
        if update.head or update.tail:
            replaced = {id_ for id_, _ in self._catalog.identified(update.replaced)}
            if self._catalog.saying(renamed) - replaced:
                return None
        return update

    def _renewed(self, chunker: Chunker, head: int, tail: int) -> tuple[Update, set[str]]:
        """The same update, and the ids of what is said more or less often than before."""
        stay = self._before[:head]
        section = section_of(self._before[head].section) if stay else TOP
        behind = _Behind(self._before[len(self._before) - tail :], len(self._text))
        start = sum(part.size for part in stay)
        parts, shown = [], []
        for part in chunker.parts(self._text, self._name, start, section, behind.is_met):
            parts.append(part)
            shown.append(self._masked(part))
        update = Update((), self._before, head, behind.count)
        said = [chunk for part in parts for chunk in part.chunks]
        ids, renamed = _ids(said, self._catalog.identified(update.replaced))
        named = iter(ids)
        new = [
            NewPart(
                self._seal(part.start, part.size), part.section.written(), part.size, part.lines,
                [_with_id(chunk, next(named)) for chunk in chunks],
            )
            for part, chunks in zip(parts, shown, strict=True)
        ]  # fmt: skip
        again = zip(ids, said, strict=True)
        repeats = {id_: chunk.id for id_, chunk in again if id_ != chunk.id}
        return replace(update, parts=new, repeats=repeats), renamed

    def _masked(self, part: Part) -> list[Chunk]:
        """The chunks of a part without secrets; their vectors are on their way."""
        begin, end = around(self._text, part.start, part.size)
        found = masked(part.chunks, self._text[begin:end], self._redactor, part.start - begin)
        chunks = list(found)
        for chunk in chunks:
            self._backlog.add(chunk.plain)
        if len(self._text) >= LONG:
            self._progress(f"Reading {self._name}", part.start, len(self._text))
        return chunks


class _Behind:
    """The parts that end a file as they did before, and how many of them do."""

    def __init__(self, parts: Sequence[KnownPart], size: int) -> None:
        self._begins: dict[int, tuple[int, str]] = {}
        for number, part in enumerate(reversed(parts), start=1):
            size -= part.size
            self._begins[size] = number, part.section
        self.count = 0

    def is_met(self, place: int, section: Section) -> bool:
        """Whether one of them begins at a place as it did; from there on all is as it was."""
        number, above = self._begins.get(place, (0, ""))
        if number and section.written() == above:
            self.count = number
        return self.count > 0


def _ids(chunks: Sequence[Chunk], there: Sequence[tuple[str, str]]) -> tuple[list[str], set[str]]:
    """The ids of chunks that take the place of others (id, and that of the first which says the
    same), and the first ids of what is said more or less often than there."""
    before: dict[str, list[str]] = {}
    for id_, first in there:
        before.setdefault(first, []).append(id_)
    times = Counter(chunk.id for chunk in chunks)
    firsts = times.keys() | before.keys()
    renamed = {first for first in firsts if times[first] != len(before.get(first, ()))}
    met: Counter[str] = Counter()
    ids = []
    for chunk in chunks:
        again = met[chunk.id]
        met[chunk.id] += 1
        renew = chunk.id in renamed
        ids.append(repeated(chunk, again).id if renew else before[chunk.id][again])
    return ids, renamed


def _with_id(chunk: Chunk, id_: str) -> Chunk:
    return chunk if chunk.id == id_ else replace(chunk, id=id_)
