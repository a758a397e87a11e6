"""The text of a forgotten fact that remains outside memory.

The facts are removed from past conversations and from the prompt history. The owner's other files,
editors' backups and git's history are only reported, each with the command that removes it.
Transcripts are read as lines of JSON of any version: only the fields that contain text matter.
"""

import codecs
import json
import os
import re
import shlex
import subprocess
import threading
import zlib
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from assistant import config
from assistant.disk import locking, programs, storage
from assistant.errors import SessionError
from assistant.memory.writing.words import Words
from assistant.messages import FORGOTTEN
from assistant.workspace.folder import APPENDING, PICTURES, PROCEDURE_FILES, PROMPTS, Workspace

LARGEST = 16 << 20
"""The maximum size of a file that is searched, in bytes."""
MOST_OF_GIT = 64 << 20
"""The maximum number of bytes of git's log that are searched."""
GIT_SECONDS = 20
PURGE = "assistant forget --purge --sessions"
TEXTS = ("text", "content", "whole", "reasoning", "compact", "summary", "facts", "passages")
"""The fields of a transcript's entry that contain text."""
_BACKUPS = ("~", ".gz", ".swp", ".swo", ".swn", ".bak", ".orig", ".rej", ".tmp")
_GZIP, _UTF_16 = b"\x1f\x8b", (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SKIPPED = frozenset({".git", ".assistant", "node_modules"})
_TYPED = re.compile(r"(?=^# )", re.MULTILINE)


# What is reported


def remains(
    workspace: Workspace,
    words: Words,
    notes: Sequence[Path],
    replaced: Collection[str] = (),
    *,
    with_hints: bool = True,
) -> list[str]:
    """Return where the text remains, and the command that removes it, one per line; also for the
    facts that the forgotten ones had `replaced`, by their addresses. `with_hints` includes messages
    that only hint at the facts."""
    memory = set(workspace.sources())
    facts = (_text(workspace.root / name) for name in memory.difference(PROCEDURE_FILES))
    common = set(chain.from_iterable(map(words.used_in, facts)))
    lines: list[str] = []
    for folder in (workspace.root, *notes):
        for path in _files(folder):
            name, text = path.relative_to(folder).as_posix(), _text(path)
            quoted = shlex.quote(str(path))
            numbers = words.lines_in(text)
            if folder == workspace.root and name in memory:
                lines += _in_memory(name, text, words, common, replaced)
            elif numbers and (path.name.endswith(_BACKUPS) or path.name.startswith((".#", "#"))):
                lines.append(f"{path}: rm {quoted}")
            elif numbers and storage.text_fault(path.read_bytes()):  # sed reads UTF-8
                lines.append(f"{path}:{numbers[0]}: vi +{numbers[0]} {quoted}")
            elif numbers:
                script = ";".join(f"{number}d" for number in numbers)
                lines.append(f"{path}:{numbers[0]}: sed -i '{script}' {quoted}")
    lines += _in_conversations(workspace, words)
    if with_hints:
        lines += _hints_in_conversations(workspace, words, common)
    return [*lines, *_in_git(workspace.root, words)]


def _in_memory(
    name: str, text: str, words: Words, common: Container[str], replaced: Collection[str]
) -> Iterator[str]:
    """Yield a line for each line of a memory file that states the facts, that they had `replaced`,
    or that is a reminder which hints at them; the last first, so line numbers stay valid."""
    telling = set(words.lines_in(text))
    for number, line in reversed(list(enumerate(text.split("\n"), start=1))):
        address = f"{name}:{number}"
        if number in telling:
            how = ""
        elif address in replaced:
            how = ", which it replaced"
        elif name in PROCEDURE_FILES and any(words.traces(line, common)):
            how = ", in other words"
        else:
            continue
        yield f"{address}{how}: assistant forget --purge {address}"


def _in_conversations(workspace: Workspace, words: Words) -> Iterator[str]:
    """Yield a line if past conversations or the prompt history state the facts."""
    sessions = sorted(workspace.sessions.glob("*.jsonl"))
    stating = chain.from_iterable(_purged(path, words, ()) for path in sessions)
    if any(chain(stating, prompts(config.state_dir() / "prompts", words))):
        yield f"past conversations: {PURGE} WORDS"


def _hints_in_conversations(
    workspace: Workspace, words: Words, common: Container[str]
) -> Iterator[str]:
    """Yield a line for the words of each message or typed prompt that only hints at the facts."""
    sessions = sorted(workspace.sessions.glob("*.jsonl"))
    files = chain.from_iterable((path, path.with_suffix(PROMPTS)) for path in sessions)
    said = (text for path in files for _, entry in _lines(path) for text in _strings(entry))
    typed_texts = (_typed(entry) for entry in _entries(config.state_dir() / "prompts"))
    hints: set[tuple[str, ...]] = set()
    for text in chain(said, typed_texts):
        traces = set(words.traces(text, common))
        if traces and words.without(text) == text:
            hints |= {hint for hint in traces if not any(set(hint) < set(o) for o in traces)}
    for hint in sorted(hints):
        if not any(set(other) < set(hint) for other in hints):
            yield f"past conversations, in other words: {PURGE} --yes {shlex.join(hint)}"


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value."""
    match value:
        case str():
            yield value
        case list():
            yield from chain.from_iterable(map(_strings, value))
        case dict():
            yield from chain.from_iterable(map(_strings, value.values()))


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that may contain text, except those of programs."""
    for directory, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _SKIPPED)
        for path in (Path(directory, name) for name in sorted(names)):
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST:
                yield path


