"""The files of an export: a folder, a zip archive, or one file.

Nothing is unpacked to disk, and zip bombs are refused.
"""

import codecs
import json
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from assistant.errors import ImportFailure
from assistant.importing.items import Malformed, Problem, described

HEAD = 1 << 16
"""Number of bytes by which the kind of a document is recognised."""
PIECE = 1 << 20
"""Number of characters of a document that are read at a time."""
LARGEST_ITEM = 256 << 20
"""Maximum characters of one item of a document."""
LARGE = 64 << 20
"""Maximum unpacked bytes of any member of an archive."""
DENSEST = 200
"""Maximum compression ratio of a larger member; text reaches 20."""
DAMAGE = (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError)
"""Errors of reading a truncated, damaged or unsupported archive."""
_LIST = re.compile(r'\s*(?:\[|\{\s*"(?:conversations|results|memories|items|data)"\s*:\s*\[)')
"""The start of a list, or of an object with a list under one of these keys."""
_BETWEEN = re.compile(r"[\s,]*")
_LONE = re.compile("[\ud800-\udfff]")
"""A lone surrogate, which UTF-8 cannot encode."""
_BAD = "\udcff"
"""A lone surrogate that stands for bytes that cannot be decoded."""
REPLACED = "bytes that are not UTF-8 were replaced"
COPY_AGAIN = "Download or copy it again"


