"""What a sandboxed command may touch, and the file system that is made of it.

A command reads by a list of what it may read: the workspace, the added directories, and the
system. Whatever is on no list is not there at all.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assistant.tools.places import SYSTEM, TOOLCHAINS

Kind = Literal["read", "write", "scratch", "closed", "blank", "link"]

SCRATCH = ("/tmp", "/var/tmp", "/run")
"""A command has empty ones of its own: other programs keep their sockets here."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One step in making a command's file system.

    `read` and `write` bring a path in as it is; `scratch` is an empty directory that may be
    written; `closed` and `blank` cover a directory or a file; a `link` leads to its `target`.
    """

    kind: Kind
    path: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a command may touch, as real absolute paths.

    All but `writable` is read-only. Inside that, `protected` is read-only too, and `hidden`
    cannot even be read. `readable` are paths that may be symbolic links themselves.
    """

    writable: tuple[Path, ...]
    protected: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()

    @property
    def pinned(self) -> list[Path]:
        """The writable directories, and those in them that may not be renamed: something
        protected or hidden is in there."""
        inside = (*self.writable, *self.protected, *self.hidden)
        return sorted(
            {
                parent
                for path in inside
                for parent in path.parents
                if any(parent != root and parent.is_relative_to(root) for root in self.writable)
            }
            | set(self.writable)
        )


def view(bounds: Bounds) -> list[Mount]:
    """A command's file system, step by step: a later step covers an earlier one."""
    base = [Mount("write", str(path)) for path in bounds.pinned]
    base += [Mount("scratch", path) for path in _apart(map(Path, _scratch()), bounds.writable)]
    for path in _apart(bounds.readable, bounds.writable):
        linked = Path(path).is_symlink()
        base.append(
            Mount("link", path, str(Path(path).readlink())) if linked else Mount("read", path)
        )
    base.sort(key=lambda step: step.path.rstrip("/").count("/"))
    covering = [Mount("read", str(path)) for path in bounds.protected]
    for place in bounds.hidden:
        if not any(parent in bounds.hidden for parent in place.parents):  # gone with that one
            covering.append(Mount("closed" if place.is_dir() else "blank", str(place)))
    return base + covering


def system() -> tuple[Path, ...]:
    """What there is of the system, of the toolchains in the owner's home, and our own Python."""
    toolchains = (Path.home() / name for name in TOOLCHAINS)
    own = (Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve())
    places = (*map(Path, SYSTEM), *toolchains, *own)
    return tuple(path for path in places if os.path.lexists(path))


def _scratch() -> Iterator[str]:
    """The directories that a command has to itself, its home among them."""
    yield from SCRATCH
    home = str(Path.home())
    if home != "/":
        yield home


def _apart(paths: Iterable[Path], writable: Iterable[Path]) -> list[str]:
    """Those of the paths that are not in a writable directory anyway, each once."""
    roots = list(writable)
    return list(
        dict.fromkeys(
            str(path) for path in paths if not any(path.is_relative_to(root) for root in roots)
        )
    )
