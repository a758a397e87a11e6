"""Where the words of a forgotten fact are kept beside memory.

Past conversations and what was typed at the prompt: the facts are taken out of them. Files of their
owner's, editors' backups and git's history: they are named, each with the command that removes it.
A conversation's file is read as lines of JSON, of whatever version: all that counts is which fields
hold what was said.
"""

import json
import re
import shlex
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from assistant.disk import locking, programs, storage
from assistant.errors import SessionError
from assistant.memory.writing.words import GONE, Words
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


SAYING = ("text", "content", "reasoning", "compact", "summary", "facts", "passages")
"""The fields of an entry that hold what was said in it."""
PROMPTS = ".prompts"
"""The files beside conversations that hold what was sent in them."""
PICTURES = ".pictures"
"""The folders beside conversations that hold their pictures."""
_PROMPT = re.compile(r"(?=^# )", re.MULTILINE)


def conversations(
    directory: Path, words: Words, cited: Mapping[str, Collection[str]], held: ExitStack
) -> Iterator[tuple[Path, bytes]]:
    """The sessions' files that hold the facts, and what they shall hold; `held` keeps them closed.

    `cited` are, by session, the entries that the facts were taken from: they lose all they say,
    since they may say it in other words. So do the pictures of these sessions. Raises SessionError
    if one of them is open.
    """
    for path in sorted(directory.glob("*.jsonl")):
        entries = cited.get(path.stem, ())
        files = [each for each in (path, path.with_suffix(PROMPTS)) if each.exists()]
        if all(_purged(storage.read(file), words, entries) is None for file in files):
            continue
        held.enter_context(_closed(path))
        for each in files:  # read again: it may have grown before the lock was held
            if (data := _purged(storage.read(each), words, entries)) is not None:
                yield each, data
        yield from ((each, b"") for each in path.with_suffix(PICTURES).glob("*"))


def prompts(path: Path, words: Words) -> Iterator[tuple[Path, bytes]]:
    """The prompt's history and what it shall hold, if an entry of it names the facts."""
    text = storage.held(path).decode("utf-8", "replace")
    typed = _PROMPT.split(text)
    kept = [each for each in typed if words.without(_typed(each)) == _typed(each)]
    if len(kept) < len(typed):
        yield path, "".join(kept).encode()


def _closed(path: Path) -> locking.Lock:
    lock = locking.try_lock(path.with_suffix(".lock"))
    if lock is None:
        raise SessionError(
            f"session {path.stem} is open in another chat, and holds what is to be forgotten",
            "Close it there and try again",
        )
    return lock


def _typed(entry: str) -> str:
    """What one entry of the prompt's history says; its lines begin with a plus."""
    return "\n".join(line[1:] for line in entry.split("\n") if line.startswith("+"))


def _purged(data: bytes, words: Words, cited: Collection[str]) -> bytes | None:
    """A transcript without the facts; None if it holds none of them. A damaged line stays."""
    before = data.split(b"\n")
    after = [_line(line, words, cited) for line in before]
    return b"\n".join(after) if after != before else None


def _line(line: bytes, words: Words, cited: Collection[str]) -> bytes:
    try:
        entry = json.loads(line)
    except ValueError:
        return words.without(line.decode("utf-8", "replace")).encode() if line else line
    told = _without(entry, words)
    if isinstance(told, dict) and told.get("id") in cited:
        told = {name: _emptied(value, name) for name, value in told.items()}
    if told == entry:
        return line
    if isinstance(told, dict):
        told.pop("signed", None)  # it is good only as it stood
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def _without(value: Any, words: Words) -> Any:
    """A JSON value, the facts taken out of each of its strings."""
    match value:
        case str():
            return words.without(value)
        case list():
            return [_without(each, words) for each in value]
        case dict():
            told = {name: _without(each, words) for name, each in value.items()}
            if "matters_for" in value and told.get("text") != value.get("text"):
                told["matters_for"] = []
            return told
        case _:
            return value


def _emptied(value: Any, name: str) -> Any:
    """A field of an entry that is to say nothing."""
    if name == "tool_calls":
        return [{**call, "arguments": {}} for call in value]
    if name not in SAYING or not value:
        return value
    return GONE if isinstance(value, str) else []
