"""What was found, taken over: conversations as sessions, facts to be reviewed, notes as files.

The same export is taken over once, and a later one adds what is new. `.assistant/imported.json` has
digests of what was taken, so that what the owner has since refused or deleted does not come again.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from secrets import token_hex
from typing import Literal

from assistant.disk import locking, storage
from assistant.errors import LedgerError, SessionError
from assistant.importing.items import (
    Document,
    ExportedConversation,
    ExportedFact,
    Item,
    Items,
    LeftOut,
    Problem,
)
from assistant.memory.base import Fact, Origin, Remembered
from assistant.memory.open import replace_files
from assistant.memory.protocol import Keeper
from assistant.memory.text.identity import digest, fact_key
from assistant.quoting import one_line
from assistant.session import adopting
from assistant.session.entries import AssistantEntry, UserEntry
from assistant.workspace.folder import Workspace

AT_ONCE = 200
"""Facts, or documents, that are given to memory together."""
MOST_TOGETHER = 8 << 20
"""Characters of documents that are held before they are written."""
LONGEST_NAME = 200
"""Bytes of a file's name that are kept."""
Redact = Callable[[str], str]
Done = Literal["new", "grown", "known"]
_NEVER = datetime(1970, 1, 1, tzinfo=UTC).isoformat(timespec="milliseconds")
"""The time of what has none."""


@dataclass(slots=True)
class Tally:
    """What was found of one kind: how many are `new`, have `grown`, or were here already."""

    found: int = 0
    new: int = 0
    grown: int = 0
    known: int = 0

    def count(self, what: str, more: int = 1) -> None:
        """So many more, which are `new`, `grown` or `known`."""
        self.found += more
        setattr(self, what, getattr(self, what) + more)


@dataclass(slots=True)
class Report:
    """What an import found and did. `left_out` counts what was not taken, by the reason."""

    kind: str
    conversations: Tally = field(default_factory=Tally)
    facts: Tally = field(default_factory=Tally)
    documents: Tally = field(default_factory=Tally)
    messages: int = 0
    first: str = ""
    last: str = ""
    left_out: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    written: bool = False

    def leave_out(self, why: str) -> None:
        """One thing more that is not taken."""
        self.left_out[why] = self.left_out.get(why, 0) + 1

    @property
    def cut(self) -> bool:
        """Whether the export breaks off."""
        return any(problem.cut for problem in self.problems)


