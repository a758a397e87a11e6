"""The ledger: the one writer of memory's markdown. Remember, forget, supersede, undo."""

import contextlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from assistant.errors import LedgerError
from assistant.memory.base import Fact, Forgotten, JournalEntry, Origin, Passage
from assistant.memory.text.identity import digest, fact_key
from assistant.memory.text.words import plain
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import (
    removals,
    reversed_edits,
    stated,
    still_gone,
    strike,
)
from assistant.memory.writing.finding import fact_keys
from assistant.memory.writing.markup.insertion import insertion
from assistant.memory.writing.markup.items import clean, dated, escape, item_of, line_of
from assistant.memory.writing.purge import Words, scrub, unnamed
from assistant.memory.writing.record.images import Images
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.record.writes import Verdict, Write, new_id, now
from assistant.memory.writing.stale_saves import verdicts_on
from assistant.memory.writing.transaction import Change, Commits
from assistant.workspace import MEMORY_FILE, Workspace


@dataclass(frozen=True, slots=True)
class Written:
    """Where a fact stands now; `entry` is the journal's id of the write, if there was one."""

    status: Literal["stored", "exists", "superseded"]
    source: str
    line: int
    text: str
    entry: str | None = None


class Ledger:
    """The ledger of one workspace. Safe to use from several threads and processes at once."""

    def __init__(
        self,
        workspace: Workspace,
        today: Callable[[], date] = date.today,
        redact: Callable[[str], str] = str,
    ) -> None:
        """`redact` takes secrets out of what the journal says of a forgotten passage."""
        self._workspace = workspace
        self._today = today
        self._redact = redact
        self._journal = Journal(workspace.journal)
        self._images = Images(workspace.history)
        self._commits = Commits(workspace, self._journal, self._images)

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
        return self._remember(facts, "remember", request, replaced or {})

    def forget(
        self, passages: Sequence[Passage], *, purge: bool = False, request: str | None = None
    ) -> Forgotten:
        """Remove exactly these passages, and a dated heading of ours that this empties.

        `purge` also takes their words from the journal, the history and the notes of facts that
        they superseded; it cannot be undone. Raises LedgerError if a file no longer holds the
        bytes of a passage.
        """

        def plan(change: Change) -> Forgotten:
            if done := self._journal.of_request(request).get(0) if request else None:
                return Forgotten(done.id, tuple(passages), done.purged)
            write = Write(new_id(), now(), "forget", request=request, purged=purge)
            edits = removals(change.draft, passages, self._made)
            if purge:
                words = Words(passages)
                edits += unnamed(change.draft, self._workspace.sources(), words)
                scrub(self._journal, self._images, words)
                edits = [replace(edit, removed="") for edit in edits]
                change.draft.images.clear()
            said = "" if purge else "\n".join(plain(passage.text) for passage in passages)
            change.writes.append(replace(write, text=self._redact(said), edits=tuple(edits)))
            change.verdicts.update(self._given_up(passages))
            return Forgotten(write.id, tuple(passages), purge)

        return self._commits.write(plan)

    def undo(self, *, request: str | None = None) -> JournalEntry:
        """Reverse the latest write that still stands, to the byte if nothing else changed.

        Raises LedgerError if there is none, or the owner has since changed its lines.
        """

        def plan(change: Change) -> JournalEntry:
            if done := self._journal.of_request(request).get(0) if request else None:
                return self._entry(done.undoes)
            latest = next(
                (
                    write
                    for write in reversed(self._journal.acknowledged())
                    if self._journal.reversible(write)
                ),
                None,
            )
            if latest is None:
                raise LedgerError("there is nothing to undo", "`assistant memory log` shows why")
            gone = still_gone(change.draft, self._images, self._workspace.sources(), latest)
            edits = tuple(reversed_edits(change.draft, self._images, gone))
            undoing = Write(
                new_id(), now(), "undo", latest.text, edits=edits, request=request, undoes=latest.id
            )
            change.writes.append(undoing)
            return replace(self._journal.entry(latest), undone=True)

        return self._commits.write(plan)

    def amending(
        self, texts: Mapping[str, str], origin: Origin
    ) -> contextlib.AbstractContextManager[None]:
        """See `Commits.amending`."""
        return self._commits.amending(texts, origin)

    def answered(self, request: str) -> tuple[Written, ...]:
        """What a request wrote that was carried out before; empty if none was."""
        self._journal.refresh()
        draft = Draft(self._workspace)
        done = self._journal.of_request(request)
        return tuple(_stored(draft, done[part]) for part in sorted(done))

    def stated(self, text: str) -> Written | None:
        """Where a memory file states this fact already; None if none does."""
        said = clean(text)
        place = stated(Draft(self._workspace), self._workspace.sources(), said)
        return Written("exists", *place, said) if place else None

    def log(self, limit: int | None = 20) -> tuple[JournalEntry, ...]:
        """The latest acknowledged writes, newest first; of what was purged only the purge."""
        self._journal.refresh()
        shown = (write for write in reversed(self._journal.acknowledged()) if _is_shown(write))
        return tuple(map(self._journal.entry, itertools.islice(shown, limit)))

    def recorded(self, words: str) -> JournalEntry | None:
        """The latest write that added a fact with these words (a chunk's `plain`)."""
        self._journal.refresh()
        write = self._journal.recorded(words)
        return self._journal.entry(write) if write else None

    def observe(self, source: str) -> None:
        """Look at a file that may have been saved by somebody else; call it for each change seen.

        Settles for each fact written since the last such save whether the owner has seen it,
        deleted it, or lost it to an editor's stale buffer.
        """
        self._journal.refresh()
        if self._journal.saved(source) is None or not (self._workspace.root / source).is_file():
            return
        if digest(Draft(self._workspace).text(source)) == self._journal.saved(source):
            return
        with self._commits.locked():
            verdicts = verdicts_on(Draft(self._workspace).text(source), source, self._journal)
            self._journal.settle((), (), verdicts)

    def erased(self) -> tuple[JournalEntry, ...]:
        """The facts that a stale save erased and that the owner has not decided on.

        Of one that was written again counts what became of it then.
        """
        self._journal.refresh()
        added = [
            write
            for write in self._journal.acknowledged()
            if write.added and self._journal.reversible(write)
        ]
        if not any(self._journal.verdict(write) == "erased" for write in added):
            return ()
        draft = Draft(self._workspace)
        said = set().union(*(fact_keys(draft.text(source)) for source in self._workspace.sources()))
        latest = {fact_key(write.text): write for write in added}
        return tuple(
            self._journal.entry(write)
            for words, write in latest.items()
            if self._journal.verdict(write) == "erased" and words not in said
        )

    def restore(self, ids: Sequence[str], *, request: str | None = None) -> tuple[Written, ...]:
        """Write erased facts again, as the owner wishes. Raises LedgerError for any other id."""
        if request and (done := self.answered(request)):
            return done
        lost = {entry.id: entry for entry in self.erased()}
        facts = [Fact(self._lost(lost, name).text, origin=lost[name].origin) for name in ids]
        verdicts: dict[str, Verdict] = dict.fromkeys(ids, "restored")
        return self._remember(facts, "restore", request, {}, verdicts)

    def dismiss(self, ids: Sequence[str]) -> None:
        """Never offer these erased facts again. Raises LedgerError for any other id."""
        lost = {entry.id: entry for entry in self.erased()}
        with self._commits.locked():
            self._journal.settle((), (), {self._lost(lost, name).id: "dismissed" for name in ids})

    def _lost(self, lost: Mapping[str, JournalEntry], name: str) -> JournalEntry:
        if name not in lost:
            raise LedgerError(f"{name} is no erased fact", "`assistant memory status` lists them")
        return lost[name]

    def _entry(self, name: str | None) -> JournalEntry:
        write = self._journal.write(name or "")
        assert write is not None, "an undo names what it reversed"
        return self._journal.entry(write)

    # What a write consists of

    def _remember(
        self,
        facts: Sequence[Fact],
        action: str,
        request: str | None,
        replaced: Mapping[str, Sequence[Passage]],
        verdicts: Mapping[str, Verdict] | None = None,
    ) -> tuple[Written, ...]:
        def plan(change: Change) -> tuple[Written, ...]:
            known = self._journal.of_request(request) if request else {}
            change.verdicts.update(verdicts or {})
            written = []
            for part, fact in enumerate(facts):
                if known:  # a batch is all or none: a part without a write existed already
                    written.append(self._again(change.draft, known.get(part), fact))
                    continue
                base = Write(
                    new_id(), now(), action, clean(fact.text), fact.origin, (), request, part
                )
                written.append(self._add(change, base, fact, replaced))
            return tuple(written)

        return self._commits.write(plan)

    def _again(self, draft: Draft, write: Write | None, fact: Fact) -> Written:
        """What a request that comes a second time is answered for one of its facts."""
        if write:
            return _stored(draft, write)
        said = clean(fact.text)
        place = stated(draft, self._workspace.sources(), said) or (MEMORY_FILE, 0)
        return Written("exists", *place, said)

    def _add(
        self, change: Change, base: Write, fact: Fact, replaced: Mapping[str, Sequence[Passage]]
    ) -> Written:
        if not base.text:
            raise LedgerError("there is nothing to remember", "Give the fact in words")
        old = replaced.get(fact.replaces, ()) if fact.replaces else ()
        if fact.replaces and not old:
            raise LedgerError(
                f"no fact stands at {fact.replaces}", "`assistant recall` shows FILE:LINE"
            )
        draft = change.draft
        same = stated(draft, self._workspace.sources(), base.text)
        given_up = fact_key(" ".join(plain(each.text) for each in old))
        if same and given_up in ("", fact_key(base.text)):
            return Written("exists", *same, base.text)
        edits = []
        if old:
            edits.append(strike(draft, old, base.text, self._today()))
            change.verdicts.update(self._given_up(old))
        if not same:
            title = dated(fact.section, self._today())
            place = insertion(draft.text(MEMORY_FILE), title, escape(base.text))
            edits.append(draft.edit(MEMORY_FILE, place))
        action = "supersede" if old else base.action
        write = replace(base, action=action, edits=tuple(edits))
        change.writes.append(write)
        if same:
            return Written("superseded", *same, base.text, write.id)
        return _stored(draft, write)

    def _given_up(self, passages: Sequence[Passage]) -> dict[str, Verdict]:
        """No fact that the owner forgets or supersedes is watched any longer."""
        writes = (self._journal.recorded(plain(passage.text)) for passage in passages)
        return {write.id: "deleted" for write in writes if write}

    def _made(self, source: str, title: str) -> bool:
        """Whether a heading is one that the ledger wrote."""
        edits = (edit for write in self._journal.acknowledged() for edit in write.edits)
        return any(edit.source == source and f"## {title}" in edit.inserted for edit in edits)


def _is_shown(write: Write) -> bool:
    """Whether the log tells of a write: of one that lost its words, only that it forgot."""
    return bool(write.text) or not write.purged or write.action == "forget"


def _stored(draft: Draft, write: Write) -> Written:
    """What a write of a fact answers, with the line it stands on; 0 if the owner changed it."""
    status: Literal["stored", "superseded"] = "stored"
    if write.action == "supersede":
        status = "superseded"
    line = line_of(draft.text(write.source), item_of(write.added.inserted)) if write.added else 0
    return Written(status, write.source, line, write.text, write.id)
