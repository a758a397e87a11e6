"""Forgotten facts that a save brings back: known again by keyed digests of their lines.

Of a forgotten fact the journal keeps a digest of its first line, which a purge leaves. The key is
`.assistant/forgotten.key`; without it a digest confirms no guess.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from assistant.disk import storage
from assistant.memory.base import Passage
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.journal import Journal
from assistant.workspace.folder import Workspace

_BYTES = 12


@dataclass(frozen=True, slots=True)
class Returned:
    """A line that stands in a file again; `entry` is the journal's id of what forgot it."""

    entry: str
    source: str
    line: int
    text: str
    purged: bool


class Gone:
    """The forgotten lines of one workspace."""

    def __init__(self, workspace: Workspace, journal: Journal) -> None:
        self._workspace = workspace
        self._journal = journal

    def digests(self, draft: Draft, passages: Sequence[Passage]) -> tuple[str, ...]:
        """What is kept of passages that were taken out of a draft: none of a line that still
        stands there a second time. Makes the key if there is none; raises StorageError."""
        if not self._key():
            storage.private_directory(self._workspace.private)
            storage.replace(self._workspace.forgotten_key, secrets.token_hex(32).encode())
        found: list[str] = []
        for source in dict.fromkeys(passage.source for passage in passages):
            own = [each.text.strip() for each in passages if each.source == source]
            gone = {_bare(text.split("\n")[0]) for text in own}
            left = set(map(_bare, draft.text(source).splitlines()))
            found += [digest for _, _, digest in self._digested(source, gone - left)]
        return tuple(found)

    def returned(self) -> Iterator[Returned]:
        """The forgotten lines that stand in their files again, and that nobody wrote since or
        wants to keep. Raises StorageError."""
        draft = Draft(self._workspace)
        for source, records in self._journal.forgotten().items():
            if not draft.is_text(source):
                continue
            later = {record.item: record.line for record in self._journal.watched(source)}
            lines = draft.text(source).splitlines()
            for number, line, digest in self._digested(source, map(_bare, lines)):
                record = records.get(digest)
                if record and later.get(lines[number - 1].strip(), 0) <= record.line:
                    yield Returned(record.write.id, source, number, line, not record.reversible)

    def _key(self) -> bytes:
        return storage.held(self._workspace.forgotten_key)[:64]

    def _digested(self, source: str, lines: Iterable[str]) -> Iterator[tuple[int, str, str]]:
        """Each line that is not blank: its number, what it says and its digest."""
        begun = blake2b(f"{source}\n".encode(), digest_size=_BYTES, key=self._key())
        for number, line in enumerate(lines, start=1):
            if line:
                whole = begun.copy()
                whole.update(line.encode("utf-8", "surrogatepass"))
                yield number, line, whole.hexdigest()


def _bare(line: str) -> str:
    """A line without its bullet."""
    return line.strip().lstrip("-*+ \t")
