"""`forget --purge`: removes a fact's text from every store that contains it (`stores.py`).

First it makes a plan: the new content of each store is computed and written next to the old, so
that every obstacle (an open session, a full disk, a file that is open elsewhere) shows before
anything is changed. Then the purge, with the text, is recorded in the journal until it is complete:
if it is killed, the next owner of the index completes it. The journal is rewritten last.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from difflib import SequenceMatcher
from functools import partial
from itertools import chain
from pathlib import Path

from msgspec.structs import replace as reword

from assistant import config
from assistant.disk import storage
from assistant.errors import AssistantError, LedgerError
from assistant.memory.base import Forgotten, Passage, check_wanted
from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import breaks_in, naming_successor
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import line_stating, removals
from assistant.memory.writing.journal import Edit, Journal, Purging, Write, new_id, now
from assistant.memory.writing.ledger import Ledger
from assistant.memory.writing.markup import Splice, neighbours
from assistant.memory.writing.remains import cited_texts, conversations, prompts, remains
from assistant.memory.writing.review import Review
from assistant.memory.writing.transaction import Commits
from assistant.memory.writing.words import Words
from assistant.workspace.stores import STORES, Store

_CONVERSATIONS = frozenset({"sessions", "prompts"})
"""The stores of past conversations."""
ALIKE = 0.6
"""The minimum share of common characters at which a missing fact may have become another one."""


class Purge:
    """Forgets facts of one workspace for good."""

    def __init__(
        self,
        ledger: Ledger,
        review: Review,
        scrub_index: Callable[[], None],
        stores: Sequence[Store] = STORES,
        notes: Sequence[Path] = (),
    ) -> None:
        """`scrub_index` erases from the index what the files no longer contain. `notes` are
        folders that are searched as well when the purge is done."""
        self._notes = notes
        self._commits = ledger.commits
        self._ledger = ledger
        self._journal = ledger.journals.own
        self._review = review
        self._scrub_index = scrub_index
        self._stores = stores

    def forget(
        self,
        passages: Sequence[Passage],
        *,
        past: Sequence[str] = (),
        sessions: bool = False,
        request: str | None = None,
    ) -> Forgotten:
        """Remove facts from every store: those of passages, and `past` ones that are in no file.

        With `sessions`, past conversations are covered. Raises, with nothing changed, LedgerError
        if a file no longer contains the bytes of a passage, SessionError if a session that must
        change is open, and StorageError. After a later error the purge is completed another time.
        If no store contains the text, nothing is written and `entry` is empty. Messages that hint
        at a text are named only if more than conversations contained it: it may be a hint itself.
        """
        with self._commits.locked():
            self._review.mend()
            check_wanted()
            if done := self._journal.of_request(request).get(0):
                return Forgotten(done.id, tuple(passages), done.purged)
            facts = wordings(passages, past, self._journal, Draft(self._commits.workspace))
            entries = cited(Words(facts), self._journal)
            id = request or new_id()
            purging = Purging(id, now(), facts, tuple(passages), entries, sessions)
            plan = self._carry_out(purging, resumed=False)
            done = self._journal.of_request(id).get(0)
        left = remains(
            self._commits.workspace, plan.words, self._notes, plan.replaced,
            with_hints=bool(plan.cleared - _CONVERSATIONS),
        )  # fmt: skip
        cleared = tuple(store.name for store in self._stores if store.name in plan.cleared)
        return Forgotten(done.id if done else "", tuple(passages), True, cleared, tuple(left))

    def finish(self) -> None:
        """Complete the unfinished purges. Raises the error that prevents it; the rest stays
        pending."""
        self._journal.refresh()
        if not self._journal.purges:
            return
        with self._commits.locked():
            self._review.mend()
            for purging in list(self._journal.purges.values()):
                self._carry_out(purging, resumed=True)

    def _carry_out(self, purging: Purging, *, resumed: bool) -> "_Plan":
        with ExitStack() as stack:
            plan = _Plan(self._commits, self._review, self._stores, purging, stack)
            try:
                self._commits.attempt(partial(self._edit_files, plan, resumed=resumed))
            except AssistantError:
                is_written = self._journal.of_request(purging.id) or self._journal.pending()
                if purging.id in self._journal.purges and not (resumed or is_written):
                    self._journal.settle((), [purging.id])
                raise
            # from here nothing can fail on purpose: rewrite the stores
            # a session last: it names the pictures and typed messages that belong to it
            for temporary, target in reversed(plan.rewritten):
                with storage.reported("written", target):
                    storage.DISK.rename(temporary, target)
                    storage.sync_directory(target.parent)
            stack.close()  # the rest may take long, and needs no sessions
            for name in plan.images:
                self._commits.images.drop(name)
            self._scrub_index()
            for journal in self._commits.journals.others():
                journal.rewrite(plan.reworded)
            self._journal.rewrite(plan.reworded, purged=purging.id)
            return plan

    def _edit_files(self, plan: "_Plan", draft: Draft, *, resumed: bool) -> None:
        """Remove the passages from their files, and their text from the notes of other facts.

        If the purge is `resumed`, passages that have changed are left.
        """
        passages = plan.purging.passages
        last_first = sorted(passages, key=lambda passage: passage.start_char, reverse=True)
        edits: list[Edit] = []
        for group in [[passage] for passage in last_first] if resumed else [passages]:
            try:
                edits += removals(draft, group, self._journal.has_made_heading)
            except LedgerError:
                if not resumed:  # else it was removed before, or its owner has changed it since
                    raise
        edits += _without_notes(draft, plan)
        if edits:
            plan.cleared.add("memory")
        if not (resumed or plan.cleared):
            return  # nothing was forgotten, so nothing is journalled
        if plan.purging.id not in self._journal.purges:
            self._journal.begin(plan.purging)
        if edits or not self._journal.of_request(plan.purging.id):
            kept = (plan.words.without_digests(replace(edit, removed="")) for edit in edits)
            draft.writes.append(
                Write(
                    new_id(), now(), "forget", edits=tuple(kept), request=plan.purging.id,
                    purged=True, gone=self._ledger.forgotten.digests(draft, passages),
                )
            )  # fmt: skip
        draft.images.clear()
        draft.verdicts.update(self._ledger.unwatched(passages))


class _Plan:
    """The changes that a purge will make to the stores, none of them made yet."""

    def __init__(
        self,
        commits: Commits,
        review: Review,
        stores: Sequence[Store],
        purging: Purging,
        stack: ExitStack,
    ) -> None:
        """`stack` keeps sessions locked and deletes temporary files."""
        self.purging = purging
        self.words = Words(purging.facts, [passage.text for passage in purging.passages])
        self._workspace = commits.workspace
        self._review = review
        texts = ((name, commits.images.read(name)) for name in commits.images.names())
        self.images = [name for name, text in texts if text is None or self.words.occur_in(text)]
        """Those that contain the text, or may: a damaged one cannot be searched."""
        scopes = ("always", "sessions") if purging.sessions else ("always",)
        files = {
            store.name: list(self._new_contents(store.name, stack))
            for store in stores
            if store.words in scopes
        }
        self.cleared = {name for name, changed in files.items() if changed}
        """The names of the stores that contained the text, without the index."""
        self.replaced: set[str] = set()
        """The addresses of facts that the forgotten ones had replaced."""
        if self.images:
            self.cleared.add("history")
        if any(self.reworded(write) != write for write in commits.journal.acknowledged()):
            self.cleared.add("journal")
        self.rewritten: list[tuple[Path, Path]] = []
        """The temporary files with the new contents, and the files that they replace."""
        for path, data in chain.from_iterable(files.values()):
            with storage.reported("written", path):
                target = path.resolve()
                temporary, _ = stack.enter_context(storage.temporary(target, data))
            self.rewritten.append((temporary, target))

    def _new_contents(self, store: str, stack: ExitStack) -> Iterable[tuple[Path, bytes]]:
        """Return the files of a store that are rewritten as a whole, with their new content."""
        workspace = self._workspace
        match store:
            case "memory" | "journal" | "history" | "vectors" | "index" | "synced index":
                return ()  # these are handled separately
            case "review":
                return self._review.without(self.words.occur_in)
            case "map":
                return (
                    (path, b"") for path in workspace.private.glob("map.*") if path.stat().st_size
                )
            case "merged":
                return _without(workspace.merged, self.words)
            case "checkpoints":
                folders = workspace.checkpoints.glob("*/files")
                return chain.from_iterable(_without(folder, self.words) for folder in folders)
            case "sessions":
                return conversations(workspace.sessions, self.words, self.purging.cited, stack)
            case "prompts":
                said = cited_texts(workspace.sessions, self.words, self.purging.cited)
                return prompts(config.state_dir() / "prompts", self.words, set(said) - {""})
            case _:
                raise AssertionError(f"no purge reaches the store {store!r}")

    def reworded(self, write: Write) -> Write:
        """Return a write in the form that the journal may keep."""
        words = self.words
        may_quote = write.action in ("amend", "refuse", "undo")
        quotes = may_quote and words.occur_in(write.text)
        if quotes or any(map(words.are, [write.text, *write.text.split("\n")])):
            return write.scrubbed()
        if any(e.removed in self.images or words.occur_in(e.inserted) for e in write.edits):
            return reword(write, edits=(), purged=True, held=None, below="")
        below = "" if words.occur_in(write.below) else write.below
        held = write.held
        if held and words.occur_in(held.replaced_text):
            held = replace(held, replaced_text="")
        edits = tuple(map(words.without_digests, write.edits))
        return reword(write, edits=edits, held=held, below=below)


def _without(folder: Path, words: Words) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of a folder that contain the text, with their new content."""
    for path in sorted(folder.glob("*")):
        text = path.read_bytes().decode("utf-8", "replace")
        if (kept := words.without(text)) != text:
            yield path, kept.encode()


