"""The owner's notes, searched in place: a folder of markdown and documents, or an Obsidian vault.

Nothing is ever written there. Other files are left out: Obsidian's own, its trash, templates,
canvases, and conflict copies left by syncing.
"""

import json
import os
import re
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from wcmatch import glob

from assistant import documents
from assistant.disk import storage
from assistant.errors import StorageError
from assistant.memory.base import Passage
from assistant.memory.index.corpus import decoded
from assistant.memory.sources import obsidian
from assistant.settings.sections import SourceSettings
from assistant.workspace.folder import (
    ALWAYS_FILES,
    INDEXED_FILES,
    Survey,
    Workspace,
    identity,
    original_of,
)

_FLAGS = glob.GLOBSTAR | glob.BRACE | glob.FORCEUNIX | glob.IGNORECASE
ENDINGS = (".md", ".markdown", *documents.SUFFIXES)
_NOT_UTF8 = re.compile("[\ud800-\udfff]")
TEMPLATES = frozenset({"templates", "_templates"})
"""Folders of templates, in addition to those in the vault's settings."""


class Notes:
    """The notes of a configured source: a `Corpus`."""

    def __init__(self, workspace: Workspace, source: SourceSettings) -> None:
        self.workspace = workspace
        self.source = source
        self.root = source.folder
        self.private = workspace.private
        self.index = workspace.index / "notes" / source.name
        """In the workspace: nothing is written to the notes' folder."""
        self.identity = self.index
        """Another workspace may have the same notes."""

    def absence(self) -> str:
        """Return why the notes cannot be read: an unmounted disk leaves no folder, or an empty
        one."""
        try:
            with os.scandir(self.root) as entries:
                return "" if any(entries) else f"has nothing in {self.root}"
        except OSError as error:
            return f"cannot be read at {self.root} ({error.strerror})"

    def cited(self, passage: Passage) -> Passage | None:
        """Return the passage cited by source and note. If the source is unavailable, all of its
        notes count as existing."""
        try:
            (self.root / passage.source).lstat()
        except (FileNotFoundError, NotADirectoryError):
            if not self.absence():
                return None
        except OSError:
            pass  # its folder cannot be read
        return replace(passage, source=f"{self.source.name}:{passage.source}")

    def survey(self) -> Survey:
        """List the notes. Links to folders are followed; each folder is visited once.

        The workspace's own memory files are left out if it is inside the folder.
        """
        result = Survey()
        templates = self._templates()
        own, visited = identity(self.workspace.root), {identity(self.workspace.root / "memory")}

        def unreadable(error: OSError) -> None:
            if name := self._name(error.filename):
                result.odd[name] = f"cannot be read: {error.strerror}"

        pending = [str(self.root)]
        while pending:  # links to folders come last, so notes are named by their real paths
            for directory, folders, names in os.walk(pending.pop(), onerror=unreadable):
                name, folder = self._name(directory), identity(Path(directory))
                is_left_out = name.casefold() in templates or self._excluded.match(f"{name}/")
                is_new = folder not in visited
                visited.add(folder)
                if not is_new or (name and is_left_out):
                    folders.clear()
                    continue
                folders[:] = filter(_is_visible, folders)
                pending += filter(os.path.islink, (f"{directory}/{child}" for child in folders))
                ours = (*ALWAYS_FILES, *INDEXED_FILES) if folder == own else ()
                for path in (f"{directory}/{file}" for file in names if file not in ours):
                    if self._is_note(note := self._name(path)) and Path(path).is_file():
                        result.sources.append(note)
        result.sources.sort()
        return result

    def _name(self, path: str) -> str:
        """Return the name of a path below the root; empty for the root."""
        return path.removeprefix(str(self.root)).lstrip("/")

    def _is_note(self, name: str) -> bool:
        is_text = name.casefold().endswith(ENDINGS) and _is_visible(name.rpartition("/")[2])
        if not is_text or original_of(name):
            return False
        is_included = not self.source.include or self._included.match(name)
        return is_included and not self._excluded.match(name)

    @cached_property
    def _included(self) -> "glob.WcMatcher[str]":
        return _matcher(self.source.include)

    @cached_property
    def _excluded(self) -> "glob.WcMatcher[str]":
        return _matcher(self.source.exclude)

    def _templates(self) -> frozenset[str]:
        """Return the template folders, folded, relative to the root."""
        settings = self.root / ".obsidian"
        templater = settings / "plugins" / "templater-obsidian" / "data.json"
        named = (
            _setting(settings / "templates.json", "folder"),
            _setting(templater, "templates_folder"),
        )
        return TEMPLATES | {name.strip("/").casefold() for name in named if name.strip("/")}


def text(name: str, data: bytes) -> str:
    """Return the text of a note with its comments blanked out, or of a document. Raises ValueError
    if it has none."""
    if documents.format_of(data):
        try:
            return documents.as_markdown(data)[1]
        except ValueError as error:
            raise ValueError(f"cannot be read: {error}") from error
    return obsidian.without_comments(decoded(name, data))


def _is_visible(name: str) -> bool:
    """Return whether an entry is not hidden and its name is UTF-8."""
    return not name.startswith(".") and not _NOT_UTF8.search(name)


def _matcher(patterns: tuple[str, ...]) -> "glob.WcMatcher[str]":
    """Compile these globs; one that matches a folder matches everything in it."""
    globs: list[str] = []
    for pattern in patterns:
        bare = pattern.removeprefix("./").strip("/")
        anywhere = bare if "/" in bare else f"**/{bare}"
        globs += [anywhere, f"{anywhere}/", f"{anywhere}/**"]
    return glob.compile(globs, flags=_FLAGS)


def _setting(path: Path, key: str) -> str:
    """Return a string from one of Obsidian's JSON files; empty if it cannot be read."""
    try:
        values: Any = json.loads(storage.read(path))
    except (FileNotFoundError, StorageError, ValueError):
        return ""
    value = values.get(key) if isinstance(values, dict) else None
    return value if isinstance(value, str) else ""
