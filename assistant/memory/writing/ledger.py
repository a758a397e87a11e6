"""The ledger: the one writer of memory's markdown. Remember, forget, supersede, undo, restore."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Literal

from msgspec.structs import replace as reword

from assistant.display import counted, shortened
from assistant.errors import LedgerError
from assistant.memory import annotations
from assistant.memory.base import (
    LONGEST_LINE,
    Fact,
    Forgotten,
    JournalEntry,
    Mark,
    Notify,
    Passage,
    Remembered,
    Returned,
    Upkept,
    no_notices,
)
from assistant.memory.text.headings import PATH, heading_paths, headings, innermost, project_names
from assistant.memory.text.identity import digest, fact_key, is_struck_line
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import (
    find_fact,
    markings,
    removals,
    reversed_edits,
    strike,
    summary,
)
from assistant.memory.writing.journal import Record, Saved, Verdict, Write, new_id, now
from assistant.memory.writing.markup import (
    Splice,
    dated,
    escape,
    fact_words,
    insertion,
    insertion_below,
    item_of,
    line_of,
)
from assistant.memory.writing.stale_saves import ForgottenLines, SavedText
from assistant.memory.writing.transaction import Commits
from assistant.memory.writing.upkeep import Fits, Upkeep
from assistant.workspace.folder import INDEXED_FILES, MEMORY_FILE, Workspace

PROGRESS = 500
"""The number of undone writes after which progress is reported."""
SKIPPING = "`assistant memory undo --skip` passes over it"
Replaced = Mapping[str, Sequence[Passage]]
"""The passages that each `replaces` of a fact names: several for the pieces of a long item."""


class Ledger:
    """The ledger of one workspace. Safe to use from several threads and processes at once.

    `commits` is for other writers of these files, `journals` record the writes, and `forgotten`
    recognises forgotten lines.
    """

    def __init__(
        self,
        workspace: Workspace,
        today: Callable[[], date] = date.today,
        redact: Callable[[str], str] = str,
        notify: Notify = no_notices,
    ) -> None:
        """`redact` removes secrets from the journal's text of a forgotten passage. `notify`
        receives a line while a write waits for a program that has a file open."""
        self._workspace = workspace
        self._today = today
        self._redact = redact
        self._notify = notify
        self.commits = Commits(workspace, notify)
        self.journals = self.commits.journals
        self._journal = self.journals.own
        self.forgotten = ForgottenLines(workspace, self._journal)

    # Remember

    def remember(
        self,
        facts: Sequence[Fact],
        *,
        request: str | None = None,
        replaced: Replaced | None = None,
    ) -> tuple[Remembered, ...]:
        """Write facts in order, all or none; each is one list item under its dated heading.

        For a fact that is already in a memory file, in general or for the same project, return its
        line. The same `request` again returns what it did and writes nothing. Raises LedgerError
        for an empty fact, or a `replaces` that names no fact that can be superseded; StorageError
        if a file cannot be read or written.
        """

        def plan(draft: Draft) -> tuple[Remembered, ...]:
            if done := self._journal.of_request(request):
                return tuple(
                    _answer(draft, done[part]) if part in done else self._existing(draft, fact)
                    for part, fact in enumerate(facts)
                )
            return tuple(
                self._add(
                    draft, fact, given_up_by(fact, replaced or {}), Write(
                        new_id(), now(), "remember", fact_words(fact.text), fact.origin,
                        request=request, part=part, together=fact.together,
                        held=replace(fact, waits=False) if fact.waits else None,
                    ),
                )
                for part, fact in enumerate(facts)
            )  # fmt: skip

        return self.commits.write(plan)

    def restore(self, ids: Sequence[str], *, request: str | None = None) -> tuple[Remembered, ...]:
        """Write erased facts again, as the owner wishes. Raises LedgerError for any other id."""
        if done := self.answered(request):
            return done
        lost = [self._journal.records[entry.id] for entry in self._erased(ids)]
        together = new_id()

        def plan(draft: Draft) -> tuple[Remembered, ...]:
            draft.verdicts.update(dict.fromkeys(ids, "restored"))
            return tuple(
                self._put_back(
                    draft, record, Write(
                        new_id(), now(), "restore", record.write.text, record.write.origin,
                        request=request, part=part, together=together, below=record.write.below,
                    ),
                )
                for part, record in enumerate(lost)
            )  # fmt: skip

        return self.commits.write(plan)

    def _put_back(self, draft: Draft, lost: Record, write: Write) -> Remembered:
        """Make the edit that adds the line of an erased fact again, below its former heading."""
        if existing := self._stated(draft, write.text, heading_paths(write.below)[-1]):
            return existing
        added = lost.write.added
        assert added is not None, "only writes that added a fact are erased"
        words, comments = annotations.split_comments(item_of(added.inserted).partition(" ")[2])
        marks = self._journal.marks(lost).get(fact_key(write.text), comments)
        item = words + annotations.merged(comments, lost.comments, marks)
        below = write.below or f"## {dated('', self._today())}"
        splice = insertion(draft.text(added.source), below, item)
        write = reword(write, edits=(draft.edit(added.source, splice),))
        draft.writes.append(write)
        return _answer(draft, write)

    def _existing(self, draft: Draft, fact: Fact) -> Remembered:
        """Return the answer for a fact of a repeated request that existed and wrote none."""
        text = fact_words(fact.text)
        existing = self._stated(draft, text, fact.headings)
        return existing or Remembered("exists", "", MEMORY_FILE, 0, text)

    def _add(self, draft: Draft, fact: Fact, old: Sequence[Passage], write: Write) -> Remembered:
        """Make the edits of one fact. Raises LedgerError if it cannot be written."""
        if not write.text:
            raise LedgerError("there is nothing to remember", "Give the fact in words")
        if is_struck_line(write.text):
            raise LedgerError(f"{write.text!r} is struck out", "Give what is true now")
        above = [*fact.headings, *(title for passage in old for title in passage.heading)]
        existing = self._stated(draft, write.text, above)
        given_up = fact_key(" ".join(passage.plain for passage in old))
        if existing and given_up in ("", fact_key(write.text)):
            return existing
        edits = []
        today = self._today()
        day = min(today, date.fromisoformat(fact.recorded)) if fact.recorded else today
        if old:
            edits.append(strike(draft, old, write.text, day))
            draft.verdicts.update(self.unwatched(old))
        if not existing:
            item = annotations.mattering(escape(write.text), fact.matters_for)
            if old:
                item = annotations.inherited(item, "\n".join(passage.text for passage in old))
            item = annotations.in_core(item, fact.core or annotations.core_mark(item))
            below, splice = _insertion_of(draft.text(MEMORY_FILE), fact, old, item, day)
            edits.append(draft.edit(MEMORY_FILE, splice))
            write = reword(write, below=below)
        action = "supersede" if old else write.action
        write = reword(write, action=action, edits=tuple(edits))
        draft.writes.append(write)
        return replace(existing, status="superseded") if existing else _answer(draft, write)

    def answered(self, request: str | None) -> tuple[Remembered, ...]:
        """Return what this request has already written; empty if it was not carried out before."""
        self._journal.refresh()
        draft = Draft(self._workspace)
        done = self._journal.of_request(request)
        return tuple(_answer(draft, done[part]) for part in sorted(done))

    def stated(self, fact: Fact) -> Remembered | None:
        """Return where a memory file states this fact already; None if none does."""
        return self._stated(Draft(self._workspace), fact_words(fact.text), fact.headings)

    def _stated(self, draft: Draft, text: str, heading: Sequence[str]) -> Remembered | None:
        location = find_fact(draft, self._workspace.sources(), text, heading)
        return Remembered("exists", "", *location, text) if location else None

    def headings(self) -> tuple[str, ...]:
        """Return the owner's headings in MEMORY.md that a fact may be written under."""
        draft = Draft(self._workspace)
        return tuple(headings(draft.text(MEMORY_FILE))) if draft.is_text(MEMORY_FILE) else ()

    # Forget and undo

    def forget(self, passages: Sequence[Passage], *, request: str | None = None) -> Forgotten:
        """Remove exactly these passages, and a dated heading of ours that this empties.

        Raises LedgerError if a file no longer contains the bytes of a passage.
        """

        def plan(draft: Draft) -> Forgotten:
            if done := self._journal.of_request(request).get(0):
                return Forgotten(done.id, tuple(passages), done.purged)
            edits = tuple(removals(draft, passages, self._journal.has_made_heading))
            text = self._redact("\n".join(passage.plain for passage in passages))
            gone = self.forgotten.digests(draft, passages)
            write = Write(new_id(), now(), "forget", text, edits=edits, request=request, gone=gone)
            draft.writes.append(write)
            draft.verdicts.update(self.unwatched(passages))
            return Forgotten(write.id, tuple(passages))

        return self.commits.write(plan)

    def unwatched(self, passages: Sequence[Passage]) -> dict[str, Verdict]:
        """Return the verdicts that stop watching facts which the owner forgets or supersedes."""
        writes = (self._journal.adding(passage.plain) for passage in passages)
        return {write.id: "deleted" for write in writes if write}

    def mark(self, marks: Sequence[Mark], *, request: str | None = None) -> int:
        """Write annotations at the end of facts' lines, as one write; return how many changed.

        Raises LedgerError if none of them can be marked.
        """

        def plan(draft: Draft) -> int:
            if done := self._journal.of_request(request).get(0):
                return len(done.edits)
            edits = tuple(markings(draft, marks))
            text = marks[0].passage.plain if len(marks) == 1 else counted(len(edits), "fact")
            if edits:
                text = self._redact(text)
                write = Write(new_id(), now(), "mark", text, edits=edits, request=request)
                draft.writes.append(write)
            return len(edits)

        return self.commits.write(plan)

    def upkeep(self, fits: Fits) -> Upkept:
        """Move what is no longer needed in MEMORY.md."""
        return self.commits.write(Upkeep(self._journal, self._today(), fits))

    def undo(
        self,
        ids: Sequence[str] = (),
        *,
        skip: bool = False,
        request: str | None = None,
        hold: Callable[[Sequence[Fact]], object] = lambda facts: None,
    ) -> tuple[JournalEntry, ...]:
        """Reverse these writes, or the latest that still stands, to the byte if nothing else
        changed; return them, newest first.

        Consecutive writes that belong together are reversed together, without those whose lines
        are gone. If `skip`, the latest are those that can be reversed; the later ones are returned
        first, as `passed`. `hold` is called, before any file is changed, with the facts among them
        that had waited for review. Raises LedgerError if there is none, or the owner has since
        changed its lines.
        """

        def plan(draft: Draft) -> tuple[JournalEntry, ...]:
            if done := self._journal.of_request(request):
                return self._undone(done[part] for part in sorted(done))
            writes, passed = self._to_undo(ids, skip=skip)
            undos = self._reversals(draft, writes, request, named=bool(ids))
            hold([write.held for write in writes if write.held])
            draft.writes += undos
            created.update(e.source for w in writes for e in w.edits if e.before == digest(""))
            return (*passed, *self._undone(undos))

        created: set[str] = set()
        with self.commits.locked():
            undone = self.commits.write(plan)
            for source in created.difference(INDEXED_FILES):
                path = self._workspace.root / source
                if path.is_file() and not path.stat().st_size:
                    path.unlink()
        return undone

    def _reversals(
        self, draft: Draft, writes: Sequence[Write], request: str | None, *, named: bool = False
    ) -> list[Write]:
        """Reverse writes, the newest first; return the writes that do it.

        Unless they were `named`, facts whose lines are gone are left out. Raises LedgerError if one
        cannot be reversed, or none can.
        """
        images, sources = self.commits.images, self._workspace.sources()
        undos, refused = [], 0
        for part, write in enumerate(writes):
            if part and part % PROGRESS == 0:
                self._notify(f"Undoing {part:,} of {len(writes):,} writes")
            try:
                edits = tuple(reversed_edits(draft, images, sources, write))
            except LedgerError as error:
                refused += 1
                is_plain = write.added is not None and len(write.edits) == 1
                if named:
                    raise
                if not is_plain or refused == len(writes):
                    raise _in_the_way(write, error) from error
                edits = ()
            text = summary(edits, draft.images) if write.action == "amend" else write.text
            undos.append(
                Write(
                    new_id(), now(), "undo", text, edits=edits,
                    request=request, part=part, undoes=write.id,
                )
            )  # fmt: skip
        return undos

    def _undone(self, undos: Iterable[Write]) -> tuple[JournalEntry, ...]:
        pairs = [(self._journal.records[undo.undoes or ""].write, undo) for undo in undos]
        return tuple(
            replace(
                self._journal.entry(write),
                text=undo.text,
                undone=True,
                waits_again=bool(write.held),
                gone=bool(write.added) and not undo.edits,
                stays=write.action == "supersede" and not write.added,
            )
            for write, undo in pairs
        )

    def _to_undo(
        self, ids: Sequence[str], *, skip: bool
    ) -> tuple[list[Write], tuple[JournalEntry, ...]]:
        """Return the reversible writes among these, or the latest with those that belong to it, and
        the later ones that were passed over to `skip` what cannot be undone; newest first.

        Raises LedgerError if there is none, or a stale save has reversed one of them.
        """
        records = [
            record
            for record in reversed(list(self._journal.records.values()))
            if record.is_in_effect or record.forgot_for_good
        ]
        writes = [record.write for record in records if record.is_in_effect]
        groups: Iterator[list[Write]]
        if ids:
            groups = iter([[write for write in writes if write.id in ids]])
        elif records and records[0].forgot_for_good and not skip:
            raise LedgerError("the latest write was a purge, which cannot be undone", SKIPPING)
        else:
            by_group = itertools.groupby(writes, lambda write: write.together or write.id)
            groups = (list(group) for _, group in by_group)
        writes = next((group for group in groups if not skip or self._can_undo(group)), [])
        if not writes:
            raise LedgerError("there is nothing to undo", "`assistant memory log` shows the writes")
        self._check_not_erased(writes)
        later = itertools.takewhile(lambda record: record.write is not writes[0], records)
        entries = (self._journal.entry(record.write) for record in (later if skip else ()))
        return writes, tuple(replace(entry, passed=True) for entry in entries)

    def _can_undo(self, writes: Sequence[Write]) -> bool:
        try:
            self._check_not_erased(writes)
            self._reversals(Draft(self._workspace), writes, None)
        except LedgerError:
            return False
        return True

    def _check_not_erased(self, writes: Sequence[Write]) -> None:
        """Raise LedgerError if a stale save has reversed one of these writes."""
        erased = {entry.id for entry in self.erased()}
        if lost := next((write for write in writes if write.id in erased), None):
            raise LedgerError(
                f"this cannot be undone: {lost.source} was saved from an older copy without"
                f" “{_shown(lost)}”",
                "`assistant memory restore` brings it back; with `--dismiss` it stays gone;"
                f" {SKIPPING}",
            )

    # Stale saves

    def observe(self, source: str, text: str, sha256: str) -> None:
        """Examine a file's text that another program may have saved; called for each change.

        Records for each fact in it whether the owner has seen it, deleted it, or lost it to an
        older copy. `sha256` is that of the file's bytes.
        """
        state = sha256
        if text.startswith("\ufeff"):
            text = text.removeprefix("\ufeff")
            state = digest(text)
        self._journal.refresh()
        saved = SavedText(text, source, self._journal)
        written = self._journal.written.get(source)
        if written is None or (written == state and not saved.seen_again()):
            return
        with self.commits.locked():
            verdicts = saved.verdicts(state)
            self._journal.settle(verdicts=verdicts, saved=[Saved(source, state, saved.comments())])

    def erased(self) -> tuple[JournalEntry, ...]:
        """Return the facts that a stale save erased and that the owner has not decided on.

        A fact that was written again is judged by its latest write.
        """
        self._journal.refresh()
        lost = self._journal.erased()
        for source, text in Draft(self._workspace).texts() if lost else ():
            lost = SavedText(text, source, self._journal).lacks(lost)
        return tuple(self._journal.entry(record.write) for record in lost)

    def returned(self) -> tuple[Returned, ...]:
        """Return the forgotten facts that a save brought back, until the owner decides on them."""
        self._journal.refresh()
        return tuple(self.forgotten.returned(Draft(self._workspace).texts()))

    def dismiss(self, ids: Sequence[str]) -> None:
        """Never offer these erased facts again, nor report these returned ones.

        Raises LedgerError for any other id.
        """
        returned = {fact.id for fact in self.returned()}
        self._erased([id for id in ids if id not in returned])
        with self.commits.locked():
            self._journal.settle(verdicts=dict.fromkeys(ids, "dismissed"))

    def _erased(self, ids: Sequence[str]) -> list[JournalEntry]:
        erased = {entry.id: entry for entry in self.erased()}
        for id in ids:
            if id not in erased:
                raise LedgerError(
                    f"there is no erased fact {id!r}", "`assistant memory restore` lists them"
                )
        return [erased[id] for id in ids]


