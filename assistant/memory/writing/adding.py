"""What a remember consists of: each fact is there already, or is written, in the place of another
or not."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from assistant.errors import LedgerError
from assistant.memory.base import Fact, Passage
from assistant.memory.text.identity import fact_key
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import Unsaid, nothing_known, stated, strike
from assistant.memory.writing.markup.insertion import insertion
from assistant.memory.writing.markup.items import clean, dated, escape, item_of, line_of
from assistant.memory.writing.record.writes import Verdict, Write, new_id, now
from assistant.memory.writing.transaction import Change, Commits
from assistant.workspace.folder import MEMORY_FILE


@dataclass(frozen=True, slots=True)
class Written:
    """Where a fact stands now; `entry` is the journal's id of the write, if there was one."""

    status: Literal["stored", "exists", "superseded"]
    source: str
    line: int
    text: str
    entry: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Facts to be written, all or none, and the passages that their `replaces` name.

    `verdicts` are what the owner has decided thereby. The same `request` is carried out once.
    """

    facts: Sequence[Fact]
    replaced: Mapping[str, Sequence[Passage]]
    request: str | None = None
    action: str = "remember"
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)


class Adding:
    """Plans the writes that facts take."""

    def __init__(
        self, commits: Commits, today: Callable[[], date], unsaid: Unsaid = nothing_known
    ) -> None:
        self._unsaid = unsaid
        self._commits = commits
        self._journal = commits.journal
        self._today = today

    def plan(self, wanted: Wanted, change: Change) -> tuple[Written, ...]:
        """Make the edits on the draft. Raises LedgerError for what cannot be written."""
        known = self._journal.of_request(wanted.request) if wanted.request else {}
        if known:  # a batch is all or none: a part without a write existed already
            return tuple(
                self._again(change.draft, known.get(part), fact)
                for part, fact in enumerate(wanted.facts)
            )
        change.verdicts.update(wanted.verdicts)
        return tuple(
            self._add(change, wanted, part, fact) for part, fact in enumerate(wanted.facts)
        )

    def answered(self, request: str) -> tuple[Written, ...]:
        """What a request wrote that was carried out before; empty if none was."""
        self._journal.refresh()
        draft = Draft(self._commits.workspace)
        done = self._journal.of_request(request)
        return tuple(_stored(draft, done[part]) for part in sorted(done))

    def stated(self, draft: Draft, text: str) -> Written | None:
        """Where a memory file states this fact already; None if none does."""
        said = clean(text)
        place = stated(draft, self._commits.workspace.sources(), said, self._unsaid(said))
        return Written("exists", *place, said) if place else None

    def given_up(self, passages: Sequence[Passage]) -> dict[str, Verdict]:
        """No fact that the owner forgets or supersedes is watched any longer."""
        writes = (self._journal.recorded(passage.plain) for passage in passages)
        return {write.id: "deleted" for write in writes if write}

    def _again(self, draft: Draft, write: Write | None, fact: Fact) -> Written:
        """What a request that comes a second time is answered for one of its facts."""
        if write:
            return _stored(draft, write)
        there = self.stated(draft, fact.text)
        return there or Written("exists", MEMORY_FILE, 0, clean(fact.text))

    def _add(self, change: Change, wanted: Wanted, part: int, fact: Fact) -> Written:
        said = clean(fact.text)
        if not said:
            raise LedgerError("there is nothing to remember", "Give the fact in words")
        old = given_up_by(fact, wanted.replaced)
        there = self.stated(change.draft, said)
        given_up = fact_key(" ".join(each.plain for each in old))
        if there and given_up in ("", fact_key(said)):
            return there
        action = "supersede" if old else wanted.action
        write = Write(
            new_id(),
            now(),
            action,
            said,
            fact.origin,
            request=wanted.request,
            part=part,
            together=fact.together,
        )
        edits = []
        if old:
            edits.append(strike(change.draft, old, said, self._today()))
            change.verdicts.update(self.given_up(old))
        if not there:
            title = dated(fact.section, _recorded(fact, self._today()))
            place = insertion(change.draft.text(MEMORY_FILE), title, escape(said))
            edits.append(change.draft.edit(MEMORY_FILE, place))
        write = replace(write, edits=tuple(edits))
        change.writes.append(write)
        if there:
            return replace(there, status="superseded", entry=write.id)
        return _stored(change.draft, write)


def _recorded(fact: Fact, today: date) -> date:
    """The day a fact was written down: today, unless that was elsewhere and before."""
    return min(today, date.fromisoformat(fact.recorded)) if fact.recorded else today


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


def _stored(draft: Draft, write: Write) -> Written:
    """What a write of a fact answers, with the line it stands on; 0 if the owner changed it."""
    status: Literal["stored", "superseded"] = "stored"
    if write.action == "supersede":
        status = "superseded"
    line = line_of(draft.text(write.source), item_of(write.added.inserted)) if write.added else 0
    return Written(status, write.source, line, write.text, write.id)
