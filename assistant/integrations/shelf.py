"""Which files of a workspace another program may see, and under whose name it writes.

A workspace that the owner does not trust shows nothing, as in a chat; what the owner's rules deny
to a model's tools is denied here, and secrets are shown as their stand-ins.
"""

import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assistant import config
from assistant.errors import UsageError, WorkspaceError
from assistant.memory.base import Passage
from assistant.memory.text.identity import spelled_as
from assistant.quoting import one_line
from assistant.workspace import project, trust
from assistant.workspace.folder import ALWAYS_FILES, Workspace, read_text

if TYPE_CHECKING:
    from assistant.settings.tree import Settings
    from assistant.tools.files.access import Roots

READING, RECALLING = "read_file", "recall"
"""The tools of a chat whose rules hold here."""
SCHEME = "memory://"
"""How the URI of a file begins; what follows is its name."""
QUERY_LENGTH = 20_000
"""Characters of a question; no model of meaning reads so many."""
NAME_LENGTH = 40
"""Characters of a program's name that are kept."""
_PLACE = re.compile(
    r"(?P<name>.*?)(?::(?P<first>\d{1,9})(?P<range>-(?P<last>\d{1,9})?)?)?", re.DOTALL
)


class Shelf:
    """The files of a workspace as another program may see them."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    @property
    def is_open(self) -> bool:
        """Whether anything may be shown."""
        return trust.is_trusted(self.workspace)

    def check_open(self) -> None:
        """Raise WorkspaceError if nothing may be shown, or there is nothing."""
        if not self.workspace.root.is_dir():
            raise WorkspaceError(
                f"the workspace {self.workspace.root} is not there",
                "If it was moved, connect this program to its new place",
            )
        if not self.is_open:
            raise WorkspaceError(
                f"the workspace {self.workspace.root} is not trusted, so none of it is shown",
                "Its owner can run `assistant trust`",
            )

    def shown(self, passages: Iterable[Passage]) -> tuple[Passage, ...]:
        """The passages whose files may be seen, without those of other projects."""
        own = project.current()
        return tuple(
            passage
            for passage in passages
            if self._may_see(passage.source, RECALLING) and project.concerns(passage.heading, own)
        )

    def names(self) -> list[str]:
        """The files there are to read; none of a workspace that is not trusted."""
        if not self.is_open:
            return []
        root = self.workspace.root
        always = [name for name in ALWAYS_FILES if (root / name).is_file()]
        return [
            name for name in (*always, *self.workspace.sources()) if self._may_see(name, READING)
        ]

    def text(self, name: str) -> str:
        """What a file says, its secrets as their stand-ins.

        Raises UsageError for a file that is not among them, WorkspaceError, StorageError.
        """
        self.check_open()
        own = spelled_as(self._bare(name), self.names())
        path = self.workspace.root / own if own else self._note(name)
        if path is None:
            raise UsageError(
                f"there is no {name[:200]!r} in this memory", f"There are {', '.join(self.names())}"
            )
        from assistant.secrets.current import redactor  # 30 ms

        return redactor().redact(read_text(path))

    def _bare(self, name: str) -> str:
        """A file's name in the workspace, of its URI or path."""
        return name.removeprefix(SCHEME).removeprefix(f"{self.workspace.root}/").removeprefix("./")

    def _note(self, name: str) -> Path | None:
        """The file of a note of the owner's, named as recall cites it (`SOURCE:Folder/Note.md`)."""
        from assistant.memory.sources.notes import Notes  # behind the first answer

        source, _, note = name.partition(":")
        for settings in self._settings.sources if note else ():
            notes = Notes(self.workspace, settings)
            there = spelled_as(note, notes.survey().sources) if settings.name == source else None
            if there and self._may_see(f"{source}:{there}", READING):
                return notes.root / there
        return None

    def _may_see(self, source: str, tool: str) -> bool:
        return not (self._has_rules and self._roots.denies(tool, source))

    @cached_property
    def _has_rules(self) -> bool:
        """Whether the owner denies anything; if not, what reads rules need not be loaded."""
        return bool((config.load().get("policy") or {}).get("deny"))

    @cached_property
    def _settings(self) -> "Settings":
        from assistant.settings import tree as settings  # behind the first answer

        return settings.validate(config.load())

    @cached_property
    def _roots(self) -> "Roots":
        from assistant.tools.files.access import Roots  # behind the first answer

        return Roots(self.workspace, (), self._settings.policy, notes=self._settings.notes)


def lines_of(citation: str) -> tuple[str, int, int | None]:
    """The file that `FILE`, `FILE:LINE`, `FILE:FROM-TO` or `FILE:FROM-` names, and its first and
    last line; no last one where it is the file's."""
    found = _PLACE.fullmatch(citation)
    if found is None:
        return citation, 1, None
    first = int(found["first"] or 1)
    last = found["last"] if found["range"] else found["first"]
    return found["name"], first, int(last) if last else None


def label(name: str) -> str:
    """The name that a program gives itself, as one short word that passes for nothing else."""
    word = re.sub(r"[^\w.@+-]+", "-", one_line(name[: 4 * NAME_LENGTH])).strip("-.")
    return word[:NAME_LENGTH] or "unnamed"