def _text(path: Path) -> str:
    """Return the text of a file in any encoding, even if compressed."""
    try:
        data = path.read_bytes()
        if data.startswith(_GZIP):
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, LARGEST)
    except (OSError, zlib.error):
        return ""
    return data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8", "replace")


def _in_git(root: Path, words: Words) -> Iterator[str]:
    """Yield a line if git's history contains the text, in a text file or a message, or is too long
    to search. No word of the fact is in git's arguments, which other programs can see."""
    program = programs.find("git", [root])
    if program is None:
        return
    with subprocess.Popen(
        [
            program, "-C", str(root), "log", "--all", "--reflog", "--format=%B", "--patch", "--cc",
            "--unified=0", "--no-renames", "--no-ext-diff", "--no-textconv",
            "--output-indicator-new= ", "--output-indicator-old= ",
            *(() if (root / ".git").exists() else ("--", ".")),
        ],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=programs.environment([root]),
    ) as git:  # fmt: skip
        assert git.stdout is not None
        timer = threading.Timer(GIT_SECONDS, git.kill)
        timer.start()
        log = git.stdout.read(MOST_OF_GIT)
        is_whole = len(log) < MOST_OF_GIT and git.wait() >= 0  # below 0: it was killed
        git.kill()
        timer.cancel()
    command = f"git -C {shlex.quote(str(root))}"
    if words.lines_in(log.decode("utf-8", "replace")):
        options = "--replace-text FILE --replace-message FILE"
        yield f"git's history: {command} filter-repo {options}, which names the words"
    elif not is_whole:
        yield f"git's history: too long to search completely; {command} log --patch shows it"


# What is rewritten


def conversations(
    directory: Path, words: Words, cited: Mapping[str, Collection[str]], stack: ExitStack
) -> Iterator[tuple[Path, bytes]]:
    """Yield the sessions' files that contain the facts, with their new content; `stack` keeps them
    locked.

    The entries that the facts were captured from lose all their text, which may state the facts in
    other words: those `cited`, by session, and those that the session itself names. So do the
    pictures of these sessions. Raises SessionError if one of them is open.
    """
    paths = [
        path
        for path in sorted(directory.glob("*.jsonl"))
        if any(_purged(path, words, cited.get(path.stem, ())))
    ]
    if paths:
        stack.enter_context(locking.lock(directory / APPENDING))
    for path in paths:
        stack.enter_context(_locked(path))
        # read again: it may have grown before it was locked
        yield from _purged(path, words, cited.get(path.stem, ()))
        yield from ((picture, b"") for picture in path.with_suffix(PICTURES).glob("*"))


