"""The quarantine: facts that wait for the owner's review before they enter memory.

A fact that a tool's output may have planted reaches neither a memory file nor a prompt until the
owner has read it. `.assistant/review.jsonl`: one JSON object per line, rewritten as a whole. A
damaged line is skipped, and stays until a check of memory sets it aside.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from assistant.disk import storage
from assistant.errors import LedgerError
from assistant.memory.base import Fact, Finding, Held, Origin, Passage, Remembered
from assistant.memory.text.headings import concerns_project, project_names
from assistant.memory.text.identity import digest, fact_key
from assistant.memory.writing.journal import Done, Write, new_id, now
from assistant.memory.writing.ledger import Ledger
from assistant.memory.writing.markup import fact_words
from assistant.workspace.stores import killed_writes

SHOWN_LINES = 5
"""The number of damaged lines that are listed by number."""


class Review:
    """The quarantine of one workspace. Safe to use from several threads and processes at once."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.path = ledger.commits.workspace.private / "review.jsonl"

    def hold(self, facts: Sequence[Fact]) -> tuple[Held, ...]:
        """Add facts for review, except those that already wait, from any origin."""
        added: list[Held] = []
        with self._ledger.commits.locked():
            waiting = list(self.waiting())
            for fact in facts:
                fact = replace(fact, text=fact_words(fact.text))
                if not fact.text:
                    fault = "there is nothing to hold for review"
                    raise LedgerError(fault, "Give the fact in words")
                held = next((held for held in waiting if _is_same(held.fact, fact)), None)
                if held is None:
                    held = Held(_id_of(fact), now(), fact)
                    waiting.append(held)
                added.append(held)
            if added:
                self._save(waiting)
        return tuple(added)

    def waiting(self) -> tuple[Held, ...]:
        """Return the waiting facts, oldest first. Raises StorageError."""
        return tuple(held for _, held in self._lines() if isinstance(held, Held))

    def damaged(self) -> dict[Path, dict[int, bytes]]:
        """Return the unreadable lines of the journal and of the waiting facts, by number."""
        journal = self._ledger.journals.own
        own = {number: line for number, line in self._lines() if isinstance(line, bytes)}
        damaged = {journal.path: dict(journal.damaged), self.path: own}
        return {path: lines for path, lines in damaged.items() if lines}

    def mend(self) -> list[Finding]:
        """Set damaged lines aside, and delete leftovers of killed writes; return what was mended.

        The caller must own the lock.
        """
        commits = self._ledger.commits
        findings = []
        for path, damaged in self.damaged().items():
            text = b"\n".join(damaged.values()).decode("utf-8", "backslashreplace")
            copy = f"kept as .assistant/history/{commits.images.keep(text)}"
            numbered = enumerate(storage.read_or_empty(path).split(b"\n"), start=1)
            whole = (line for number, line in numbered if number not in damaged)
            storage.replace(path, b"\n".join(whole))
            what = f"{path.name}: {lines(damaged)} damaged; {copy}"
            findings.append(Finding("file" if path == self.path else "journal", what, True))
        for path in killed_writes(commits.workspace):
            path.unlink(missing_ok=True)
            what = (
                f"{path.relative_to(commits.workspace.root)}, left by a killed write; it is removed"
            )
            findings.append(Finding("file", what, True))
        return findings

    def accept(
        self,
        id: str,
        text: str | None = None,
        *,
        together: str = "",
        request: str | None = None,
        replaced: Mapping[str, Sequence[Passage]] | None = None,
    ) -> Remembered:
        """Write a waiting fact, or `text` in its place; a repeated request writes it once.

        Facts accepted `together` are undone together. `replaced` has the passages that its
        `replaces` names; if they are no longer current, the fact is written by itself. Raises
        LedgerError if no waiting fact has this id, which is a digest of the text that the owner
        read, or those passages cannot be superseded.
        """
        if done := self._ledger.answered(request):
            return done[0]
        with self._ledger.commits.locked():
            held = self._named(id)
            fact = replace(held.fact, waits=True, together=together or held.fact.together)
            if text is not None:
                fact = replace(fact, text=text, origin=replace(fact.origin, kind="owner")).as_line
            old = (replaced or {}).get(fact.replaces or "", ())
            if not any(passage.status == "current" for passage in old):
                fact = replace(fact, replaces=None)
            (written,) = self._ledger.remember([fact], request=request, replaced=replaced)
            self._drop(id)
        return written

    def refuse(self, id: str, *, together: str = "") -> Held:
        """Drop a waiting fact, as a write for `undo`; facts refused `together` are undone together.

        Raises LedgerError if none has this id.
        """
        commits = self._ledger.commits
        with commits.locked():
            held = self._named(id)
            fact = held.fact
            write = Write(
                new_id(), now(), "refuse", fact.text, Origin(), together=together, held=fact
            )
            commits.journal.begin(write, Done((write.id,)))
            self._drop(id)
        return held

    def without(self, is_purged: Callable[[str], bool]) -> list[tuple[Path, bytes]]:
        """Return the file with its new content, if it contains a fact that is purged."""
        waiting = self.waiting()
        kept = tuple(
            replace(held, fact=replace(held.fact, replaced_text=""))
            if is_purged(held.fact.replaced_text)
            else held
            for held in waiting
            if not is_purged(held.fact.text)
        )
        return [(self.path, _encoded(kept))] if kept != waiting else []

    def _named(self, id: str) -> Held:
        held = next((held for held in self.waiting() if held.id == id), None)
        if held is None:
            raise LedgerError(
                f"no fact with the id {id!r} is waiting for review",
                "`assistant memory review` lists them",
            )
        return held

    def _drop(self, id: str) -> None:
        self._save([held for held in self.waiting() if held.id != id])

    def _save(self, waiting: Sequence[Held]) -> None:
        damaged = b"".join(line + b"\n" for _, line in self._lines() if isinstance(line, bytes))
        storage.replace(self.path, damaged + _encoded(waiting))

    def _lines(self) -> Iterator[tuple[int, Held | bytes]]:
        """Yield each line by number: a fact, or the unreadable bytes."""
        for number, line in enumerate(storage.read_or_empty(self.path).split(b"\n"), start=1):
            if line.strip():
                yield number, _decoded(line) or line


def lines(numbers: Iterable[int]) -> str:
    """List the first few of these line numbers."""
    first, *more = numbers
    shown = ", ".join([f"line {first}", *map(str, more[:SHOWN_LINES])])
    return f"{shown} …" if more[SHOWN_LINES:] else shown


def _decoded(line: bytes) -> Held | None:
    try:
        return msgspec.json.decode(line, type=Held)
    except (ValueError, RecursionError):
        return None


def _encoded(waiting: Sequence[Held]) -> bytes:
    return b"".join(msgspec.json.encode(held) + b"\n" for held in waiting)


def _id_of(fact: Fact) -> str:
    """Return the id of a waiting fact, the same when it waits again after a review."""
    return digest(repr(replace(fact, together="", waits=False)))[:12]


def _is_same(one: Fact, other: Fact) -> bool:
    """Return whether the first fact states the other, for its project as well."""
    keys = [(fact_key(fact.text), fact.replaces) for fact in (one, other)]
    return keys[0] == keys[1] and concerns_project(one.headings, project_names(other.headings))
