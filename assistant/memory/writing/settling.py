"""What a dead writer began is settled from the files: done, or void.

A file is replaced at once, so it shows all of a write's edits or none; one that had to be written
into (it has other names) may be torn, and is completed from the copy beside it. What a write over
several files had not come to is made where its place has not changed.
"""

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from assistant.disk import storage
from assistant.memory.text.identity import digest
from assistant.memory.text.markdown import LINES
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.markup.items import Splice
from assistant.memory.writing.record.images import Images
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.record.writes import Edit
from assistant.workspace.folder import Workspace


def settle(workspace: Workspace, journal: Journal, images: Images) -> None:
    """Settle every write that was begun and not acknowledged; the ledger's lock must be held.

    Raises StorageError.
    """
    pending = journal.pending()
    draft = Draft(workspace)
    shown = {}
    for source in {edit.source for write in pending for edit in write.edits}:
        edits = [edit for write in pending for edit in write.edits if edit.source == source]
        _mend(workspace.root / source, edits, images)
        storage.sweep(workspace.root / source)
        removed = images.read(edits[-1].removed) if edits[-1].removed else ""
        shown[source] = applied(draft, edits, removed or "")
    done = [write for write in pending if any(shown[edit.source] for edit in write.edits)]
    for write in done:
        _complete(draft, images, [edit for edit in write.edits if not shown[edit.source]])
    void = [write.id for write in pending if write not in done]
    journal.settle([write.id for write in done], void)


def applied(draft: Draft, edits: Sequence[Edit], removed: str) -> bool:
    """Whether a file shows these edits of it as made: all of them, or none.

    A file changed since is judged by the lines of the last edit; `removed` is what that removed.
    """
    source = edits[-1].source
    if draft.digest(source) == edits[-1].after:
        return True
    if draft.digest(source) == edits[0].before:
        return False
    text = draft.text(source)
    lines = [line.strip() for line in LINES.findall(edits[-1].inserted)]
    if lines:
        return lines[-1] in {line.strip() for line in LINES.findall(text)}
    return removed not in text


def _mend(path: Path, edits: Sequence[Edit], images: Images) -> None:
    """Complete a file that a dead writer was writing into, if that is what it holds."""
    there = storage.held(path)
    for left in storage.leftovers(path):
        new = left.read_bytes()
        old = _before(new, edits, images)
        if old is None or there in (old, new):
            continue
        alike = (one == other for one, other in zip(there, new, strict=False))
        head = sum(1 for _ in takewhile(bool, alike))
        if there[head:] == old[head:]:
            with storage.reported("written", path):
                storage.overwrite(path, new, there)


def _before(new: bytes, edits: Sequence[Edit], images: Images) -> bytes | None:
    """What a file held before these edits, if they made of it these bytes."""
    text = new.decode("utf-8", "replace")
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(bom)
    if digest(text) != edits[-1].after:
        return None
    for edit in reversed(edits):
        removed = images.read(edit.removed) if edit.removed else ""
        text = Splice(edit.at, removed or "", edit.inserted).reverse(text)
    return (bom + text).encode()


def _complete(draft: Draft, images: Images, edits: Sequence[Edit]) -> None:
    """Make the rest of a write over several files, where its place has not changed."""
    for edit in edits:
        removed = images.read(edit.removed) if edit.removed else ""
        text = draft.text(edit.source)
        if removed is not None and draft.digest(edit.source) == edit.before:
            draft.edit(edit.source, Splice(edit.at, removed, edit.inserted))
        elif removed and text.count(removed) == 1:
            draft.edit(edit.source, Splice(text.index(removed), removed, edit.inserted))
    draft.save()
