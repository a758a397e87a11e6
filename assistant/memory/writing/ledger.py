"""The ledger: the one writer of memory's markdown. Remember, forget, supersede, undo, restore."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Literal

from assistant.errors import LedgerError
from assistant.memory import annotations
from assistant.memory.base import Fact, Forgotten, JournalEntry, Passage, Remembered, Upkept
from assistant.memory.text import fact_line
from assistant.memory.text.headings import below, headings
from assistant.memory.text.identity import digest, fact_key
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import (
    Unsaid,
    nothing_known,
    removals,
    reversed_edits,
    stated,
    still_gone,
    strike,
)
from assistant.memory.writing.journal import Verdict, Write, new_id, now
from assistant.memory.writing.markup import (
    Splice,
    clean,
    dated,
    escape,
    insertion,
    insertion_below,
    item_of,
    line_of,
)
from assistant.memory.writing.save import Tell, no_word
from assistant.memory.writing.stale_saves import Gone, Returned, Save, back_in, verdicts_on
from assistant.memory.writing.transaction import Change, Commits
from assistant.memory.writing.upkeep import Fits, Upkeep
from assistant.workspace.folder import INDEXED_FILES, MEMORY_FILE, Workspace

_BOM = "\ufeff"


class Ledger:
    """The ledger of one workspace. Safe to use from several threads and processes at once.

    `commits` serve whatever else writes to these files, `gone` knows forgotten lines again.
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
        self._today = today
        self._redact = redact
        self._unsaid = unsaid
        self.commits = Commits(workspace, tell)
        self._journal = self.commits.journal
        self.gone = Gone(workspace, self._journal)
        self._ours: set[str] = set()
        """The files that were as we left them when they were last looked at."""

    def remember(
        self,
        facts: Sequence[Fact],
        *,
        request: str | None = None,
        replaced: Mapping[str, Sequence[Passage]] | None = None,
    ) -> tuple[Remembered, ...]:
        """Write facts in order, all or none; each is one list item under its dated heading.

        A fact that stands in a memory file already is answered with its place. `replaced` has the
        passages that the facts' `replaces` name: several if those are pieces of one long item.
        The same `request` again returns what it did and writes nothing.
        Raises LedgerError for an empty fact, or a `replaces` that names no fact that can be
        superseded; StorageError if a file cannot be read or written.
        """
        return self._write(facts, replaced or {}, request)

    def forget(self, passages: Sequence[Passage], *, request: str | None = None) -> Forgotten:
        """Remove exactly these passages, and a dated heading of ours that this empties.

        Raises LedgerError if a file no longer holds the bytes of a passage.
        """

        def plan(change: Change) -> Forgotten:
            if done := self._journal.of_request(request).get(0):
                return Forgotten(done.id, tuple(passages), done.purged)
            edits = tuple(removals(change.draft, passages, self._journal.made))
            said = self._redact("\n".join(passage.plain for passage in passages))
            write = Write(new_id(), now(), "forget", said, edits=edits, request=request)
            write = replace(write, gone=self.gone.digests(change.draft, passages))
            change.writes.append(write)
            change.verdicts.update(self.given_up(passages))
            return Forgotten(write.id, tuple(passages))

        return self.commits.write(plan)

    def upkeep(self, fits: Fits) -> Upkept:
        """Move what need not stand in MEMORY.md any longer."""
        return self.commits.write(Upkeep(self._workspace, self._journal, self._today(), fits))

    def undo(self, ids: Sequence[str] = (), *, request: str | None = None) -> JournalEntry:
        """Reverse these writes, or the latest that still stands, to the byte if nothing else
        changed.

        Of writes that belong together all that came one after the other are reversed. Raises
        LedgerError if there is none, or the owner has since changed its lines.
        """

        def plan(change: Change) -> JournalEntry:
            if done := self._journal.of_request(request).get(0):
                return self._journal.entry(self._journal.records()[done.undoes or ""].write)
            latest = self._to_undo(ids)
            if not latest:
                raise LedgerError(
                    "there is nothing to undo", "`assistant memory log` shows the writes"
                )
            self._check_stands(latest)
            for part, write in enumerate(latest):
                gone = still_gone(
                    change.draft, self.commits.images, self._workspace.sources(), write
                )
                edits = tuple(reversed_edits(change.draft, self.commits.images, gone))
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
        erased = {entry.id for entry in self.erased()}
        if lost := next((write for write in writes if write.id in erased), None):
            raise LedgerError(
                f"this cannot be undone: {lost.source} was saved from an older copy without it",
                "`assistant memory restore` brings it back; with `--dismiss` it stays gone",
            )

    def _to_undo(self, ids: Sequence[str]) -> list[Write]:
        """These of the writes that can be reversed, or the latest with what belongs to it; newest
        first."""
        records = reversed(self._journal.records().values())
        writes = [record.write for record in records if record.stands]
        if ids:
            return [write for write in writes if write.id in ids]
        together = writes[0].together if writes else ""
        same = itertools.takewhile(lambda write: write.together == together, writes)
        return list(same) if together else writes[:1]

    def observe(self, source: str, text: str, sha256: str) -> None:
        """Look at a file's text that may be somebody else's save; call it for each change seen.

        Says of each fact that was written to it whether the owner has seen it, deleted it, or lost
        it to an older copy. `sha256` is that of the file's bytes.
        """
        state = sha256
        if text.startswith(_BOM):
            text = text.removeprefix(_BOM)
            state = digest(text)
        self._journal.refresh()
        left = self._journal.left(source)
        if left is None or (left == state and source in self._ours):
            return
        with self.commits.locked():
            ours = self._journal.left(source) == state
            judge = back_in(text, source, self._journal) if ours else None
            self._journal.settle((), (), judge or verdicts_on(text, state, source, self._journal))
            if not ours:
                self._journal.saw(source, state)
        (self._ours.add if ours else self._ours.discard)(source)

    def erased(self) -> tuple[JournalEntry, ...]:
        """The facts that a stale save erased and that the owner has not decided on.

        Of one that was written again counts what became of it then.
        """
        self._journal.refresh()
        lost = self._journal.erased()
        draft = Draft(self._workspace)
        for source in self._workspace.sources() if lost else ():
            if draft.is_text(source):
                lost = Save(draft.text(source), source, self._journal).lacks(lost)
        return tuple(self._journal.entry(record.write) for record in lost)

    def restore(self, ids: Sequence[str], *, request: str | None = None) -> tuple[Remembered, ...]:
        """Write erased facts again, as the owner wishes. Raises LedgerError for any other id."""
        if request and (done := self.answered(request)):
            return done
        facts = [self._written(entry) for entry in self._lost(ids)]
        return self._write(facts, {}, request, dict.fromkeys(ids, "restored"))

    def _written(self, entry: JournalEntry) -> Fact:
        """The fact that a write added, with what its line said that it matters for."""
        added = self._journal.records()[entry.id].write.added
        found = annotations.matters_for(added.inserted) if added else ()
        return Fact(entry.text, origin=entry.origin, matters_for=found)

    def returned(self) -> list[Returned]:
        """The forgotten facts that a save brought back and that the owner has not decided on."""
        self._journal.refresh()
        return list(self.gone.returned())

    def dismiss(self, ids: Sequence[str]) -> None:
        """Never offer these erased facts again, nor name these that came back.

        Raises LedgerError for any other id.
        """
        back = {each.entry for each in self.returned()}
        self._lost([name for name in ids if name not in back])
        with self.commits.locked():
            self._journal.settle((), (), dict.fromkeys(ids, "dismissed"))

    def _lost(self, ids: Sequence[str]) -> list[JournalEntry]:
        lost = {entry.id: entry for entry in self.erased()}
        for name in ids:
            if name not in lost:
                raise LedgerError(
                    f"there is no erased fact {name!r}", "`assistant memory restore` lists them"
                )
        return [lost[name] for name in ids]

    def answered(self, request: str) -> tuple[Remembered, ...]:
        """What a request wrote that was carried out before; empty if none was."""
        self._journal.refresh()
        draft = Draft(self._workspace)
        done = self._journal.of_request(request)
        return tuple(_stored(draft, done[part]) for part in sorted(done))

    def headings(self) -> tuple[str, ...]:
        """The owner's headings in MEMORY.md that a fact may be written under."""
        draft = Draft(self._workspace)
        return tuple(headings(draft.text(MEMORY_FILE))) if draft.is_text(MEMORY_FILE) else ()

    def stated(self, text: str) -> Remembered | None:
        """Where a memory file states this fact already; None if none does."""
        return self._stated(Draft(self._workspace), text)

    def given_up(self, passages: Sequence[Passage]) -> dict[str, Verdict]:
        """The verdicts by which no fact that the owner forgets or supersedes is watched any
        longer."""
        writes = (self._journal.recorded(passage.plain) for passage in passages)
        return {write.id: "deleted" for write in writes if write}

    def log(self, limit: int | None = 20) -> tuple[JournalEntry, ...]:
        """The latest acknowledged writes, newest first; of what was purged only the purge.

        Those of other machines, as far as they came here, stand among them.
        """
        self._journal.refresh()
        journals = [self._journal, *self.commits.elsewhere()]
        found = [
            journal.entry(write)
            for journal in journals
            for write in itertools.islice(filter(_is_shown, journal.newest()), limit)
        ]
        if len(journals) > 1:
            found.sort(key=lambda entry: datetime.fromisoformat(entry.time), reverse=True)
        return tuple(found[:limit])

    def recorded(self, words: str) -> JournalEntry | None:
        """The latest write that added a fact with these words (a chunk's `plain`)."""
        self._journal.refresh()
        for journal in itertools.chain([self._journal], self.commits.elsewhere()):
            if write := journal.recorded(words):
                return journal.entry(write)
        return None

    def _write(
        self,
        facts: Sequence[Fact],
        replaced: Mapping[str, Sequence[Passage]],
        request: str | None,
        restored: Mapping[str, Verdict] | None = None,
    ) -> tuple[Remembered, ...]:
        """Write facts; `restored` are the verdicts on those that a stale save had erased."""

        def plan(change: Change) -> tuple[Remembered, ...]:
            done = self._journal.of_request(request)
            if done:  # a batch is all or none: a part without a write existed already
                return tuple(
                    self._again(change.draft, done.get(part), fact)
                    for part, fact in enumerate(facts)
                )
            change.verdicts.update(restored or {})
            action = "restore" if restored else "remember"
            return tuple(
                self._add(change, fact, given_up_by(fact, replaced), action, request, part)
                for part, fact in enumerate(facts)
            )

        return self.commits.write(plan)

    def _stated(self, draft: Draft, text: str) -> Remembered | None:
        said = clean(text)
        place = stated(draft, self._workspace.sources(), said, self._unsaid(said))
        return Remembered("exists", "", *place, said) if place else None

    def _again(self, draft: Draft, write: Write | None, fact: Fact) -> Remembered:
        """What a request that comes a second time is answered for one of its facts."""
        if write:
            return _stored(draft, write)
        there = self._stated(draft, fact.text)
        return there or Remembered("exists", "", MEMORY_FILE, 0, clean(fact.text))

    def _add(
        self,
        change: Change,
        fact: Fact,
        old: Sequence[Passage],
        action: str,
        request: str | None,
        part: int,
    ) -> Remembered:
        """Make the edits on the draft. Raises LedgerError for what cannot be written."""
        said = clean(fact.text)
        if not said:
            raise LedgerError("there is nothing to remember", "Give the fact in words")
        if fact_line.is_struck_line(said):
            raise LedgerError(f"{said!r} is struck out", "Give what holds now")
        there = self._stated(change.draft, said)
        given_up = fact_key(" ".join(each.plain for each in old))
        if there and given_up in ("", fact_key(said)):
            return there
        write = Write(
            new_id(),
            now(),
            "supersede" if old else action,
            said,
            fact.origin,
            request=request,
            part=part,
            together=fact.together,
        )
        edits = []
        if old:
            edits.append(strike(change.draft, old, said, self._today()))
            change.verdicts.update(self.given_up(old))
        if not there:
            day = _recorded(fact, self._today())
            item = annotations.mattering(escape(said), fact.matters_for)
            for passage in old:
                item = annotations.inherited(item, passage.text)
            splice = _placed(change.draft.text(MEMORY_FILE), fact, old, item, day)
            edits.append(change.draft.edit(MEMORY_FILE, splice))
        write = replace(write, edits=tuple(edits))
        change.writes.append(write)
        if there:
            return replace(there, status="superseded")
        return _stored(change.draft, write)


