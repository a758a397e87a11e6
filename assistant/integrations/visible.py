"""Determines which files of a workspace another program may see, and under which name it writes.

An untrusted workspace shows nothing, as in a chat. The owner's rules for a model's tools apply, and
secrets are replaced with their placeholders.
"""

import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assistant import config
from assistant.disk import storage
from assistant.errors import UsageError, WorkspaceError
from assistant.memory.base import Passage
from assistant.memory.text.identity import spelled_as
from assistant.quoting import one_line, uncommented
from assistant.workspace import project, trust
from assistant.workspace.folder import ALWAYS_FILES, Workspace, read_text

if TYPE_CHECKING:
    from assistant.settings.tree import Settings
    from assistant.tools.files.access import Roots

READING, RECALLING = "read_file", "recall"
"""The tools of a chat whose rules apply here."""
SCHEME = "memory://"
"""The scheme of a file's URI, before its name."""
QUERY_LENGTH = 20_000
"""Maximum characters of a query; embedding models read fewer."""
NAME_LENGTH = 40
"""Maximum characters of a program's name."""
_CITATION = re.compile(
    r"(?P<name>.*?)(?::(?P<first>\d{1,9})(?P<range>-(?P<last>\d{1,9})?)?)?", re.DOTALL
)


class VisibleFiles:
    """The files of a workspace that another program, working in `directory`, may see."""

    def __init__(self, workspace: Workspace, directory: Path | None = None) -> None:
        self.workspace = workspace
        self._directory = directory

    @property
    def is_open(self) -> bool:
        """Whether anything may be shown."""
        return trust.is_trusted(self.workspace)

    def check_open(self) -> None:
        """Raise WorkspaceError if the workspace is missing or not trusted."""
        if not self.workspace.root.is_dir():
            raise WorkspaceError(
                f"there is no workspace at {self.workspace.root}",
                "If it was moved, connect this program again",
            )
        if not self.is_open:
            raise WorkspaceError(
                f"the workspace {self.workspace.root} is not trusted, so none of it is shown",
                "Its owner can run `assistant trust`",
            )

    def shown(self, passages: Iterable[Passage]) -> tuple[Passage, ...]:
        """Return the passages of visible files, without those of other projects."""
        from assistant.memory.text import headings  # not needed for the first answer

        own = self._project
        return tuple(
            passage
            for passage in passages
            if self._may_see(passage.source, RECALLING)
            and headings.concerns_project(passage.heading, own)
        )

    def names(self) -> list[str]:
        """Return the visible files; none of an untrusted workspace."""
        if not self.is_open:
            return []
        root = self.workspace.root
        always = [name for name in ALWAYS_FILES if (root / name).is_file()]
        return [
            name for name in (*always, *self.workspace.sources()) if self._may_see(name, READING)
        ]

    def text(self, name: str) -> str:
        """Return the text of a file without secrets; comments and facts of other projects become
        empty lines.

        Raises UsageError for a file that is not visible, WorkspaceError, StorageError.
        """
        self.check_open()
        existing = spelled_as(self._bare(name), self.names())
        text = read_text(self.workspace.root / existing) if existing else self._note(name)
        if text is None:
            raise UsageError(
                f"there is no file {name[:200]!r} in this memory",
                f"Available: {', '.join(self.names())}",
            )
        from assistant.memory.text import headings  # not needed for the first answer
        from assistant.memory.text.markdown import BREAKS
        from assistant.secrets.registered import redactor  # takes 30 ms

        own = self._project
        text = BREAKS.sub("\n", text)
        lines = uncommented(text, keep_lines=True).split("\n")
        headed = zip(lines, headings.heading_paths(text), strict=True)
        shown = (line if headings.concerns_project(path, own) else "" for line, path in headed)
        return redactor().redact("\n".join(shown))

    def _bare(self, name: str) -> str:
        """Return a file's name in the workspace, from its URI or path."""
        return name.removeprefix(SCHEME).removeprefix(f"{self.workspace.root}/").removeprefix("./")

    def _note(self, name: str) -> str | None:
        """Return the text of a note, named as recall cites it (`SOURCE:Folder/Note.md`)."""
        from assistant.memory.sources import notes as sources  # not needed for the first answer

        source, _, note = name.partition(":")
        for settings in self._settings.sources if note else ():
            notes = sources.Notes(self.workspace, settings)
            path = spelled_as(note, notes.survey().sources) if settings.name == source else None
            if path and self._may_see(f"{source}:{path}", READING):
                try:
                    return sources.text(path, storage.read(notes.root / path))
                except ValueError as error:
                    raise UsageError(f"{name} {error}") from error
        return None

    def _may_see(self, source: str, tool: str) -> bool:
        return not (self._has_rules and self._roots.denies(tool, source))

    @cached_property
    def _project(self) -> tuple[str, ...]:
        """The addresses of the project that the program works in."""
        return project.addresses(self._directory)

    @cached_property
    def _has_rules(self) -> bool:
        """Whether any rule denies something; otherwise the rules need not be loaded."""
        return bool((config.load().get("policy") or {}).get("deny"))

    @cached_property
    def _settings(self) -> "Settings":
        from assistant.settings import tree as settings  # not needed for the first answer

        return settings.validate(config.load())

    @cached_property
    def _roots(self) -> "Roots":
        from assistant.tools.files.access import Roots  # not needed for the first answer

        return Roots(self.workspace, (), self._settings.policy, notes=self._settings.notes)


def parsed_citation(citation: str) -> tuple[str, int, int | None]:
    """Return the file of `FILE`, `FILE:LINE`, `FILE:FROM-TO` or `FILE:FROM-`, its first line and
    its last; None for the last line of the file."""
    match = _CITATION.fullmatch(citation)
    if match is None:
        return citation, 1, None
    first = int(match["first"] or 1)
    last = match["last"] if match["range"] else match["first"]
    return match["name"], first, int(last) if last else None


def label(name: str) -> str:
    """Return the name that a program gives itself, as one short word."""
    word = re.sub(r"[^\w.@+-]+", "-", one_line(name[: 4 * NAME_LENGTH])).strip("-.")
    return word[:NAME_LENGTH] or "unnamed"