class Package:
    """Files by name; for a folder, including those of archives directly in it.

    Hidden files are left out, and so are links that lead out of the folder, and archives in it that
    are damaged or unsafe (`problems`).
    """

    def __init__(self, path: Path) -> None:
        """Raise ImportFailure if there is nothing to read, or an archive is damaged or unsafe."""
        self.path = path
        self.problems: list[Problem] = []
        self._files: dict[str, tuple[Path, str]] = {}
        if path.is_dir():
            self._add_folder(path)
        elif not path.exists():
            raise ImportFailure(
                f"there is nothing at {path}", "Name a file, an archive or a folder"
            )
        elif not path.is_file():
            raise ImportFailure(f"{path} is not a file", "Name a file, an archive or a folder")
        elif zipfile.is_zipfile(path) or path.suffix.casefold() == ".zip":
            self._add_archive(path, "")
        else:
            self._files[path.name] = (path, "")

    def names(self) -> list[str]:
        """Return the files' names, with `/` between folders, in order."""
        return sorted(self._files)

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file for reading. Raises ImportFailure if it is damaged or cannot be read."""
        path, member = self._files[name]
        try:
            if not member:
                with path.open("rb") as file:
                    yield file
            else:
                with zipfile.ZipFile(path) as archive, archive.open(member) as packed:
                    yield packed
        except DAMAGE as error:
            raise ImportFailure(f"{name} in {path} is damaged: {error}", COPY_AGAIN) from error
        except OSError as error:
            raise ImportFailure(f"{path} cannot be read: {error.strerror}", "Check it") from error

    def read(self, name: str, most: int = LARGE) -> bytes:
        """Read at most the first `most` bytes of a file."""
        with self.open(name) as file:
            return file.read(most)

    def _add_folder(self, root: Path) -> None:
        inside = root.resolve()
        for path in sorted(root.rglob("*")):
            relative = path.relative_to(root)
            name = relative.as_posix()
            if _is_hidden(relative):
                continue
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(inside):
                self.problems.append(Problem(name, "it is a link that leads out of the folder"))
            elif path.suffix.casefold() == ".zip" and len(relative.parts) == 1:
                try:
                    self._add_archive(path, f"{relative.stem}/")
                except ImportFailure as error:
                    self.problems.append(Problem(name, error.message))
            elif path.is_file():
                self._files[name] = (path, "")

    def _add_archive(self, path: Path, prefix: str) -> None:
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise ImportFailure(
                f"{path} is truncated, or not a zip: {error}", COPY_AGAIN
            ) from error
        files = [member for member in members if not member.is_dir()]
        for member in files:
            check_member(path, member)
        self._files |= {f"{prefix}{file.filename}": (path, file.filename) for file in files}


def check_member(path: Path, member: zipfile.ZipInfo) -> None:
    """Raise ImportFailure if a member of an archive is not safe to unpack."""
    parts = PurePosixPath(member.filename.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or ":" in parts.parts[0][1:2]:
        raise ImportFailure(
            f"{path} contains a name that leads out of it: {member.filename!r}",
            "Do not trust this export",
        )
    if stat.S_ISLNK(member.external_attr >> 16):
        raise ImportFailure(f"{path} contains a link: {member.filename!r}", "Export it again")
    if member.flag_bits & 0x1:
        raise ImportFailure(f"{path} is encrypted", "Unpack it, and import the folder")
    packed = max(member.compress_size, 1)
    if member.file_size > LARGE and member.file_size > DENSEST * packed:
        raise ImportFailure(
            f"{member.filename!r} in {path} would unpack from {packed:,} to "
            f"{member.file_size:,} bytes: a zip bomb",
            "Do not trust this export",
        )


def _is_hidden(relative: Path) -> bool:
    """Return whether a file is hidden, or in a hidden folder that belongs to no supported
    program."""
    folders = [part for part in relative.parts[:-1] if part.startswith(".")]
    return relative.name.startswith(".") or folders not in ([], [".memsearch"], [".openclaw"])


def head(package: Package, name: str) -> str:
    """Return the beginning of a file as text; report an unreadable file as a problem of its
    package."""
    try:
        data = package.read(name, HEAD)
        return data.decode(encoding(data), "replace").lstrip("\ufeff \t\r\n")
    except ImportFailure as error:
        package.problems.append(Problem(name, error.message))
        return ""


def encoding(start: bytes) -> str:
    """Return the encoding that the first bytes of a text show, or UTF-8."""
    is_utf16 = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return "utf-16" if is_utf16 else "utf-8-sig"


def _undecodable(error: UnicodeError) -> tuple[str | bytes, int]:
    """Decode surrogates as such, and anything else as `_BAD`."""
    try:
        return codecs.lookup_error("surrogatepass")(error)
    except UnicodeDecodeError as undecodable:
        return _BAD, undecodable.end


codecs.register_error("assistant.undecodable", _undecodable)


def documents(file: IO[bytes], keys: Set[str]) -> Iterator[tuple[Any, str]]:
    """Yield the items of a JSON list, or a single object, each with the fault in its text.

    The file is read in pieces. For an item that is not JSON, yield None and continue at the next
    object that has one of the `keys`. Raises Malformed if there is none, or if the document is
    truncated.
    """
    decoder = json.JSONDecoder(strict=False)
    start = file.read(len(codecs.BOM_UTF16_LE))
    file.seek(0)
    text = codecs.getreader(encoding(start))(file, "assistant.undecodable")
    piece = text.read(PIECE)
    is_list = _LIST.match(piece)
    offset = is_list.end() if is_list else 0
    fault = ""  # in the item before: look for the next
    while True:
        if fault:
            offset = piece.find("{", offset)
            if offset < 0:
                piece, offset = text.read(PIECE), 0
                if not piece:
                    raise Malformed(fault)
                continue
        else:
            offset += len(_BETWEEN.match(piece, offset)[0])  # type: ignore[index]
            if is_list and piece.startswith("]", offset):
                return
        try:
            item, end = decoder.raw_decode(piece, offset)
        except (ValueError, RecursionError) as error:
            remaining = len(piece) - offset  # invalid JSON may continue in the next piece
            may_go_on = isinstance(error, ValueError) and remaining < LARGEST_ITEM
            if more := text.read(max(PIECE, remaining)) if may_go_on else "":
                piece, offset = piece[offset:] + more, 0
                continue
            why = error.msg if isinstance(error, json.JSONDecodeError) else described(error)
            fault = fault or why
            if not is_list:
                raise Malformed(fault) from error
            offset += 1
            continue
        except MemoryError as error:
            raise Malformed("it is too large") from error
        if fault:
            if not (isinstance(item, dict) and keys & item.keys()):
                offset = end
                continue
            yield None, fault
            fault = ""
        source = piece[offset:end]
        yield _value(item, source), REPLACED if _BAD in source else ""
        if not is_list:
            return
        offset = end


def loads(text: bytes) -> Any:
    """Decode a JSON text, replacing lone surrogates. Raises ValueError."""
    return _value(json.loads(text, strict=False), text.decode("utf-8", "replace"))


def _value(value: Any, text: str) -> Any:
    """Return the value of a JSON text, with lone surrogates replaced."""
    if "\\ud" not in text and "\\uD" not in text and not _LONE.search(text):
        return value
    return json.loads(_LONE.sub("\ufffd", json.dumps(value, ensure_ascii=False)))
