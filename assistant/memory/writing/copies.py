"""Merges the conflict copies of memory files that syncing left into the files.

A merged copy is moved to `.assistant/merged`, since `undo` only reverses the change of the file.
"""

import heapq
from collections.abc import Sequence
from itertools import chain, count

from assistant.disk import storage
from assistant.errors import StorageError
from assistant.memory.base import Origin
from assistant.memory.text.conflict_marks import conflict_in
from assistant.memory.text.identity import fact_key
from assistant.memory.text.merge import CopyMerge, added, merge_copy
from assistant.memory.writing.stale_saves import ForgottenLines, SavedText
from assistant.memory.writing.transaction import Commits
from assistant.workspace.folder import Workspace

ORIGIN = Origin("merge")


class Copies:
    """The conflict copies of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._commits = Commits(workspace)
        self._forgotten_lines = ForgottenLines(workspace, self._commits.journal)

    def plan(self) -> list[CopyMerge]:
        """Plan the merge of each copy, in sequence; for an unreadable copy, the fault.

        Raises StorageError for a file that cannot be read.
        """
        written, forgotten = self._history()
        texts: dict[str, str] = {}
        merges = []
        for copy, source in self._workspace.copies().items():
            before = texts.get(source, self._workspace.text(source))
            text, fault = self._copied(copy)
            if fault:
                merges.append(CopyMerge(copy, source, before, before, fault=fault))
                continue
            purged = self._forgotten_lines.returned([(source, text)])
            keys = {fact_key(line.text) for line in purged}
            merged, left_out = merge_copy(before, text, forgotten | keys)
            after = merged if before.strip() else text
            texts[source] = after
            doubtful = tuple(line for key, line in added(before, after).items() if key in written)
            merges.append(CopyMerge(copy, source, before, after, tuple(left_out), doubtful))
        return merges

    def take_in(self, merges: Sequence[CopyMerge]) -> None:
        """Carry out the plan as one write. Raises LedgerError if a file has changed."""
        texts: dict[str, tuple[str, str]] = {}
        for merge in merges:
            first, _ = texts.get(merge.source, (merge.before, ""))
            texts[merge.source] = first, merge.after
        if changed := {source: both for source, both in texts.items() if both[0] != both[1]}:
            self._commits.replace(changed, ORIGIN)
        for merge in merges:
            if not merge.fault:
                self._move_away(merge.copy)

    def note_merge(self, source: str, versions: Sequence[str], merged: str) -> None:
        """Record that a merge deliberately left out the facts of these versions of a file that it
        lacks: one side had deleted them."""
        with self._commits.locked():
            journal = self._commits.journal
            written = [record for record in journal.of_file(source) if record.adds]
            missing = SavedText(merged, source, journal).lacks(written)
            unknown = missing
            for version in versions:
                unknown = SavedText(version, source, journal).lacks(unknown)
            ids = [record.write.id for record in missing if record not in unknown]
            journal.settle(verdicts=dict.fromkeys(ids, "deleted"))

    def _move_away(self, copy: str) -> None:
        target = storage.private_directory(self._workspace.merged) / copy.replace("/", "%")
        numbered = (target.with_name(f"{target.name}.{number}") for number in count(1))
        free = next(path for path in chain([target], numbered) if not path.exists())
        with storage.reported("moved", free):
            (self._workspace.root / copy).rename(free)

    def _copied(self, copy: str) -> tuple[str, str]:
        """Return the text of a copy, and its fault."""
        try:
            text = self._workspace.text(copy)
        except StorageError as error:
            return "", str(error)
        if line := conflict_in(text):
            return "", f"line {line} is a merge conflict marker. Resolve it, or delete the copy"
        return text, ""

    def _history(self) -> tuple[set[str], set[str]]:
        """Return the keys of facts that were written here, and of those that any machine has
        forgotten since they were written."""
        own, others = self._commits.journals.own, self._commits.journals.others()
        own.refresh()
        records = (journal.records.values() for journal in (own, *others))
        written: set[str] = set()
        forgotten: set[str] = set()
        for record in heapq.merge(*records, key=lambda record: record.write.time):
            keys = {fact_key(line) for line in record.write.text.split("\n") if line}
            if record.state != "done" or record.write.action in ("undo", "refuse"):
                continue
            if record.write.action != "forget":
                written |= keys if record.write.id in own.records else set()
                forgotten -= keys
            elif not record.undone:
                forgotten |= keys
        return written, forgotten
