"""The copies that syncing left of memory files: what they have more, taken into the files.

A copy that was taken in is kept out of the way, in `.assistant/merged`, since undo reverses the
change of the file alone.
"""

from collections.abc import Sequence
from itertools import chain, count

from assistant.disk import storage
from assistant.errors import StorageError
from assistant.memory.base import Origin
from assistant.memory.text.conflict_marks import conflict_in
from assistant.memory.text.identity import fact_key
from assistant.memory.text.merge import CopyMerge, added, taken_in
from assistant.memory.writing.transaction import Commits
from assistant.workspace.folder import Workspace, read_text

ORIGIN = Origin("merge")


class Copies:
    """The conflict copies of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._commits = Commits(workspace)

    def plan(self) -> list[CopyMerge]:
        """What would be done, a copy each, one built on the other. Raises StorageError for a file
        that cannot be read; of a copy that cannot, why."""
        written, forgotten = self._written()
        texts: dict[str, str] = {}
        found = []
        for copy, source in self._workspace.copies().items():
            before = texts.get(source, self._text(source))
            text, fault = self._copied(copy)
            if fault:
                found.append(CopyMerge(copy, source, before, before, fault=fault))
                continue
            after, left = taken_in(before, text, forgotten)
            texts[source] = after if before.strip() else text
            more = added(before, texts[source])
            doubtful = tuple(told for key, told in more.items() if key in written)
            found.append(CopyMerge(copy, source, before, texts[source], tuple(left), doubtful))
        return found

    def take_in(self, planned: Sequence[CopyMerge]) -> None:
        """Do what was planned, as one write. Raises LedgerError if a file changed meanwhile."""
        first: dict[str, str] = {}
        last: dict[str, str] = {}
        for each in planned:
            first.setdefault(each.source, each.before)
            last[each.source] = each.after
        changed = {
            source: (first[source], text) for source, text in last.items() if text != first[source]
        }
        if changed:
            self._commits.replace(changed, ORIGIN)
        for each in planned:
            if not each.fault:
                self._put_aside(each.copy)

    def _put_aside(self, copy: str) -> None:
        aside = storage.private_directory(self._workspace.merged) / copy.replace("/", "%")
        names = (aside.with_name(f"{aside.name}.{number}") for number in count(1))
        free = next(path for path in chain([aside], names) if not path.exists())
        with storage.reported("moved", free):
            (self._workspace.root / copy).rename(free)

    def _copied(self, copy: str) -> tuple[str, str]:
        """The text of a copy, and what is wrong with it."""
        try:
            text = self._text(copy)
        except StorageError as error:
            return "", str(error)
        if line := conflict_in(text):
            return "", f"line {line} marks an unfinished merge. Settle it, or delete the copy"
        return text, ""

    def _text(self, name: str) -> str:
        path = self._workspace.root / name
        return read_text(path) if path.exists() else ""

    def _written(self) -> tuple[set[str], set[str]]:
        """The words of facts that were written here; of those that were forgotten after that."""
        self._commits.journal.refresh()
        there: set[str] = set()
        gone: set[str] = set()
        for record in self._commits.journal.records.values():
            keys = {fact_key(line) for line in record.write.text.split("\n") if line}
            if record.state != "done" or record.write.action == "undo":
                continue
            if record.write.action != "forget":
                there |= keys
                gone -= keys
            elif not record.undone:
                gone |= keys
        return there, gone
