"""Imports items into a workspace: conversations as sessions, facts for review, notes as files.

Importing an export again changes nothing, and a later export adds only new items.
`.assistant/imported.json` holds digests of all imported items, so that items refused or deleted
since are not imported again.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from secrets import token_hex
from typing import Literal

from msgspec import structs

from assistant.disk import notebook, storage
from assistant.errors import LedgerError, SessionError
from assistant.importing.items import (
    Document,
    ExportedConversation,
    ExportedFact,
    Item,
    Items,
    Problem,
    Skipped,
)
from assistant.memory.base import Fact, Keeper, Origin, Remembered
from assistant.memory.open import amend_files
from assistant.memory.text.identity import digest, fact_key
from assistant.quoting import one_line
from assistant.session import adopting
from assistant.workspace.folder import Workspace

BATCH = 200
"""Number of facts, or documents, that are written to memory in one batch."""
NAMED = 5
"""Maximum number of skipped items that are named, per reason."""
MAX_NAME_BYTES = 200
"""Maximum length of a file's name."""
Redact = Callable[[str], str]
Change = Literal["new", "grown", "known", "gone"]
_NEVER = datetime(1970, 1, 1, tzinfo=UTC).isoformat(timespec="milliseconds")
"""The time of messages without one."""


@dataclass(slots=True)
class Tally:
    """Counts of items of one kind; `known` ones are already here.

    `gone` ones were imported before and are not imported again: the owner may have deleted or
    refused them.
    """

    found: int = 0
    new: int = 0
    grown: int = 0
    known: int = 0
    gone: int = 0

    def count(self, what: str, number: int = 1) -> None:
        """Add items that are `new`, `grown`, `known` or `gone`."""
        self.found += number
        setattr(self, what, getattr(self, what) + number)


