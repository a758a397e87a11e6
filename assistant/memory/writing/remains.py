"""What a purge could not take away: files of its owner's, editors' backups and git's history that
say a forgotten fact still, each with the command that removes it."""

import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from assistant.disk import programs
from assistant.memory.writing.words import Words
from assistant.workspace.folder import Workspace

LARGEST = 16 << 20
"""Bytes of the largest file that is searched."""
MOST_OF_GIT = 64 << 20
"""Bytes of git's objects that are searched."""
GIT_SECONDS = 20
_BACKUPS = ("~", ".swp", ".swo", ".swn", ".bak", ".orig", ".rej", ".tmp")
_PASSED_OVER = frozenset({".git", ".assistant", "node_modules"})


def remains(
    workspace: Workspace, words: Words, notes: Sequence[Path], *, sessions: bool
) -> list[str]:
    """Where the words still stand, and what removes them, a line each.

    `sessions`: past conversations were gone through by the purge.
    """
    memory = set(workspace.sources())
    found = []
    for folder in (workspace.root, *notes):
        for path in _files(folder):
            name = path.relative_to(folder).as_posix()
            lines = words.told_lines(_text(path))
            if lines and folder == workspace.root and name in memory:
                places = [f"{name}:{line}" for line in lines]
                found += [f"{place}: assistant forget --purge {place}" for place in places]
            elif lines and (path.name.endswith(_BACKUPS) or path.name.startswith((".#", "#"))):
                found.append(f"{path}: rm {shlex.quote(str(path))}")
            elif lines:
                which = ";".join(f"{line}d" for line in lines)
                found.append(f"{path}:{lines[0]}: sed -i '{which}' {shlex.quote(str(path))}")
    transcripts = () if sessions else workspace.sessions.glob("*.jsonl")
    if any(words.told_lines(_text(path)) for path in transcripts):
        found.append("past conversations: assistant forget --purge --sessions WORDS")
    if (count := _commits(workspace.root, words)) is not None:
        root = shlex.quote(str(workspace.root))
        what = f"{count} texts in git's history"
        found.append(
            f"{what}: git -C {root} filter-repo --replace-text FILE, which names the words"
        )
    return found


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder that may hold words, but for those of programs."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for path in entries:
        if path.is_symlink():
            continue
        if path.is_dir() and path.name not in _PASSED_OVER:
            yield from _files(path)
        elif path.is_file() and path.stat().st_size <= LARGEST:
            yield path


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _commits(root: Path, words: Words) -> int | None:
    """How many texts in git's history of this folder say the words; None if none is found."""
    listed = _git(root, b"", "rev-list", "--all", "--objects", "--", ".").decode("utf-8", "replace")
    objects = [line.partition(" ") for line in listed.splitlines()]
    names = [name for name, _, path in objects if path.endswith(".md")]
    sizes = _git(root, "\n".join(names).encode(), "cat-file", "--batch-check=%(objectsize)")
    left, wanted = MOST_OF_GIT, []
    for name, size in zip(names, sizes.split(), strict=False):
        left -= int(size) if size.isdigit() else 0
        if left >= 0:
            wanted.append(name)
    texts = _git(root, "\n".join(wanted).encode(), "cat-file", "--batch") if wanted else b""
    said = 0
    while texts:
        head, _, texts = texts.partition(b"\n")
        last = head.split()[-1:]
        end = int(last[0]) if last and last[0].isdigit() else 0
        said += bool(words.told_lines(texts[:end].decode("utf-8", "replace")))
        texts = texts[end + 1 :]
    return said or None


def _git(root: Path, given: bytes, *arguments: str) -> bytes:
    """What git says; nothing where there is none, or it takes too long. No word of the fact is in
    its arguments, which other programs see."""
    program = programs.find("git", [root])
    if program is None:
        return b""
    try:
        done = subprocess.run(
            [program, "-C", str(root), *arguments],
            input=given, capture_output=True, timeout=GIT_SECONDS, check=False,
            env=programs.environment([root]),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""
