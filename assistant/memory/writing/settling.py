"""What a dead writer began is settled from the files: done, or void.

A file is replaced at once, so it shows all of a write's edits or none. What a write over several
files had not come to is made where its place has not changed.
"""

from collections.abc import Sequence

from assistant import storage
from assistant.memory.text.lines import LINES
from assistant.memory.writing.draft import Draft
from assistant.memory.writing.markup.items import Splice
from assistant.memory.writing.record.images import Images
from assistant.memory.writing.record.journal import Journal
from assistant.memory.writing.record.writes import Edit
from assistant.workspace import Workspace


def settle(workspace: Workspace, journal: Journal, images: Images) -> None:
    """Settle every write that was begun and not acknowledged; the ledger's lock must be held.

    Raises StorageError.
    """
    pending = journal.pending()
    draft = Draft(workspace)
    shown = {}
    for source in {edit.source for write in pending for edit in write.edits}:
        storage.sweep(workspace.root / source)
        edits = [edit for write in pending for edit in write.edits if edit.source == source]
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


def _complete(draft: Draft, images: Images, edits: Sequence[Edit]) -> None:
    """Make the rest of a write over several files, where its place has not changed."""
    for edit in edits:
        removed = images.read(edit.removed) if edit.removed else None
        text = draft.text(edit.source)
        if removed and text.count(removed) == 1:
            draft.edit(edit.source, Splice(text.index(removed), removed, edit.inserted))
    draft.save()
