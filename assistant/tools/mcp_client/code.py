"""Digests of the code that a server's command line runs, where tools can write it.

This code is each file on the command line, with the links that lead to it, and all code below the
folders that the server may run code from: those of such files, any folder that the command line
names other than as data, and its working directory, unless it names a script or a program that runs
packages.
"""

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from assistant.config import cache_dir, state_dir
from assistant.disk import storage
from assistant.tools.places import CODE_NAMES, CODE_STARTS, CODE_SUFFIXES

SKIPPED = frozenset({".git", ".assistant", "__pycache__"})
"""Folders without code that a server runs; its `__pycache__` is elsewhere."""
PACKAGE_RUNNERS = frozenset({"npx", "bunx", "uvx", "pipx", "docker", "podman"})
"""Programs that run packages; of their working directory only `node_modules` and settings count."""
INLINE_OPTIONS = frozenset({"-m", "-c", "-e"})
"""Options whose code may come from the working directory, even if a script is named."""
MOST_FILES = 2_000
MOST_BYTES = 50_000_000
"""Above this total, the digest covers modification times instead of content."""


def digests(words: Sequence[str], folder: Path, roots: Sequence[Path]) -> dict[str, str]:
    """Return the digests of the code files and folders of a command line, by path.

    `folder` is the working directory.
    """
    files: set[Path] = set()
    folders: set[Path] = set()
    links = set(_links(folder))
    here = Path(os.path.realpath(folder))
    for word, is_data in _candidates(words):
        named = folder / storage.expanded(word)
        path = Path(os.path.realpath(named))
        with suppress(OSError, ValueError):  # too long a name, or no name
            links.update(_links(named))
            if path.is_file():
                files.add(path)
                folders.add(path.parent)
            elif path.is_dir() and not (is_data and not _starts(path)):
                folders.add(path)
    has_script = any(path.suffix in CODE_SUFFIXES for path in files)
    if Path(words[0]).name in PACKAGE_RUNNERS:
        files |= {here / name for name in CODE_NAMES}
        folders.add(here / "node_modules")
    elif not has_script or not INLINE_OPTIONS.isdisjoint(words):
        folders.add(here)
    result: dict[str, str] = {}
    for path in sorted(files | folders | links):
        if any(path.is_relative_to(root) for root in roots):
            with suppress(OSError):  # missing or unreadable
                if path in links:
                    result[str(path)] = f"-> {os.path.realpath(path)}"
                else:
                    result[str(path)] = _of_folder(path) if path in folders else _of_file(path)
    return result


def _links(path: Path) -> Iterator[Path]:
    """Yield the real paths of the symbolic links in a path."""
    for part in (path, *path.parents):
        location = Path(os.path.realpath(part.parent)) / part.name
        if location.is_symlink():
            yield location


def _candidates(words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield each word that may be a path, and whether it would be data if it is a folder to serve.

    A folder is not data if it is an option's value, or named in a shell line.
    """
    before = ""
    for word in words:
        yield word, not before.startswith("-")
        parts = [*_split(word), *re.split("[=:]", word), word.partition("=")[2]]
        yield from ((part, False) for part in parts if part not in ("", word))
        before = word


def _split(word: str) -> list[str]:
    """Return the words of a shell line."""
    lexer = shlex.shlex(word, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # an unclosed quotation mark
        return word.split()


def _starts(folder: Path) -> bool:
    return any((folder / name).exists() for name in CODE_STARTS)


def _of_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _of_folder(folder: Path) -> str:
    """Return the digest of the code below a folder: of its content, or of the modification times if
    it is too large."""
    code = list(_code_below(folder))
    is_much = len(code) > MOST_FILES or sum(status.st_size for _, status in code) > MOST_BYTES
    digest = hashlib.sha256()
    for path, status in code:
        stamp = f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
        digest.update(os.fsencode(path.relative_to(folder)))
        digest.update(f"\0{stamp if is_much else _of_file(path)}\n".encode())
    return digest.hexdigest()


def _code_below(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    closed = (cache_dir().resolve(), state_dir().resolve())  # no tool can write there
    for top, folders, names in os.walk(folder):
        inner = (name for name in folders if (Path(top) / name).resolve() not in closed)
        folders[:] = sorted(set(inner) - SKIPPED)
        for path in (Path(top) / name for name in sorted(names)):
            with suppress(OSError):
                status = path.stat()
                is_code = path.name in CODE_NAMES or path.suffix in CODE_SUFFIXES
                if stat.S_ISREG(status.st_mode) and (is_code or status.st_mode & 0o111):
                    yield path, status
