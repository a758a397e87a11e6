"""The owner's notes, searched in place: a folder of markdown and documents, or an Obsidian vault.

Nothing is ever written there. What is not a note is left out: Obsidian's own files, its trash,
templates, canvases, and conflict copies left by syncing.
"""

import json
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from wcmatch import glob

from assistant import documents
from assistant.memory.index.corpus import decoded
from assistant.memory.sources import obsidian
from assistant.settings.sections import SourceSettings
from assistant.workspace.folder import ALWAYS_FILES, INDEXED_FILES, Survey, Workspace, original_of

_FLAGS = glob.GLOBSTAR | glob.BRACE | glob.FORCEUNIX | glob.IGNORECASE
ENDINGS = (".md", ".markdown", *documents.SUFFIXES)
TEMPLATES = frozenset({"templates", "_templates"})
"""Folders of templates, besides those that the vault's settings name."""
NOWHERE = (0, 0)
"""The identity of a folder that cannot be read."""


class Notes:
    """The notes of a source of the configuration: a `Corpus`."""

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
        """Why the notes cannot be read: a disk that is not mounted leaves no folder, or an empty
        one."""
        try:
            with os.scandir(self.root) as entries:
                return "" if any(entries) else f"has nothing in {self.root}"
        except OSError as error:
            return f"cannot be read at {self.root} ({error.strerror})"

    def survey(self) -> Survey:
        """The notes. Links to folders are followed, each folder is visited once.

        The workspace's own memory files are left out, if it is inside the folder.
        """
        found = Survey([], {})
        templates = self._templates()
        folders, links = [""], list[str]()
        own, visited = _identity(self.workspace.root), {_identity(self.workspace.root / "memory")}
        while folders or links:
            folder = (folders or links).pop()
            identity = _identity(self.root / folder)
            if identity in visited and identity != NOWHERE:
                continue
            visited.add(identity)
            if folder and (folder.casefold() in templates or self._excluded.match(f"{folder}/")):
                continue
            for name, entry in _entries(self.root, folder, found):
                kind = _kind(entry)
                if kind == "folder":
                    (links if entry.is_symlink() else folders).append(name)
                elif identity == own and entry.name in (*ALWAYS_FILES, *INDEXED_FILES):
                    continue
                elif kind == "file" and self._is_note(name):
                    found.sources.append(name)
        found.sources.sort()
        return found

    def _is_note(self, name: str) -> bool:
        if not name.casefold().endswith(ENDINGS) or original_of(name):
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
        """The folders of templates, folded, relative to the root."""
        settings = self.root / ".obsidian"
        templater = settings / "plugins" / "templater-obsidian" / "data.json"
        named = (
            _setting(settings / "templates.json", "folder"),
            _setting(templater, "templates_folder"),
        )
        return TEMPLATES | {name.strip("/").casefold() for name in named if name.strip("/")}


def text(name: str, data: bytes) -> str:
    """A note's text, its comments blank, or a document's. Raises ValueError if it has none."""
    if documents.format_of(data):
        try:
            return documents.as_markdown(data)[1]
        except ValueError as error:
            raise ValueError(f"cannot be read: {error}") from error
    return obsidian.without_comments(decoded(name, data))


def _entries(root: Path, folder: str, found: Survey) -> "Iterator[tuple[str, os.DirEntry[str]]]":
    """The entries of a folder that are not hidden, by name below the root."""
    try:
        with os.scandir(root / folder) as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder else entry.name
                if entry.name.startswith("."):
                    continue
                try:
                    name.encode()
                except UnicodeEncodeError:
                    continue
                yield name, entry
    except OSError as error:
        if folder:
            found.odd[folder] = f"cannot be read: {error.strerror}"


def _kind(entry: "os.DirEntry[str]") -> Literal["folder", "file", ""]:
    """The kind of an entry, links followed; empty for a broken link."""
    try:
        return "folder" if entry.is_dir() else "file" if entry.is_file() else ""
    except OSError:
        return ""


def _matcher(patterns: tuple[str, ...]) -> "glob.WcMatcher[str]":
    """Matches these globs; that of a folder matches all that is in it."""
    globs: list[str] = []
    for pattern in patterns:
        bare = pattern.removeprefix("./").strip("/")
        anywhere = bare if "/" in bare else f"**/{bare}"
        globs += [anywhere, f"{anywhere}/", f"{anywhere}/**"]
    return glob.compile(globs, flags=_FLAGS)


def _identity(path: Path) -> tuple[int, int]:
    """Device and inode of a folder, the same by whatever path."""
    try:
        status = path.stat()
    except OSError:
        return NOWHERE
    return status.st_dev, status.st_ino


def _setting(path: Path, key: str) -> str:
    """A string in one of Obsidian's JSON files; empty if it cannot be read."""
    try:
        values: Any = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return ""
    value = values.get(key) if isinstance(values, dict) else None
    return value if isinstance(value, str) else ""
