"""The ledger: the one writer of memory's markdown. Remember, forget, supersede, undo."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import partial

from assistant.errors import LedgerError
from assistant.memory.base import Fact, Forgotten, JournalEntry, Passage
from assistant.memory.writing.adding import Adding, Wanted, Written
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import (
    Unsaid,
    nothing_known,
    removals,
    reversed_edits,
    still_gone,
)
from assistant.memory.writing.erasures import Erasures
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.record.writes import Write, new_id, now
from assistant.memory.writing.saving import Tell, no_word
from assistant.memory.writing.transaction import Change, Commits
from assistant.workspace.folder import INDEXED_FILES, Workspace


class Ledger:
    """The ledger of one workspace. Safe to use from several threads and processes at once.

    `erasures` are the facts that a stale save took away; `commits` and `adding` serve whatever else
    writes to these files.
    """

    def __init__(
        self,
        workspace: Workspace,
        today: Callable[[], date] = date.today,
        redact: Callable[[str], str] = str,
        tell: Tell = no_word,
        unsaid: Unsaid = nothing_known,
    ) -> None:
        """`redact` takes secrets out of what the journal says of a forgotten passage. `tell` is
        given a line while a write waits for a program that has a file open. `unsaid` spares it the
        search of files for a fact."""
        self._workspace = workspace
        self._redact = redact
        self.commits = Commits(workspace, tell)
        self._journal = self.commits.journal
        self._images = self.commits.images
        self.adding = Adding(self.commits, today, unsaid)
        self.erasures = Erasures(self.commits, self.adding)

    def remember(
        self,
        facts: Sequence[Fact],
        *,
        request: str | None = None,
        replaced: Mapping[str, Sequence[Passage]] | None = None,
    ) -> tuple[Written, ...]:
        """Write facts in order, all or none; each is one list item under its dated heading.

        A fact that stands in a memory file already is answered with its place. `replaced` has the
        passages that the facts' `replaces` name: several if those are pieces of one long item.
        The same `request` again returns what it did and writes nothing.
        Raises LedgerError for an empty fact, or a `replaces` that names no fact that can be
        superseded; StorageError if a file cannot be read or written.
        """
        wanted = Wanted(facts, replaced or {}, request)
        return self.commits.write(partial(self.adding.plan, wanted))

    def forget(self, passages: Sequence[Passage], *, request: str | None = None) -> Forgotten:
        """Remove exactly these passages, and a dated heading of ours that this empties.

        Raises LedgerError if a file no longer holds the bytes of a passage.
        """

        def plan(change: Change) -> Forgotten:
            if done := self._journal.of_request(request).get(0) if request else None:
                return Forgotten(done.id, tuple(passages), done.purged)
            edits = tuple(removals(change.draft, passages, self._journal.made))
            said = self._redact("\n".join(passage.plain for passage in passages))
            write = Write(new_id(), now(), "forget", said, edits=edits, request=request)
            change.writes.append(write)
            change.verdicts.update(self.adding.given_up(passages))
            return Forgotten(write.id, tuple(passages))

        return self.commits.write(plan)

    def undo(self, *, request: str | None = None) -> JournalEntry:
        """Reverse the latest write that still stands, to the byte if nothing else changed.

        Of writes that belong together all that came one after the other are reversed. Raises
        LedgerError if there is none, or the owner has since changed its lines.
        """

        def plan(change: Change) -> JournalEntry:
            if done := self._journal.of_request(request).get(0) if request else None:
                return self._entry(done.undoes)
            latest = self._latest()
            if not latest:
                raise LedgerError("there is nothing to undo", "`assistant memory log` shows why")
            self._check_stands(latest)
            for part, write in enumerate(latest):
                gone = still_gone(change.draft, self._images, self._workspace.sources(), write)
                edits = tuple(reversed_edits(change.draft, self._images, gone))
                undoing = Write(new_id(), now(), "undo", write.text, edits=edits, undoes=write.id)
                change.writes.append(replace(undoing, request=request, part=part))
            made.update(edit.source for write in latest for edit in write.edits if edit.makes)
            said = "\n".join(write.text for write in latest)
            return replace(self._journal.entry(latest[0]), text=said, undone=True)

        made: set[str] = set()
        with self.commits.locked():
            undone = self.commits.write(plan)
            for source in made:
                self._drop_if_empty(source)
        return undone

    def _drop_if_empty(self, source: str) -> None:
        """Remove a file of notes that a write had made, now that it was taken back."""
        path = self._workspace.root / source
        if path.is_file() and not path.stat().st_size and source not in INDEXED_FILES:
            path.unlink()

    def _check_stands(self, writes: Sequence[Write]) -> None:
        """Raise LedgerError if an older copy of a file has taken one of these writes back."""
        lost = [each for each in writes if self._journal.saves.verdict(each.id) == "erased"]
        if any(entry.id == each.id for each in lost for entry in self.erasures.all()):
            raise LedgerError(
                f"this cannot be undone: {lost[0].source} was saved from an older copy without it",
                "`assistant memory restore` brings it back; with `--dismiss` it stays gone",
            )

    def _latest(self) -> list[Write]:
        """The latest write that can be reversed, with what belongs to it, newest first."""
        every = filter(self._journal.reversible, self._journal.newest())
        latest = next(every, None)
        if latest is None or not latest.together:
            return [latest] if latest else []
        same = itertools.takewhile(lambda write: write.together == latest.together, every)
        return [latest, *same]

    def answered(self, request: str) -> tuple[Written, ...]:
        """What a request wrote that was carried out before; empty if none was."""
        return self.adding.answered(request)

    def stated(self, text: str) -> Written | None:
        """Where a memory file states this fact already; None if none does."""
        return self.adding.stated(Draft(self._workspace), text)

    def log(self, limit: int | None = 20) -> tuple[JournalEntry, ...]:
        """The latest acknowledged writes, newest first; of what was purged only the purge.

        Those of other machines, as far as they came here, stand among them.
        """
        self._journal.refresh()
        found = list(_shown(self._journal, limit))
        if others := list(self.commits.elsewhere()):
            found += itertools.chain.from_iterable(_shown(each, limit) for each in others)
            found.sort(key=lambda entry: datetime.fromisoformat(entry.time), reverse=True)
        return tuple(found[:limit])

    def recorded(self, words: str) -> JournalEntry | None:
        """The latest write that added a fact with these words (a chunk's `plain`)."""
        self._journal.refresh()
        for journal in itertools.chain([self._journal], self.commits.elsewhere()):
            if write := journal.recorded(words):
                return journal.entry(write)
        return None

    def _entry(self, name: str | None) -> JournalEntry:
        write = self._journal.write(name or "")
        assert write is not None, "an undo names what it reversed"
        return self._journal.entry(write)


def _shown(journal: Journal, limit: int | None) -> Iterator[JournalEntry]:
    """The latest writes of a journal that are shown."""
    shown = filter(_is_shown, journal.newest())
    return map(journal.entry, itertools.islice(shown, limit))


def _is_shown(write: Write) -> bool:
    """Whether the log tells of a write: of one that lost its words, only that it forgot."""
    return bool(write.text) or not write.purged or write.action == "forget"
