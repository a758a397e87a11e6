"""JSON documents of any size, an item at a time."""

import json
import re
import resource
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from assistant.moving.items import Odd, in_words
from assistant.moving.package import Package

HEAD = 1 << 16
"""Bytes that tell what a document is."""
MOST = 1 << 30
"""Bytes that reading may take: an export of 2 GB takes 40 MB."""
LISTS = ("conversations", "results", "memories", "items", "data")
"""Keys under which exports keep their list."""


def head(package: Package, name: str) -> str:
    """How a file begins."""
    return package.read(name, HEAD).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")


def items(file: IO[bytes], begins: str) -> Iterator[Any]:
    """The items of a list in a JSON document, or the one object that it is.

    Raises Odd where it breaks off, is no JSON or nothing of the kind; what came before was yielded.
    """
    import ijson  # where something is imported alone

    if file.read(len(BOM_UTF8)) != BOM_UTF8:
        file.seek(0)
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
                yield json.load(file)
    except ijson.JSONError as error:
        raise Odd(_reason(error)) from error
    except UnicodeDecodeError as error:
        raise Odd(in_words(error)) from error
    except ValueError as error:
        raise Odd(str(error)) from error
    except (MemoryError, RecursionError) as error:
        raise Odd("it is nested too deep, or too large to be read") from error


def listed(begins: str) -> str | None:
    """The key of the list that an object begins with, if it is one that exports have."""
    found = re.match(r'\{\s*"(\w+)"\s*:\s*\[', begins)
    return found[1] if found and found[1] in LISTS else None


@contextmanager
def _bounded() -> Iterator[None]:
    """Let this process take no more than `MOST` bytes more meanwhile, where the system can do that:
    what is nested without end would take all there is."""
    allowed, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _taken() + MOST
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
