"""One archive with all that a workspace is: its markdown, its sessions, its journal.

What is derived is left out, since it is made again. `restore` makes the same files again, byte for
byte, or none.
"""

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import assistant
from assistant.disk import locking, storage
from assistant.errors import ImportFailure, UsageError, WorkspaceError
from assistant.moving.package import check_member
from assistant.workspace.folder import Workspace
from assistant.workspace.stores import STORES

MANIFEST = "assistant-export.json"
VERSION = 1
EXPORTED = ("memory", "profile", "journal", "history", "review", "sessions", "reading", "imported",
            "evaluations")  # fmt: skip
"""The stores that are exported; others are derived, or another machine's."""


def export(place: Workspace, to: Path) -> list[str]:
    """Write the archive; returns the names of what is in it. Raises UsageError, StorageError.

    Memory is not written meanwhile.
    """
    if to.exists():
        raise UsageError(f"{to} is there already", "Name another file")
    if not to.parent.is_dir():
        raise UsageError(f"there is no folder {to.parent}", "Make it first")
    storage.private_directory(place.private)
    with ExitStack() as held, storage.reported("written", to):
        storage.private_directory(place.locks)
        held.enter_context(locking.lock(place.ledger_lock))
        descriptor, name = tempfile.mkstemp(dir=to.parent, prefix=f".{to.name}.")
        fresh = Path(name)
        held.callback(fresh.unlink, missing_ok=True)
        names = {path.relative_to(place.root).as_posix(): path for path in _files(place)}
        with os.fdopen(descriptor, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                digests = {each: _add(archive, each, path) for each, path in sorted(names.items())}
                about = {"version": VERSION, "program": assistant.__version__,
                         "made": datetime.now(UTC).isoformat(timespec="seconds"),
                         "files": digests}  # fmt: skip
                archive.writestr(MANIFEST, json.dumps(about, indent=1))
            file.flush()
            os.fsync(file.fileno())
        os.link(fresh, to)
    return sorted(names)


def restore(archive: Path, root: Path) -> list[str]:
    """Make a workspace of what an archive holds; returns the names of its files.

    Raises WorkspaceError if something is at `root`, ImportFailure for an archive that is damaged
    or not ours; then nothing was made.
    """
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise WorkspaceError(f"{root} is not empty", "Name a new folder: nothing is overwritten")
    root.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=root.parent, prefix=f".{root.name}."))
    try:
        names = _unpack(archive, fresh)
        (fresh / ".assistant").mkdir(exist_ok=True)
        (fresh / ".assistant").chmod(storage.PRIVATE_DIRECTORY)
        fresh.chmod(0o755)
        if root.exists():
            root.rmdir()
        fresh.rename(root)
    except OSError as error:
        raise WorkspaceError(f"{root} cannot be made: {error.strerror}", "Name another") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return names


def _files(place: Workspace) -> Iterator[Path]:
    for store in STORES:
        if store.name in EXPORTED:
            yield from store.files(place)


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> str:
    """Put a file into the archive; its digest. One that grows meanwhile is taken as it was read."""
    data = storage.read(path)
    info = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data)
    return hashlib.sha256(data).hexdigest()


def _unpack(archive: Path, to: Path) -> list[str]:
    try:
        with zipfile.ZipFile(archive) as packed:
            for member in packed.infolist():
                check_member(archive, member)
            files = _manifest(archive, packed)
            for name, digest in files.items():
                data = packed.read(name)
                if hashlib.sha256(data).hexdigest() != digest:
                    raise ImportFailure(f"{name} in {archive} is damaged", "Copy it again")
                path = to / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                path.chmod((packed.getinfo(name).external_attr >> 16) & 0o777 or 0o600)
        return sorted(files)
    except FileNotFoundError as error:
        raise ImportFailure(f"there is nothing at {archive}", "Name an archive") from error
    except (zipfile.BadZipFile, EOFError, KeyError) as error:
        raise ImportFailure(f"{archive} is cut off or damaged: {error}", "Copy it again") from error


def _manifest(archive: Path, packed: zipfile.ZipFile) -> dict[str, str]:
    """What the archive says it holds. Raises ImportFailure if it is none of `assistant export`."""
    cure = "`assistant export` makes one; other programs' exports go to `assistant import`"
    try:
        about: Any = json.loads(packed.read(MANIFEST))
        files, version = dict(about["files"]), int(about["version"])
    except (KeyError, ValueError, TypeError) as error:
        raise ImportFailure(f"{archive} is no archive of a workspace", cure) from error
    if version > VERSION:
        raise ImportFailure(f"{archive} was made by a later version", "Update the assistant")
    return files