def _in_the_way(write: Write, error: LedgerError) -> LedgerError:
    """Return the error of a write that cannot be undone, with the write's name."""
    reason = error.message.removeprefix("this ")
    cure = "; ".join(filter(None, (error.cure, SKIPPING)))
    return LedgerError(f"“{_shown(write)}” ({write.action}) {reason}", cure)


def _shown(write: Write) -> str:
    return shortened(" ".join(write.text.split()), LONGEST_LINE)


def given_up_by(fact: Fact, replaced: Replaced) -> Sequence[Passage]:
    """Return the passages that a fact replaces; none if it replaces nothing.

    Raises LedgerError if `replaces` names nothing.
    """
    if fact.replaces is None:
        return ()
    old = replaced.get(fact.replaces, ())
    if not old:
        raise LedgerError(
            f"there is no fact at {fact.replaces}", "`assistant recall` shows FILE:LINE"
        )
    return old


def _insertion_of(
    text: str, fact: Fact, old: Sequence[Passage], item: str, day: date
) -> tuple[str, Splice]:
    """Return the heading of a fact and the edit of MEMORY.md that adds it: under the heading it is
    for, or that of the fact it replaces; else that of its day, in the same project."""
    of_old = project_names(title for one in old for title in one.heading)
    projects = project_names(fact.headings) or of_old
    is_elsewhere = bool(projects) and not project_names([fact.under or ""])
    if fact.under is not None:
        existing = headings(text)
        names = {path.rpartition(PATH)[2]: path for path in reversed(existing)}
        named = {name.casefold(): existing[path] for name, path in names.items()}
        named |= {path.casefold(): heading for path, heading in existing.items()} | existing
        paths = [] if is_elsewhere else [fact.under, fact.under.casefold()]
        paths += [innermost(passage.heading, existing) for passage in old]
        if path := next((path for path in paths if path in named), None):
            below = named[path]
            return below.line, insertion_below(text, below, annotations.dated(item, day))
    section = f"Project: {projects[-1]}" if projects else fact.section
    line = f"## {dated(section, day)}"
    return line, insertion(text, line, item)


def _answer(draft: Draft, write: Write) -> Remembered:
    """Return the answer for a write of a fact, with its line; 0 if the owner has changed it."""
    status: Literal["stored", "superseded"] = "stored"
    if write.action == "supersede":
        status = "superseded"
    line = 0
    if write.added:
        line = line_of(draft.text(write.source), item_of(write.added.inserted), write.below)
    return Remembered(status, "", write.source, line, write.text)
