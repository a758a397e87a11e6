"""What is imported, as named files to be read: a folder, an archive, or one file. Nothing is
unpacked to the disk, and nothing is believed of an archive that would not fit the disk if it were.
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
"""Bytes that tell what a document is."""
PIECE = 1 << 20
"""Characters of a document that are read at once."""
LARGEST_ITEM = 256 << 20
"""Characters of one item of it."""
LARGE = 64 << 20
"""Bytes that an archive's member may unpack to whatever it was packed in."""
DENSEST = 200
"""A larger one may unpack to so many times its packed size: text comes to 20 at most."""
MOST = 200_000
"""Members of an archive."""
DAMAGE = (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError)
"""What reading an archive raises that is cut off, changed, or packed in a way nobody knows."""
_LIST = re.compile(r'\s*(?:\[|\{\s*"(?:conversations|results|memories|items|data)"\s*:\s*\[)')
"""How a document begins that is a list, or holds one as exports do."""
_BETWEEN = re.compile(r"[\s,]*")
_LONE = re.compile("[\ud800-\udfff]")
"""Half a character: what Python has joined is none."""
_AGAIN = "Download or copy it again"


class Package:
    """Files by name, read as they are; of a folder also those in the archives right inside it.

    Of a folder hidden files are none of it, nor is what a link fetches from elsewhere: `led_out`.
    """

    def __init__(self, path: Path) -> None:
        """Raises ImportFailure if there is nothing to read, or an archive that is not sound."""
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
        """A file, to be read from its beginning. Raises ImportFailure if it breaks off."""
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
        """The whole of a file, up to `most` bytes of it."""
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

    def _add_archive(self, path: Path, below: str) -> None:
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
                self._files[f"{below}{member.filename}"] = (path, member.filename)


def check_member(path: Path, member: zipfile.ZipInfo) -> None:
    """Raise ImportFailure if a member of an archive is not to be trusted."""
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
    """Whether a file is hidden, or in a hidden folder that no other memory keeps its own in."""
    folders = [part for part in relative.parts[:-1] if part.startswith(".")]
    return relative.name.startswith(".") or folders not in ([], [".memsearch"], [".openclaw"])


def head(package: Package, name: str) -> str:
    """How a file begins."""
    return package.read(name, HEAD).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")


def documents(file: IO[bytes]) -> Iterator[Any]:
    """The items of a list in a JSON document, or the one object that it is, read in pieces.

    Raises Odd where it breaks off, is no JSON or nothing of the kind; what came before was yielded.
    """
    decoder = json.JSONDecoder()
    text = codecs.getreader("utf-8-sig")(file, "surrogatepass")
    try:
        piece = text.read(PIECE)
        is_list = _LIST.match(piece)
        at = is_list.end() if is_list else 0
        while True:
            at = _end(_BETWEEN, piece, at)
            if is_list and piece.startswith("]", at):
                return
            try:
                item, end = decoder.raw_decode(piece, at)
            except ValueError as error:  # so far: the item may end in the next piece
                left = len(piece) - at
                more = text.read(max(PIECE, left)) if left < LARGEST_ITEM else ""
                if not more:
                    raise Odd(str(error).partition(":")[0]) from error
                piece, at = piece[at:] + more, 0
                continue
            yield _whole(item, piece[at:end])
            if not is_list:
                return
            at = end
    except UnicodeDecodeError as error:
        raise Odd(in_words(error)) from error
    except (MemoryError, RecursionError) as error:
        raise Odd("it is nested too deep, or too large to be read") from error


def loads(text: bytes) -> Any:
    """A JSON text's value, without half characters. Raises ValueError."""
    return _whole(json.loads(text), text.decode("utf-8", "replace"))


def _whole(value: Any, text: str) -> Any:
    """The value of a JSON text, half characters in it replaced: no file can hold one."""
    if "\\ud" not in text and "\\uD" not in text and not _LONE.search(text):
        return value
    return json.loads(_LONE.sub("\ufffd", json.dumps(value, ensure_ascii=False)))


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