@dataclass(slots=True)
class Report:
    """The result of an import.

    `left_out` counts the skipped items by reason; `left_out_names` has the first names.
    """

    kind: str
    conversations: Tally = field(default_factory=Tally)
    facts: Tally = field(default_factory=Tally)
    documents: Tally = field(default_factory=Tally)
    messages: int = 0
    first: str = ""
    last: str = ""
    left_out: dict[str, int] = field(default_factory=dict)
    left_out_names: dict[str, list[str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    written: bool = False

    def leave_out(self, why: str, name: str = "") -> None:
        """Count a skipped item."""
        self.left_out[why] = self.left_out.get(why, 0) + 1
        names = self.left_out_names.setdefault(why, [])
        if name and len(names) < NAMED:
            names.append(name)

    @property
    def cut(self) -> bool:
        """Whether the export is truncated."""
        return any(problem.cut for problem in self.problems)


class Importer:
    """One import into a workspace; a dry run without a `memory`."""

    def __init__(
        self,
        workspace: Workspace,
        kind: str,
        redact: Redact,
        memory: Keeper | None = None,
        *,
        again: bool = False,
    ) -> None:
        """`redact` removes secrets from conversations; `again` also imports items that were
        deleted or refused after an earlier import."""
        self._again = again
        self._workspace = workspace
        self._memory = memory
        self.report = Report(kind, written=memory is not None)
        self._record = set(notebook.load(workspace.imported, list[str]))
        self._redact = redact
        self._origin = kind.casefold().replace(" ", "-")
        self._facts: dict[str, Fact] = {}
        self._fact_keys: set[str] = set()
        self._texts: dict[str, tuple[str, str]] = {}
        self._document_marks = set[str]()
        """Digests of the documents in `_texts`."""
        self._names: dict[str, str] = {}
        self._batch_id = token_hex(6)

    def run(self, items: Items, progress: Callable[[int], None]) -> Report:
        """Import all items; `progress` is called with the number of items so far."""
        try:
            for number, item in enumerate(items, start=1):
                self._take(item)
                progress(number)
            self._write_facts()
            self._write_documents()
        finally:
            if self._memory is not None:
                with notebook.changing(self._workspace.imported, list[str]) as marks:
                    marks[:] = sorted(self._record.union(marks))
        return self.report

    def _take(self, item: Item) -> None:
        report = self.report
        match item:
            case ExportedConversation():
                self._conversation(item)
            case ExportedFact():
                self._fact(item)
            case Document():
                self._document(item)
            case Skipped(why=why, name=name):
                report.leave_out(why, name)
            case Problem():
                report.problems.append(item)

    def _conversation(self, conversation: ExportedConversation) -> None:
        report = self.report
        mark = digest(f"{report.kind}\n{conversation.id}")[:16]
        try:
            outcome = self._adopt(conversation, was_taken=self._was_taken(mark))
        except SessionError as error:
            report.problems.append(
                Problem(repr(conversation.title or conversation.id), error.message)
            )
            return
        report.conversations.count(outcome)
        self._record.add(mark)
        report.messages += len(conversation.messages)
        times = sorted(
            filter(None, [conversation.time, *(message.time for message in conversation.messages)])
        )
        if times:
            report.first = min(filter(None, [report.first, times[0]]))
            report.last = max(report.last, times[-1])

    def _adopt(self, conversation: ExportedConversation, *, was_taken: bool) -> Change:
        """Import a conversation as a session, or add its new messages to its existing session.

        One that `was_taken` before and is gone was deleted here, and is not imported again.
        """
        directory, kind = self._workspace.sessions, self.report.kind
        session = adopting.find(directory, kind, conversation.id)
        if session is None and was_taken:
            return "gone"
        messages = list(self._entries(conversation))
        if self._memory is None:
            new = len(adopting.unknown(directory, session, messages)) if session else len(messages)
        else:
            title = " ".join(self._redact(conversation.title).split())
            new = adopting.adopt(
                directory, kind, conversation.id, messages, title=title, read=False
            )
        return "new" if session is None else "grown" if new else "known"

    def _entries(self, conversation: ExportedConversation) -> Iterator[adopting.Message]:
        """Yield the messages without secrets; one without a time gets that of its predecessor."""
        time = conversation.time or _NEVER
        for message in conversation.messages:
            time = message.time or time
            yield structs.replace(message, text=self._redact(message.text), time=time)

    def _fact(self, fact: ExportedFact) -> None:
        key = fact_key(one_line(fact.text))
        if not key:
            self.report.leave_out("empty facts")
        if not key or key in self._fact_keys:
            return
        self._fact_keys.add(key)
        mark = digest(f"fact\n{key}")[:16]
        if self._was_taken(mark):
            self.report.facts.count("gone")
            return
        origin = Origin(self._origin)
        section = f"Imported from {self.report.kind}"
        self._facts[mark] = Fact(fact.text, section, origin=origin, waits=True, recorded=fact.date)
        if len(self._facts) == BATCH:
            self._write_facts()

    def _write_facts(self) -> None:
        """Write the collected facts, which then wait for review."""
        facts, self._facts = self._facts, {}
        if self._memory is None:
            self.report.facts.count("new", len(facts))
            return
        for result in self._remember(self._memory, [*facts.values()]) if facts else ():
            if result.status == "secret":
                self.report.leave_out("facts that contain a secret")
            else:
                self.report.facts.count("known" if result.status == "exists" else "new")
        self._record |= facts.keys()

    def _remember(self, memory: Keeper, facts: Sequence[Fact]) -> Iterator[Remembered]:
        """Remember facts, one by one if memory refuses the batch; report a refused fact as a
        problem."""
        try:
            yield from memory.remember(facts)
        except LedgerError as error:
            for fact in facts if len(facts) > 1 else ():
                yield from self._remember(memory, [fact])
            if len(facts) == 1:
                self.report.problems.append(Problem(repr(facts[0].text[:80]), error.message))

    def _document(self, document: Document) -> None:
        """Collect a note as a file of memory, unless the owner has changed that file since."""
        source, mark = self._source(document), digest(f"document\n{document.text}")[:16]
        path = self._workspace.root / source
        existing = (
            storage.read_or_empty(path).decode("utf-8", "replace") if path.is_file() else None
        )
        if existing == document.text:
            self.report.documents.count("known")
        elif existing is None and self._was_taken(mark):
            self.report.documents.count("gone")
        elif path.exists() and digest(f"document\n{existing}")[:16] not in self._record:
            self.report.problems.append(Problem(document.name, "you have changed the file here"))
        else:
            self.report.documents.count("new" if existing is None else "grown")
            self._texts[source] = (existing or "").removeprefix("\ufeff"), document.text
        self._document_marks.add(mark)
        if len(self._texts) == BATCH:
            self._write_documents()

    def _source(self, document: Document) -> str:
        """Return the file that a document becomes; a digest distinguishes a second one of the same
        name."""
        parts = [_safe_name(part) for part in document.name.split("/") if part.strip(" .")]
        stem = "/".join(["memory", "imported", *parts])
        stem = re.sub(r"\.(?:md|markdown|txt)$", "", stem, flags=re.IGNORECASE)
        content_digest = digest(document.text)
        if self._names.setdefault(stem.casefold(), content_digest) != content_digest:
            stem = f"{stem}-{content_digest[:6]}"
        return f"{stem}.md"

    def _write_documents(self) -> None:
        """Write the collected documents as one change for `undo`."""
        texts, self._texts = self._texts, {}
        if self._memory is not None and texts:
            amend_files(self._workspace, texts, Origin(self._origin), self._batch_id)
        self._record |= self._document_marks

    def _was_taken(self, mark: str) -> bool:
        return mark in self._record and not self._again


def _safe_name(name: str) -> str:
    """Return the name, made safe as that of a visible file."""
    safe = "".join("-" if char in "/\\:" or not char.isprintable() else char for char in name)
    return safe.strip().lstrip(".").encode()[:MAX_NAME_BYTES].decode("utf-8", "ignore")
