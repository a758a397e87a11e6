"""Reads folders of markdown: memories of OpenClaw, memsearch, Claude Code and Codex, and plain
notes.

A program's memory is imported as facts, a folder of notes as documents.
"""

import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from assistant import documents
from assistant.importing.items import (
    Document,
    Item,
    Items,
    Malformed,
    Problem,
    Skipped,
    exported,
    facts_in,
    guarded,
    iso_time,
    item_id,
    message,
    text_of,
)
from assistant.importing.package import Package, encoding, head, loads
from assistant.session.adopting import Message
from assistant.tables import table_of
from assistant.workspace.folder import original_of

TEXTS = (".md", ".markdown", ".txt")
PAGES = (".html", ".htm")
NOTES = (*TEXTS, ".org", ".rst", *PAGES)
PERSONA = frozenset(
    {"SOUL.md", "IDENTITY.md", "AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md"}
)
"""OpenClaw's rules for its assistant, which are not imported."""
_SESSION = re.compile(r"(?:^|/)sessions/[^/]+\.jsonl$")
_PROGRAMS = table_of(__file__)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def at_home() -> dict[str, Path]:
    """Return the folders of other programs' memories on this machine, by program."""
    folders = {}
    for maker, about in sorted(_PROGRAMS.items()):
        folder = Path(os.environ.get(about.get("variable", ""), about.get("home", ""))).expanduser()
        if "used" in about and any(folder.glob(about["used"])):
            folders[maker] = folder
    return folders


def kind_of(package: Package) -> str:
    """Return the program that made a folder; `markdown` if none is recognised."""
    path, names = str(package.path.resolve()), package.names()
    for program, about in _PROGRAMS.items():
        has = re.compile(about["has"]).search
        if any(map(has, names)) or re.search(about.get("path", "(?!)"), path):
            return program
    return "markdown"


def is_text(package: Package, name: str) -> bool:
    """Return whether a file is a note, by its suffix; without a suffix, by its content."""
    if PurePosixPath(name).suffix:
        return name.casefold().endswith(NOTES)
    # a character cut at the end
    return not re.search("[\0\ufffd]", head(package, name).removesuffix("\ufffd"))


def read(package: Package, kind: str, notes: Sequence[str]) -> Items:
    """Yield the items of the folder."""
    texts = notes if kind == "markdown" else [n for n in notes if n.casefold().endswith(TEXTS)]
    if kind == "markdown":
        for name in sorted(set(package.names()).difference(notes)):
            yield Skipped("files that are neither markdown nor text", name)
        for name in texts:
            if original_of(name):
                yield Skipped("copies that syncing left", name)
            else:
                yield from guarded(name, partial(_document, package, name))
        return
    memory_files = list(filter(re.compile(_PROGRAMS[kind]["memory"]).search, texts)) or [
        name for name in texts if "/" not in name
    ]
    for name in texts:
        if PurePosixPath(name).name in PERSONA:
            yield Skipped("rules of another assistant", name)
        elif name in memory_files:
            yield from guarded(name, partial(_facts, package, name))
    for name in package.names():
        if kind == "OpenClaw" and _SESSION.search(name):
            yield from guarded(name, partial(_session, package, name))


def _facts(package: Package, name: str) -> Iterator[Item]:
    return facts_in(_COMMENT.sub("", _text(package, name)), name)


def _document(package: Package, name: str) -> Iterator[Item]:
    is_page = name.casefold().endswith(PAGES)
    text = (
        documents.as_markdown(package.read(name), "text/html")[1]
        if is_page
        else _text(package, name)
    )
    if text.strip():
        yield Document(name, text)


def _text(package: Package, name: str) -> str:
    """Return the text of a file. Raises ValueError if it is not text."""
    data = package.read(name)
    text = data.decode(encoding(data))
    if "\0" in text:
        raise Malformed("it is not text: it contains a zero byte")
    return text


def _session(package: Package, name: str) -> Iterator[Item]:
    """Yield a conversation of OpenClaw, in JSON lines."""
    messages: list[Message] = []
    bad_lines, started, id_ = 0, "", PurePosixPath(name).stem
    for line in package.read(name).split(b"\n"):
        if not line.strip():
            continue
        try:
            entry: Any = loads(line)
            if entry.get("type") == "session":
                started, id_ = iso_time(entry.get("timestamp")), item_id(entry.get("id"), id_)
            elif parsed := _message(entry):
                messages.append(parsed)
        except (ValueError, AttributeError, TypeError, KeyError):
            bad_lines += 1
    if bad_lines:
        yield Problem(name, f"{bad_lines} of its lines cannot be read")
    if messages:
        yield exported(id_, "", started, messages)


def _message(entry: Any) -> Message | None:
    inner = entry.get("message") if entry.get("type") == "message" else None
    if not inner:
        return None
    return message(inner.get("role"), text_of(inner.get("content")), entry.get("timestamp"))
