"""What is imported, as named files to be read: a folder, an archive, or one file. Nothing is
unpacked to the disk, and nothing is believed of an archive that would not fit the disk if it were.
"""

import json
import os
import re
import resource
import stat
import zipfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from assistant.errors import ImportFailure
from assistant.importing.items import Odd, in_words

HEAD = 1 << 16
"""Bytes that tell what a document is."""
MOST_MEMORY = 1 << 30
"""Bytes that reading may take: an export of 2 GB takes 40 MB."""
LISTS = ("conversations", "results", "memories", "items", "data")
"""Keys under which exports keep their list."""


LARGE = 64 << 20
"""Bytes that an archive's member may unpack to whatever it was packed in."""
DENSEST = 200
"""A larger one may unpack to so many times its packed size: text comes to 20 at most."""
MOST = 200_000
"""Members of an archive."""
DAMAGE = (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError)
"""What reading an archive raises that is cut off, changed, or packed in a way nobody knows."""
HEX = rb"[0-9a-fA-F]"
LONE = re.compile(
    rb"(\\\\|\\u[dD][89abAB]%(hex)b{2}\\u[dD][c-fC-F]%(hex)b{2})"
    rb"|\\u[dD][89a-fA-F]%(hex)b{2}|\xed[\xa0-\xbf][\x80-\xbf]" % {b"hex": HEX}
)
"""A lone surrogate, escaped or raw; before it, as a group, what is none: a backslash, a pair."""
UNFINISHED = re.compile(
    rb"(?:\\+(?:u(?:%(hex)b{0,3}|[dD][89abAB]%(hex)b{2}(?:\\(?:u%(hex)b{0,3})?)?))?"
    rb"|\xed[\xa0-\xbf]?)\Z" % {b"hex": HEX}
)
"""The end of a piece that may be the beginning of a surrogate, or of a pair."""
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


def documents(file: IO[bytes], begins: str) -> Iterator[Any]:
    """The items of a list in a JSON document, or the one object that it is.

    Raises Odd where it breaks off, is no JSON or nothing of the kind; what came before was yielded.
    """
    import ijson  # where something is imported alone

    file = cast("IO[bytes]", Mended(file))
    if begins.startswith("["):
        prefix = "item"
    elif key := listed(begins):
        prefix = f"{key}.item"
    else:
        prefix = ""
    try:
        with _bounded():
            if prefix:
                yield from ijson.items(file, prefix, use_float=True)
            else:
                yield json.loads(file.read())
    except ijson.JSONError as error:
        raise Odd(_reason(error)) from error
    except UnicodeDecodeError as error:
        raise Odd(in_words(error)) from error
    except ValueError as error:
        raise Odd(str(error)) from error
    except (MemoryError, RecursionError) as error:
        raise Odd("it is nested too deep, or too large to be read") from error


class Mended:
    """A JSON document without its byte-order mark, lone surrogates in it replaced.

    A parser in C would stop at one, and make one character of two that do not belong together.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._held = file.read(len(BOM_UTF8)).removeprefix(BOM_UTF8)

    def read(self, size: int = -1) -> bytes:
        """Some `size` bytes; none at the end."""
        if size == 0:
            return b""
        data = self._held
        while more := self._file.read(size):
            data += more
            unfinished = UNFINISHED.search(data, max(0, len(data) - 64))
            if unfinished is None or unfinished.start() > 0:
                end = unfinished.start() if unfinished else len(data)
                self._held = data[end:]
                return mended(data[:end])
        self._held = b""
        return mended(data)


def mended(data: bytes) -> bytes:
    """JSON with lone surrogates replaced."""
    if b"\\u" not in data and b"\xed" not in data:
        return data
    return LONE.sub(lambda found: found[1] or rb"\ufffd", data)


def listed(begins: str) -> str | None:
    """The key of the list that an object begins with, if it is one that exports have."""
    found = re.match(r'\{\s*"(\w+)"\s*:\s*\[', begins)
    return found[1] if found and found[1] in LISTS else None


@contextmanager
def _bounded() -> Iterator[None]:
    """Let this process take no more than `MOST_MEMORY` bytes more, where the system can
    do that: what is nested without end would take all there is."""
    allowed, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _taken() + MOST_MEMORY
    bound = wanted if allowed == resource.RLIM_INFINITY else min(allowed, wanted)
    resource.setrlimit(resource.RLIMIT_DATA, (bound, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (allowed, most))


def _taken() -> int:
    """The bytes of data that this process has, as the limit counts them; 0 if that is not told."""
    try:
        told = Path("/proc/self/status").read_text("ascii")
    except OSError:
        return 0
    found = re.search(r"VmData:\s+(\d+) kB", told)
    return int(found[1]) << 10 if found else 0


def _reason(error: Exception) -> str:
    """What a parser says, in words: its first line, without the bytes it stopped at."""
    said = error.args[0] if error.args else ""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return text.split("\n")[0].strip(" .") or "it is no JSON"
