"""`forget --purge`: one conductor for every store that holds a fact's words (`stores.py`).

Its plan is pure: what each store shall hold is worked out, and written beside what it holds, before
anything is changed, so that whatever may refuse (an open session, a full disk, a file that is open
elsewhere) refuses in time. Then the purge is put down in the journal, words and all, and stays
there until it is done: whoever dies on the way, the next owner of the index finishes it. The
journal itself comes last.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from difflib import SequenceMatcher
from functools import partial
from itertools import chain
from pathlib import Path

from msgspec.structs import replace as reword

from assistant import config
from assistant.disk import storage
from assistant.errors import AssistantError, LedgerError, StorageError
from assistant.memory.base import Forgotten, Passage, check_wanted
from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import (
    line_digest,
    lines_above,
    naming_successor,
)
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.edits import line_stating, removals
from assistant.memory.writing.images import Images
from assistant.memory.writing.journal import Edit, Journal, Purging, Write, new_id, now
from assistant.memory.writing.ledger import Ledger
from assistant.memory.writing.markup import Splice
from assistant.memory.writing.remains import conversations, prompts, remains
from assistant.memory.writing.review import Review
from assistant.memory.writing.transaction import Change, Commits
from assistant.memory.writing.words import Words
from assistant.workspace.stores import STORES, Store, killed_writes

ALIKE = 0.6
"""From this share of common characters on, a fact that stands nowhere may have become this one."""


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
        """`scrub_index` leaves no byte in the index of what the files no longer hold. `notes` are
        folders that are searched as well when it is done."""
        self._notes = notes
        self._commits = ledger.commits
        self._ledger = ledger
        self._journal = ledger.commits.journal
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
        """Take facts out of every store: those of passages, and `past` ones that no file holds.

        `sessions` are gone through if that is asked for. Raises, with nothing changed, LedgerError
        if a file no longer holds the bytes of a passage, SessionError if a session that must change
        is open, and StorageError. An error that comes later leaves the purge to be finished.
        """
        with self._alone():
            check_wanted()
            self._tidy_up()
            if done := self._journal.of_request(request).get(0):
                return Forgotten(done.id, tuple(passages), done.purged)
            facts = wordings(passages, past, self._journal, Draft(self._commits.workspace))
            entries = cited(Words(facts), self._journal)
            name = request or new_id()
            purging = Purging(name, now(), facts, tuple(passages), entries, sessions)
            plan = self._carry_out(purging, resumed=False)
            entry = self._journal.of_request(name)[0].id
        left = remains(self._commits.workspace, plan.words, self._notes, sessions=sessions)
        return Forgotten(entry, tuple(passages), True, plan.cleared(), tuple(left))

    def finish(self) -> None:
        """Finish what was begun and not done. Raises what stands in the way; the rest waits."""
        self._journal.refresh()
        if not self._journal.purges:
            return
        with self._alone():
            self._tidy_up()
            for purging in list(self._journal.purges.values()):
                self._carry_out(purging, resumed=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._review.locked(), self._commits.locked():
            yield

    def _tidy_up(self) -> None:
        """What is damaged goes to the images, where it is found; what killed writes left goes."""
        self._commits.set_aside()
        self._review.set_aside_alone()
        for left in killed_writes(self._commits.workspace):
            left.unlink(missing_ok=True)

    def _carry_out(self, purging: Purging, *, resumed: bool) -> "_Plan":
        with ExitStack() as held:
            plan = _Plan(self._commits, self._review, self._stores, purging, held)
            if not resumed:
                draft = Draft(self._commits.workspace)
                removals(draft, purging.passages, self._journal.has_made_heading)  # or refuse
                self._journal.begin(purging)
            try:
                self._commits.attempt(partial(self._take_out, plan, resumed=resumed))
            except AssistantError:
                begun = self._journal.of_request(purging.id) or self._journal.pending()
                if not (resumed or begun):
                    self._journal.settle((), [purging.id])
                raise
            # nothing can refuse any more: take the words out of all that was kept
            for fresh, target in plan.rewritten:
                with storage.reported("written", target):
                    storage.DISK.rename(fresh, target)
                    storage.sync_directory(target.parent)
            for name in plan.images:
                self._commits.images.drop(name)
            self._scrub_index()
            for journal in self._commits.journals.others():
                journal.rewrite(plan.cleaned)
            self._journal.rewrite(plan.cleaned, purged=purging.id)
            return plan

    def _take_out(self, plan: "_Plan", change: Change, *, resumed: bool) -> None:
        """Remove the passages from their files, and their words from the notes of others.

        What is no longer as it was shown is left, if the purge is `resumed`.
        """
        passages = plan.purging.passages
        gone = partial(removals, change.draft, is_ours=self._journal.has_made_heading)
        edits = _lenient(gone, passages) if resumed else gone(passages)
        edits += _unnamed(change.draft, self._commits.workspace.sources(), plan.words)
        plan.taken_out = bool(edits)
        if edits or not self._journal.of_request(plan.purging.id):
            write = Write(new_id(), now(), "forget", request=plan.purging.id, purged=True)
            kept = tuple(plan.words.unlearnt(replace(edit, removed="")) for edit in edits)
            digests = self._ledger.forgotten.digests(change.draft, passages)
            change.writes.append(reword(write, edits=kept, gone=digests))
        change.draft.images.clear()
        change.verdicts.update(self._ledger.unwatched(passages))


class _Plan:
    """What a purge will do to the stores, none of which it has touched."""

    def __init__(
        self,
        commits: Commits,
        review: Review,
        stores: Sequence[Store],
        purging: Purging,
        held: ExitStack,
    ) -> None:
        """`held` keeps sessions closed and lets temporary files go."""
        self.purging = purging
        self.words = Words(purging.facts, [passage.text for passage in purging.passages])
        self.taken_out = False
        self._commits = commits
        self._review = review
        self._stores = stores
        images = commits.images
        self.images = [name for name in images.names() if self._is_said(images, name)]
        writes = commits.journal.acknowledged()
        self._reworded = any(self.cleaned(write) != write for write in writes)
        wanted = ("always", "sessions") if purging.sessions else ("always",)
        files = {
            store.name: list(self._rewritten(store.name, held))
            for store in stores
            if store.words in wanted
        }
        self._held = {name for name, changed in files.items() if changed}
        self.rewritten = [
            _beside(path, data, held) for path, data in chain.from_iterable(files.values())
        ]

    def _is_said(self, images: Images, name: str) -> bool:
        """Whether an image holds what must go, or may: nobody can tell of a damaged one."""
        try:
            return self.words.stand_in(images.read(name) or "")
        except StorageError:
            return True

    def _rewritten(self, store: str, held: ExitStack) -> Iterable[tuple[Path, bytes]]:
        """The files of a store that get another content as a whole."""
        place = self._commits.workspace
        match store:
            case "memory" | "journal" | "history" | "vectors":
                return ()  # these have steps of their own
            case "index" | "synced index" | "index in memory":
                return ()  # it scrubs itself
            case "review":
                return self._review.without(self.words.stand_in)
            case "map":
                drawn = place.private.glob("map.*")
                return ((path, b"") for path in drawn if path.stat().st_size)
            case "merged":
                return _without(place.merged, self.words)
            case "checkpoints":
                folders = place.checkpoints.glob("*/files")
                return chain.from_iterable(_without(folder, self.words) for folder in folders)
            case "sessions":
                return conversations(place.sessions, self.words, self.purging.cited, held)
            case "prompts":
                return prompts(config.state_dir() / "prompts", self.words)
            case _:
                raise AssertionError(f"no purge reaches the store {store!r}")

    def cleaned(self, write: Write) -> Write:
        """A write as the journal may keep it."""
        if any(map(self.words.are, [write.text, *write.text.split("\n")])):
            return write.scrubbed()
        stand_in = self.words.stand_in
        if any(edit.removed in self.images or stand_in(edit.inserted) for edit in write.edits):
            return reword(write, edits=(), purged=True)
        return reword(write, edits=tuple(map(self.words.unlearnt, write.edits)))

    def cleared(self) -> tuple[str, ...]:
        """The stores that held something, as `stores.py` names them, but for the index."""
        steps = {
            "memory": self.taken_out,
            "journal": self._reworded,
            "history": bool(self.images),
        }
        return tuple(
            store.name
            for store in self._stores
            if steps.get(store.name) or store.name in self._held
        )


def _without(folder: Path, words: Words) -> Iterator[tuple[Path, bytes]]:
    """The files of a folder that hold the words, and what they shall hold."""
    for path in sorted(folder.glob("*")):
        text = path.read_bytes().decode("utf-8", "replace")
        if (kept := words.without(text)) != text:
            yield path, kept.encode()


def _lenient(
    gone: Callable[[Sequence[Passage]], list[Edit]], passages: Sequence[Passage]
) -> list[Edit]:
    """The removals of those passages that still stand."""
    edits = []
    for passage in sorted(passages, key=lambda each: each.start_char, reverse=True):
        try:
            edits += gone([passage])
        except LedgerError:
            continue  # it went before, or its owner has changed it since
    return edits


def _unnamed(draft: Draft, sources: Sequence[str], words: Words) -> list[Edit]:
    """The edits that take the words out of the notes `(superseded DATE: words)`."""
    edits = []
    for source in sources:
        for form in words.escaped:
            note = naming_successor(form)
            while draft.is_text(source) and (there := note.search(draft.text(source))):
                splice = Splice(there.start(), there[0], f"{there[1]})")
                edits.append(draft.edit(source, splice))
    return edits


def _beside(path: Path, data: bytes, held: ExitStack) -> tuple[Path, Path]:
    """A file's new content, written beside it until `held` is closed, and the file."""
    target = path.resolve()
    with storage.reported("written", path):
        fresh, _ = storage.beside(target, data)
    held.callback(fresh.unlink, missing_ok=True)
    return fresh, target


