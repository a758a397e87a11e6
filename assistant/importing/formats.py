"""Recognises an export and yields its items, keeping one at a time in memory.

An unreadable item becomes a problem; the others are still read.
"""

from collections.abc import Mapping
from functools import partial
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from assistant.display import counted
from assistant.errors import ImportFailure
from assistant.importing import chatgpt, claude, folders
from assistant.importing.items import (
    ExportedFact,
    Items,
    Malformed,
    Problem,
    day,
    described,
    guarded,
)
from assistant.importing.package import Package, documents, head

KNOWN = (
    "Supported are the exports of ChatGPT and Claude, mem0's JSON, the folders of OpenClaw, "
    "memsearch, Claude Code and Codex, and folders of markdown or text"
)
_MARKS = {"mapping": chatgpt.NAME, "chat_messages": claude.NAME, "memory": "mem0"}
_MARKS |= {"conversations_memory": claude.NAME, "project_memories": claude.NAME}
"""The keys by which an item of each program is recognised."""


class Export:
    """An export; `kind` is the program that made it."""

    def __init__(self, package: Package) -> None:
        """Raise ImportFailure if the export is not recognised."""
        self._package = package
        names = [name for name in package.names() if not claude.PERSONAL.search(name)]
        self._texts = [name for name in names if folders.is_text(package, name)]
        json_files = [name for name in names if name.casefold().endswith(".json")]
        kinds = ((name, _kind(head(package, name))) for name in json_files)
        self._json = {name: kind for name, kind in kinds if kind}
        if self._json:
            self.kind = next(iter(self._json.values()))
            projects = [name for name in json_files if "projects" in PurePosixPath(name).parts]
            more = [*projects, *(name for name in json_files if name.endswith("projects.json"))]
            self._json = dict.fromkeys(more, claude.NAME) | self._json
        elif self._texts or any(name.endswith(".jsonl") for name in names):
            self.kind = folders.kind_of(package)
        else:
            raise ImportFailure(f"{package.path} is not a recognised export", KNOWN)

    def items(self) -> Items:
        """Yield all items of the export."""
        yield from self._package.problems
        for name in sorted(self._json):
            yield from self._of_document(name)
        if not self._json:
            yield from folders.read(self._package, self.kind, self._texts)

    def _of_document(self, name: str) -> Items:
        number = 0
        keys = {key for key, kind in _MARKS.items() if kind == self._json[name]}
        try:
            with self._package.open(name) as file:
                for number, (item, fault) in enumerate(documents(file, keys), start=1):
                    where = f"{name}, item {number}{_label(item)}"
                    if fault:
                        yield Problem(where, fault)
                    if item is not None or not fault:
                        yield from guarded(where, partial(_of_item, item))
        except (Malformed, ImportFailure) as error:
            reason = f"it is truncated or damaged after {counted(number, 'item')}"
            yield Problem(name, f"{reason}: {described(error)}", cut=True)


def _kind(head: str) -> str:
    """Return the program that made a document, by its beginning; empty if none is recognised."""
    return next((kind for key, kind in _MARKS.items() if f'"{key}"' in head), "")


def _label(item: Any) -> str:
    """Return a label for a JSON value, for a problem with it."""
    title = item.get("title") or item.get("name") if isinstance(item, Mapping) else None
    return f", {title!r}" if isinstance(title, str) else ""


def _of_item(item: Any) -> Items:
    match item:
        case {"mapping": _}:
            return chatgpt.conversation(item)
        case {"chat_messages": _}:
            return claude.conversation(item)
        case {"conversations_memory": _} | {"project_memories": _}:
            return claude.memory(item)
        case {"uuid": _, "prompt_template": _} | {"uuid": _, "docs": _}:
            return claude.project(item)
        case {"memory": str(text)}:
            date = day(item.get("updated_at") or item.get("created_at"))
            return iter([ExportedFact(" ".join(text.split()), date)])
        case {"results": _} | {"memories": _}:
            entries = item.get("results") or item.get("memories") or ()
            return chain.from_iterable(map(_of_item, entries))
        case {}:
            raise Malformed("it is neither a conversation nor a memory")
    raise Malformed("it is not an object")