def _is_shown(write: Write) -> bool:
    """Whether the log tells of a write: of one that lost its words, only that it forgot."""
    return bool(write.text) or not write.purged or write.action == "forget"


def _recorded(fact: Fact, today: date) -> date:
    """The day a fact was written down: today, unless that was elsewhere and before."""
    return min(today, date.fromisoformat(fact.recorded)) if fact.recorded else today


def _placed(text: str, fact: Fact, old: Sequence[Passage], item: str, day: date) -> Splice:
    """The edit of MEMORY.md that adds a fact: under the heading it is for, or where the fact that
    it replaces stands; else under the heading of its day."""
    if fact.under is not None:
        there = headings(text)
        paths = [fact.under] + [below(each.heading, there) for each in old]
        if path := next((each for each in paths if each in there), None):
            return insertion_below(text, there[path], annotations.dated(item, day))
    return insertion(text, dated(fact.section, day), item)


def given_up_by(fact: Fact, replaced: Mapping[str, Sequence[Passage]]) -> Sequence[Passage]:
    """The passages that a fact replaces; none if it replaces nothing.

    Raises LedgerError if what it names is not there.
    """
    if fact.replaces is None:
        return ()
    old = replaced.get(fact.replaces, ())
    if not old:
        raise LedgerError(
            f"no fact stands at {fact.replaces}", "`assistant recall` shows FILE:LINE"
        )
    return old


def _stored(draft: Draft, write: Write) -> Remembered:
    """What a write of a fact answers, with the line it stands on; 0 if the owner changed it."""
    status: Literal["stored", "superseded"] = "stored"
    if write.action == "supersede":
        status = "superseded"
    line = line_of(draft.text(write.source), item_of(write.added.inserted)) if write.added else 0
    return Remembered(status, "", write.source, line, write.text)