def wordings(
    passages: Sequence[Passage], past: Sequence[str], journal: Journal, draft: Draft
) -> tuple[str, ...]:
    """The facts of passages and `past` ones, in every wording that the journal knows."""
    facts = [*(passage.plain for passage in passages), *past]
    for passage in passages:
        facts += (write.text for write in _before(passage, journal, draft))
    words = Words(facts)
    facts += (write.text for write in journal.acknowledged() if words.are(write.text))
    return tuple(dict.fromkeys(fact for fact in facts if fact))


def cited(words: Words, journal: Journal) -> dict[str, tuple[str, ...]]:
    """The entries of sessions that the facts were taken from."""
    entries: dict[str, tuple[str, ...]] = {}
    for write in journal.acknowledged():
        session = write.origin.session
        if session and words.are(write.text):
            entries[session] = (*entries.get(session, ()), *write.origin.entries)
    return entries


def _before(passage: Passage, journal: Journal, draft: Draft) -> Iterator[Write]:
    """The writes whose fact the passage may have been, before its owner reworded it.

    Their facts stand nowhere any more, and are like it, or stood below the line that it does.
    """
    said, text = passage.plain, draft.text(passage.source)
    if journal.adding(said):
        return
    above = tuple(line_digest(line) for line in lines_above(text, passage.start_char))[:1]
    for write in journal.acknowledged():
        edit = write.added
        if edit is None or edit.source != passage.source:
            continue
        near = edit.above[:1] == above or _is_like(write.text, said)
        if near and line_stating(text, passage.source, write.text) is None:
            yield write


def _is_like(one: str, other: str) -> bool:
    shared = set(fact_key(one).split()) & set(fact_key(other).split())
    if not shared:
        return False
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= ALIKE