class Taking:
    """One import into a workspace; without a `memory` it only says what would be done."""

    def __init__(
        self,
        workspace: Workspace,
        kind: str,
        redact: Redact,
        memory: Keeper | None = None,
        *,
        again: bool = False,
    ) -> None:
        """`redact` takes secrets out of conversations. `again`: what was taken once and is gone is
        taken once more."""
        self._again = again
        self._workspace = workspace
        self._memory = memory
        self.report = Report(kind, written=memory is not None)
        self._record = _load(workspace)
        self._redact = redact
        self._origin = kind.casefold().replace(" ", "-")
        self._facts: dict[str, Fact] = {}
        self._seen: set[str] = set()
        self._texts: dict[str, tuple[str, str]] = {}
        self._marks = set[str]()
        """Of the documents that are still to be written."""
        self._size = 0
        self._named: dict[str, str] = {}
        self._together = token_hex(6)

    def take(self, items: Items, progress: Callable[[int], None]) -> Report:
        """Take all of it over; `progress` is told how many things there were."""
        try:
            for number, item in enumerate(items, start=1):
                self._take(item)
                progress(number)
            self._give()
            self._write()
        finally:
            if self._memory is not None:
                self._keep_record()
        return self.report

    def _take(self, found: Item) -> None:
        report = self.report
        match found:
            case ExportedConversation():
                self._conversation(found)
            case ExportedFact():
                self._fact(found)
            case Document():
                self._document(found)
            case LeftOut(why=why):
                report.leave_out(why)
            case Problem():
                report.problems.append(found)

    def _conversation(self, found: ExportedConversation) -> None:
        report = self.report
        mark = digest(f"{report.kind}\n{found.id}")[:16]
        try:
            became = self._adopted(found, known=self._was_taken(mark))
        except SessionError as error:
            report.problems.append(Problem(repr(found.title or found.id), error.message))
            return
        report.conversations.count(became)
        self._record.add(mark)
        report.messages += len(found.messages)
        times = sorted(filter(None, [found.time, *(message.time for message in found.messages)]))
        if times:
            report.first = min(filter(None, [report.first, times[0]]))
            report.last = max(report.last, times[-1])

    def _adopted(self, found: ExportedConversation, *, known: bool) -> Done:
        """Take a conversation over as a session, or what it has more than the one it has become.

        One that is `known` and gone was deleted here, and does not come back.
        """
        directory, kind = self._workspace.sessions, self.report.kind
        there = adopting.find(directory, kind, found.id)
        if there is None and known:
            return "known"
        said = list(self._said(found))
        if self._memory is None:
            new = len(adopting.unknown(directory, there, said)) if there else len(said)
        else:
            title = " ".join(self._redact(found.title).split())
            done = adopting.adopt(directory, kind, found.id, said, title=title, read=False)
            new = done.new if done else 0
        return "new" if there is None else "grown" if new else "known"

    def _said(self, found: ExportedConversation) -> Iterator[adopting.Said]:
        """The messages as entries; one without a time has that of the one before."""
        time = found.time or _NEVER
        for message in found.messages:
            time = message.time or time
            kind = UserEntry if message.by == "user" else AssistantEntry
            yield kind(self._redact(message.text), time=time)

    def _fact(self, found: ExportedFact) -> None:
        key = fact_key(one_line(found.text))
        if not key:
            self.report.leave_out("empty facts")
        if not key or key in self._seen:
            return
        self._seen.add(key)
        mark = digest(f"fact\n{key}")[:16]
        if self._was_taken(mark):
            self.report.facts.count("known")
            return
        origin = Origin(self._origin)
        section = f"Imported from {self.report.kind}"
        self._facts[mark] = Fact(
            found.text, section, origin=origin, waits=True, recorded=found.date
        )
        if len(self._facts) == AT_ONCE:
            self._give()

    def _give(self) -> None:
        """Have what was found wait for the owner."""
        facts, self._facts = self._facts, {}
        if self._memory is None:
            self.report.facts.count("new", len(facts))
            return
        for done in self._given(self._memory, [*facts.values()]) if facts else ():
            if done.status == "secret":
                self.report.leave_out("facts that hold a secret")
            else:
                self.report.facts.count("known" if done.status == "exists" else "new")
        self._record |= facts.keys()

    def _given(self, memory: Keeper, facts: Sequence[Fact]) -> Iterator[Remembered]:
        """What became of facts; one that memory refuses is named, and stops no other."""
        try:
            yield from memory.remember(facts)
        except LedgerError as error:
            for fact in facts if len(facts) > 1 else ():
                yield from self._given(memory, [fact])
            if len(facts) == 1:
                self.report.problems.append(Problem(repr(facts[0].text[:80]), error.message))

    def _document(self, found: Document) -> None:
        """A note, as a file of memory; one that was changed here since stays, and is told."""
        source, mark = self._source(found), digest(f"document\n{found.text}")[:16]
        path = self._workspace.root / source
        there = storage.held(path).decode("utf-8", "replace") if path.is_file() else None
        if there == found.text or (there is None and self._was_taken(mark)):
            self.report.documents.count("known")
        elif path.exists() and digest(f"document\n{there}")[:16] not in self._record:
            self.report.problems.append(Problem(found.name, "it was changed here; yours stays"))
        else:
            self.report.documents.count("new" if there is None else "grown")
            self._texts[source] = (there or "").removeprefix("\ufeff"), found.text
            self._size += len(found.text)
        self._marks.add(mark)
        if self._size > MOST_TOGETHER or len(self._texts) == AT_ONCE:
            self._write()

    def _source(self, found: Document) -> str:
        """The file that a document becomes; of two of one name in an export, the second has a mark
        of what it says."""
        parts = [_part(part) for part in found.name.split("/") if part.strip(" .")]
        stem = "/".join(["memory", "imported", *parts])
        stem = re.sub(r"\.(?:md|markdown|txt)$", "", stem, flags=re.IGNORECASE)
        said = digest(found.text)
        if self._named.setdefault(stem.casefold(), said) != said:
            stem = f"{stem}-{said[:6]}"
        return f"{stem}.md"

    def _write(self) -> None:
        """Write documents, so that `undo` takes them back together."""
        texts, self._texts, self._size = self._texts, {}, 0
        if self._memory is not None and texts:
            replace_files(self._workspace, texts, Origin(self._origin), self._together)
        self._record |= self._marks

    def _was_taken(self, mark: str) -> bool:
        return mark in self._record and not self._again

    def _keep_record(self) -> None:
        path = self._workspace.imported
        with locking.lock(path.with_name("imported.lock")):
            storage.replace(
                path, json.dumps(sorted(self._record | _load(self._workspace))).encode()
            )


def _part(name: str) -> str:
    """A name from outside as one that a file can have here, and that is not hidden."""
    plain = "".join("-" if char in "/\\:" or not char.isprintable() else char for char in name)
    return plain.strip().lstrip(".").encode()[:LONGEST_NAME].decode("utf-8", "ignore")


def _load(workspace: Workspace) -> set[str]:
    """The digests of what was taken before; none if the record cannot be read."""
    try:
        marks: Sequence[object] = json.loads(storage.held(workspace.imported) or b"[]")
        return {mark for mark in marks if isinstance(mark, str)}
    except (ValueError, TypeError):
        return set()