def _purged(path: Path, words: Words, cited: Collection[str]) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of a session that contain the facts, or text of the entries `cited`, with
    their new content."""
    sources = set(cited)
    for file in (path, path.with_suffix(PROMPTS)):
        lines = _lines(file)
        sources.update(_captured_from(lines, words))
        after = [_purged_line(line, entry, words, sources) for line, entry in lines]
        if after != [line for line, _ in lines]:
            yield file, b"\n".join(after)


def cited_texts(
    directory: Path, words: Words, cited: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """Yield the texts of the messages that the facts were captured from."""
    for path in directory.glob("*.jsonl"):
        lines = _lines(path)
        ids = {*cited.get(path.stem, ()), *_captured_from(lines, words)}
        for _, entry in lines:
            if isinstance(entry, dict) and entry.get("id") in ids:
                yield str(entry.get("text", ""))


def prompts(
    path: Path, words: Words, messages: Collection[str] = ()
) -> Iterator[tuple[Path, bytes]]:
    """Yield the prompt history with its new content, if an entry contains the facts or is one of
    these messages."""
    entries = _entries(path)
    kept = [
        entry
        for entry in entries
        if words.without(typed := _typed(entry)) == typed and typed not in messages
    ]
    if len(kept) < len(entries):
        yield path, "".join(kept).encode()


def _entries(path: Path) -> list[str]:
    """Return the entries of the prompt history."""
    return _TYPED.split(storage.read_or_empty(path).decode("utf-8", "replace"))


def _typed(entry: str) -> str:
    """Return the text of one entry of the prompt history; its lines begin with a plus."""
    return "\n".join(line[1:] for line in entry.split("\n") if line.startswith("+"))


def _locked(path: Path) -> locking.Lock:
    lock = locking.try_lock(path.with_suffix(".lock"))
    if lock is None:
        raise SessionError(
            f"session {path.stem} is open in another chat, and contains what is to be forgotten",
            "Close it there and try again",
        )
    return lock


def _lines(path: Path) -> list[tuple[bytes, Any]]:
    """Return each line of a transcript with its entry; None if it is damaged."""
    return [(line, _decoded(line)) for line in storage.read_or_empty(path).split(b"\n")]


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _captured_from(lines: Sequence[tuple[bytes, Any]], words: Words) -> Iterator[str]:
    """Yield the entries that the facts were captured from, according to the transcript."""
    for _, entry in lines:
        for fact in entry.get("facts", ()) if isinstance(entry, dict) else ():
            if isinstance(fact, dict) and words.without(text := fact.get("text", "")) != text:
                yield from fact.get("entries", ())


def _purged_line(line: bytes, entry: Any, words: Words, cited: Collection[str]) -> bytes:
    """Return a line of a transcript without the facts."""
    if entry is None:
        return words.without(line.decode("utf-8", "replace")).encode()
    purged = _without(entry, words)
    if isinstance(purged, dict) and purged.get("id") in cited:
        purged = {name: _emptied(value, name) for name, value in purged.items()}
    if purged == entry:
        return line
    if isinstance(purged, dict):
        purged.pop("signed", None)  # the signature is of the old text
    text = json.dumps(purged, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def _without(value: Any, words: Words) -> Any:
    """Return a JSON value with the facts removed from each of its strings."""
    match value:
        case str():
            return words.without(value)
        case list():
            return [_without(item, words) for item in value]
        case dict():
            purged = {name: _without(item, words) for name, item in value.items()}
            if "matters_for" in value and purged.get("text") != value.get("text"):
                purged["matters_for"] = []
            return purged
        case _:
            return value


def _emptied(value: Any, name: str) -> Any:
    """Return a field of an entry, without its text."""
    if name == "tool_calls":
        return [{**call, "arguments": {}} for call in value]
    if name not in TEXTS or not value:
        return value
    return FORGOTTEN if isinstance(value, str) else []
