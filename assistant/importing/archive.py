"""Exports a workspace with its files, sessions and journal to one archive, and restores it.

Derived files are left out. `restore` creates the same files, byte for byte, or none.
"""

import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Set
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import assistant
from assistant.disk import locking, storage
from assistant.errors import ImportFailure, UsageError, WorkspaceError
from assistant.importing.package import DAMAGE, LARGE, check_member
from assistant.workspace.folder import Workspace
from assistant.workspace.stores import STORES

MANIFEST = "assistant-export.json"
VERSION = 1
CURE = "`assistant export` makes one; other programs' exports go to `assistant import`"


def export(workspace: Workspace, to: Path) -> tuple[list[str], dict[str, str]]:
    """Write the archive, while writes to memory wait. Raises UsageError, StorageError.

    Return the names of its files, and of what was left out, with the reason: links whose target is
    packed or outside, and files whose name `restore` would refuse.
    """
    if to.exists():
        raise UsageError(f"{to} already exists", "Name another file")
    if not to.parent.is_dir():
        raise UsageError(f"there is no folder {to.parent}", "Create it first")
    storage.private_directory(workspace.private)
    with ExitStack() as cleanup, storage.reported("written", to):
        storage.private_directory(workspace.locks)
        cleanup.enter_context(locking.lock(workspace.ledger_lock))
        own = {path for store in STORES if store.exported for path in store.files(workspace)}
        names, left_out = {}, {}
        for path in (*own, *_others(workspace)):
            name = _name(workspace, path)
            if fault := _fault(name, path, workspace, own):
                left_out[name] = fault
            else:
                names[name] = path
        descriptor, name = tempfile.mkstemp(dir=to.parent, prefix=f".{to.name}.")
        temporary = Path(name)
        cleanup.callback(temporary.unlink, missing_ok=True)
        with os.fdopen(descriptor, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, path in sorted(names.items()):
                    _add(archive, name, path)
                about = {"version": VERSION, "program": assistant.__version__,
                         "made": datetime.now(UTC).isoformat(timespec="seconds"),
                         "files": sorted(names)}  # fmt: skip
                archive.writestr(MANIFEST, json.dumps(about, indent=1))
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, to)
    return sorted(names), dict(sorted(left_out.items()))


def restore(archive: Path, root: Path) -> list[str]:
    """Create a workspace at `root` from an archive; return the names of its files.

    Raises WorkspaceError if `root` is not empty, and ImportFailure if the archive is damaged or not
    one of `export`; nothing is created then.
    """
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise WorkspaceError(f"{root} is not empty", "Name a new folder: nothing is overwritten")
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=root.parent, prefix=f".{root.name}."))
        try:
            names = _unpack(archive, temporary)
            storage.private_directory(temporary / storage.PRIVATE).chmod(storage.PRIVATE_DIRECTORY)
            temporary.chmod(0o755)
            if root.exists():
                root.rmdir()
            temporary.rename(root)
            return names
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise WorkspaceError(f"cannot create {root}: {error.strerror}", "Name another") from error


def _name(workspace: Workspace, path: Path) -> str:
    return path.relative_to(workspace.root).as_posix()


def _fault(name: str, path: Path, workspace: Workspace, own: Set[Path]) -> str:
    """Return why a file cannot be in an archive; empty if it can.

    A link is packed only in place of a file at the top, such as MEMORY.md, that is elsewhere in the
    workspace.
    """
    target = Path(os.path.realpath(path))
    is_elsewhere = target.is_relative_to(workspace.root) and target not in own
    is_packed = path in own and path.parent == workspace.root and is_elsewhere
    if (path.is_symlink() or target != path) and not is_packed:
        return "a link"
    try:
        name.encode()
        check_member(path, zipfile.ZipInfo(name))
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    except ImportFailure:
        return "its name could lead out of the folder on another system"
    return ""


def _others(workspace: Workspace) -> Iterator[Path]:
    """Yield the other files and links of the workspace, without .git and archives of `export`."""
    for path in workspace.root.rglob("*"):
        parents = path.relative_to(workspace.root).parent.parts
        if ".git" in parents or workspace.private in path.parents or _is_export(path):
            continue
        if path.is_symlink() or path.is_file():
            yield path


def _is_export(path: Path) -> bool:
    """Return whether a file is an archive of `export`."""
    if path.suffix != ".zip" or not path.is_file():
        return False
    try:
        with zipfile.ZipFile(path) as packed:
            return MANIFEST in packed.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    """Add a file to the archive, with its checksum."""
    with storage.reported("read", path):
        file = storage.open_file(path)
    with file:
        info = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
        small = info.file_size <= LARGE  # a large, highly compressed member looks like a zip bomb
        info.compress_type = zipfile.ZIP_DEFLATED if small else zipfile.ZIP_STORED
        with archive.open(info, "w", force_zip64=True) as packed:
            shutil.copyfileobj(file, packed)


def _unpack(archive: Path, to: Path) -> list[str]:
    try:
        with zipfile.ZipFile(archive) as packed:
            for member in packed.infolist():
                check_member(archive, member)
            names = _manifest(archive, packed)
            for name in names:
                member = packed.getinfo(name)
                path = Path(packed.extract(member, to))
                path.chmod((member.external_attr >> 16) & 0o777 or 0o600)
        return sorted(names)
    except FileNotFoundError as error:
        raise ImportFailure(f"there is nothing at {archive}", "Name an archive") from error
    except (*DAMAGE, KeyError) as error:
        raise ImportFailure(
            f"{archive} is not an archive of a workspace, or is damaged: {error}",
            f"Copy it again; {CURE}",
        ) from error


def _manifest(archive: Path, packed: zipfile.ZipFile) -> list[str]:
    """Return the files in the archive's manifest. Raises ImportFailure if there is none."""
    try:
        about: Any = json.loads(packed.read(MANIFEST))
        names, version = list(about["files"]), int(about["version"])
    except (KeyError, ValueError, TypeError) as error:
        raise ImportFailure(f"{archive} is not an archive of a workspace", CURE) from error
    if version > VERSION:
        raise ImportFailure(f"{archive} was made by a later version", "Update the assistant")
    return names