def _without_notes(draft: Draft, plan: _Plan) -> Iterator[Edit]:
    """Remove the text from notes such as `(superseded DATE: text)`; yield the edits."""
    for source, _ in draft.texts():
        for note in map(naming_successor, plan.words.escaped):
            while match := note.search(text := draft.text(source)):
                plan.replaced.add(f"{source}:{breaks_in(text[: match.start()]) + 1}")
                yield draft.edit(source, Splice(match.start(), match[0], f"{match[1]})"))


# The facts, in every known wording


def wordings(
    passages: Sequence[Passage], past: Sequence[str], journal: Journal, draft: Draft
) -> tuple[str, ...]:
    """Return the facts of passages and `past` ones, in every wording in the journal."""
    facts = [*(passage.plain for passage in passages), *past]
    for passage in passages:
        facts += (write.text for write in _before(passage, journal, draft))
    words = Words(facts)
    facts += (write.text for write in journal.acknowledged() if words.are(write.text))
    return tuple(dict.fromkeys(fact for fact in facts if fact))


def cited(words: Words, journal: Journal) -> dict[str, tuple[str, ...]]:
    """Return the entries of sessions that the facts were captured from."""
    entries: dict[str, tuple[str, ...]] = {}
    for write in journal.acknowledged():
        session = write.origin.session
        if session and words.are(write.text):
            entries[session] = (*entries.get(session, ()), *write.origin.entries)
    return entries


def _before(passage: Passage, journal: Journal, draft: Draft) -> Iterator[Write]:
    """Yield the writes whose fact the passage may be, reworded by its owner.

    Their facts are in no file any more, and are similar, or were below the same line.
    """
    if journal.adding(passage.plain):
        return
    text = draft.text(passage.source)
    above, _ = neighbours(text, passage.start_char, passage.end_char)
    for write in journal.acknowledged():
        edit = write.added
        if edit is None or edit.source != passage.source:
            continue
        is_near = edit.above[:1] == above[:1] or _is_like(write.text, passage.plain)
        if is_near and line_stating(text, passage.source, write.text) is None:
            yield write


def _is_like(one: str, other: str) -> bool:
    if set(fact_key(one).split()).isdisjoint(fact_key(other).split()):
        return False
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= ALIKE
