"""The files of an import, read by name from a folder, an archive, or one file.

Nothing is unpacked to the disk, and archives that look like a zip bomb are refused.
"""

import codecs
import json
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from assistant.errors import ImportFailure
from assistant.importing.items import Odd, in_words

HEAD = 1 << 16
"""Bytes from which the kind of a document is recognised."""
PIECE = 1 << 20
"""Characters of a document that are read at once."""
LARGEST_ITEM = 256 << 20
"""The most characters of one item of a document."""
LARGE = 64 << 20
"""Bytes that a member of an archive may unpack to, whatever its packed size."""
DENSEST = 200
"""A larger member may unpack to this many times its packed size; text reaches 20 at most."""
MOST = 200_000
"""The most members of an archive."""
DAMAGE = (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError)
"""Raised when reading an archive that is cut off, changed, or packed in an unknown way."""
_LIST = re.compile(r'\s*(?:\[|\{\s*"(?:conversations|results|memories|items|data)"\s*:\s*\[)')
"""The beginning of a document that is a list, or an object with a list under one of these keys."""
_BETWEEN = re.compile(r"[\s,]*")
_LONE = re.compile("[\ud800-\udfff]")
"""A lone surrogate, which is half of a character."""
_AGAIN = "Download or copy it again"


class Package:
    """Files by name, in a folder also those of the archives at its top.

    Hidden files of a folder are left out, and so are links that lead out of it (`led_out`).
    """

    def __init__(self, path: Path) -> None:
        """Raises ImportFailure if there is nothing to read, or an archive is damaged or unsafe."""
        self.path = path
        self.led_out: list[str] = []
        self._files: dict[str, tuple[Path, str]] = {}
        if path.is_dir():
            self._add_folder(path)
        elif not path.exists():
            raise ImportFailure(
                f"there is nothing at {path}", "Name a file, an archive or a folder"
            )
        elif not path.is_file():
            raise ImportFailure(f"{path} is no file", "Name a file, an archive or a folder")
        elif zipfile.is_zipfile(path):
            self._add_archive(path, "")
        elif path.suffix.casefold() == ".zip":
            raise ImportFailure(f"{path} is cut off, or no zip archive", _AGAIN)
        else:
            self._files[path.name] = (path, "")

    def names(self) -> list[str]:
        """The files' names, with `/` between folders, in order."""
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
            raise ImportFailure(f"{name} in {path} is damaged: {error}", _AGAIN) from error
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
            if _is_hidden(relative):
                continue
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(inside):
                self.led_out.append(relative.as_posix())
            elif path.suffix.casefold() == ".zip" and len(relative.parts) == 1:
                self._add_archive(path, f"{relative.stem}/")
            elif path.is_file():
                self._files[relative.as_posix()] = (path, "")

    def _add_archive(self, path: Path, prefix: str) -> None:
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise ImportFailure(f"{path} is cut off, or no zip archive: {error}", _AGAIN) from error
        if len(members) > MOST:
            raise ImportFailure(f"{path} holds {len(members):,} files", "That is no export")
        for member in members:
            if not member.is_dir():
                check_member(path, member)
                self._files[f"{prefix}{member.filename}"] = (path, member.filename)


def check_member(path: Path, member: zipfile.ZipInfo) -> None:
    """Raise ImportFailure if a member of an archive is not safe to unpack."""
    parts = PurePosixPath(member.filename.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or ":" in parts.parts[0][1:2]:
        raise ImportFailure(
            f"{path} holds a name that leads out of it: {member.filename!r}",
            "It is no export that you should trust",
        )
    if stat.S_ISLNK(member.external_attr >> 16):
        raise ImportFailure(f"{path} holds a link: {member.filename!r}", "Export it anew")
    if member.flag_bits & 0x1:
        raise ImportFailure(f"{path} is encrypted", "Unpack it, and import the folder")
    packed = max(member.compress_size, 1)
    if member.file_size > LARGE and member.file_size > DENSEST * packed:
        raise ImportFailure(
            f"{member.filename!r} in {path} would unpack from {packed:,} to "
            f"{member.file_size:,} bytes: a zip bomb",
            "It is no export that you should trust",
        )


def _is_hidden(relative: Path) -> bool:
    """Whether a file is hidden, or in a hidden folder other than those of supported programs."""
    folders = [part for part in relative.parts[:-1] if part.startswith(".")]
    return relative.name.startswith(".") or folders not in ([], [".memsearch"], [".openclaw"])


def head(package: Package, name: str) -> str:
    """The beginning of a file, as text."""
    return package.read(name, HEAD).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")


def documents(file: IO[bytes]) -> Iterator[Any]:
    """Yield the items of a list in a JSON document, or its single object, reading it in pieces.

    Raises Odd where the document is cut off or no JSON; the items before that have been yielded.
    """
    decoder = json.JSONDecoder()
    text = codecs.getreader("utf-8-sig")(file, "surrogatepass")
    try:
        piece = text.read(PIECE)
        is_list = _LIST.match(piece)
        offset = is_list.end() if is_list else 0
        while True:
            offset = _match_end(_BETWEEN, piece, offset)
            if is_list and piece.startswith("]", offset):
                return
            try:
                item, end = decoder.raw_decode(piece, offset)
            except ValueError as error:  # the item may continue in the next piece
                remaining = len(piece) - offset
                more = text.read(max(PIECE, remaining)) if remaining < LARGEST_ITEM else ""
                if not more:
                    raise Odd(str(error).partition(":")[0]) from error
                piece, offset = piece[offset:] + more, 0
                continue
            yield _whole(item, piece[offset:end])
            if not is_list:
                return
            offset = end
    except UnicodeDecodeError as error:
        raise Odd(in_words(error)) from error
    except (MemoryError, RecursionError) as error:
        raise Odd("it is nested too deep, or too large to be read") from error


def loads(text: bytes) -> Any:
    """Decode a JSON text, replacing lone surrogates. Raises ValueError."""
    return _whole(json.loads(text), text.decode("utf-8", "replace"))


def _whole(value: Any, text: str) -> Any:
    """The value of a JSON text, with lone surrogates replaced, as no file can hold them."""
    if "\\ud" not in text and "\\uD" not in text and not _LONE.search(text):
        return value
    return json.loads(_LONE.sub("\ufffd", json.dumps(value, ensure_ascii=False)))


def _match_end(pattern: re.Pattern[str], text: str, offset: int) -> int:
    match = pattern.match(text, offset)
    return match.end() if match else offset
