"""Chroma in the workspace: damage is noticed before it is used."""

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from assistant.disk import storage
from assistant.errors import AssistantError, MemoryFailure, StorageError
from assistant.memory.index.chroma.base import (
    SPACE,
    Belongs,
    Tellable,
    VectorsDamaged,
    VectorStore,
)
from assistant.memory.index.chroma.clients import embedded_client
from assistant.memory.index.chroma.filling import filling

PROBE_SECONDS = 60
MISSING = -1
"""The inode of a file that is not there."""


class EmbeddedStore(VectorStore):
    """The vectors of a workspace in a directory of its own."""

    def __init__(self, directory: Path, belongs: Belongs) -> None:
        super().__init__(belongs)
        self._directory = directory
        self._home = _inode(directory.parent)
        self._inode = 0

    def wait(self) -> None:
        if self.ready:
            return
        with self._lock:
            if not self._opened.is_set():
                self._open_quietly()
            if self._failure is not None:
                raise self._failure

    def probe(self) -> None:
        """There is nobody who could be silent."""

    def lost(self) -> bool:
        return self.ready and self._deleted()

    def reset(self) -> None:
        with self._lock:
            self._check_open()
            self._release()
            with storage.reported("deleted", self._directory):
                shutil.rmtree(self._directory, ignore_errors=not self._directory.exists())
            self._failure = None
            self._open()
            self._opened.set()

    @contextlib.contextmanager
    def in_bulk(self) -> Iterator[Tellable]:
        self.wait()
        with self._lock:
            self._check_open()
            self._opened.clear()
            with self._translated():
                self._client.close()
            self._client = self._collection = None
            try:
                with filling(self._directory, self._name) as process:
                    yield process
            finally:
                self._open_quietly(check=False)

    def close(self) -> None:
        with self._lock:
            self._release()
            self._closed = True
            self._failure = MemoryFailure("the index is closed")
            self._opened.set()

    # Parts

    @property
    def _database(self) -> Path:
        return self._directory / "chroma.sqlite3"

    @property
    def _marker(self) -> Path:
        """There while it is open, and after an exit that was not clean."""
        return self._directory.with_name(f"{self._directory.name}.open")

    @property
    def _sums(self) -> Path:
        """The checksums of the files, as the last clean exit left them."""
        return self._directory.with_name(f"{self._directory.name}.sums")

    def _deleted(self) -> bool:
        found = _inode(self._database)
        return found == MISSING or found != self._inode

    def _open_quietly(self, *, check: bool = True) -> None:
        try:
            if check and self._directory.exists():
                self._check()
            self._open()
        except AssistantError as error:  # told to whoever uses the store first
            self._failure = error
        finally:
            self._opened.set()

    def _open(self) -> None:
        with self._translated():
            self._check_home()
            storage.private_directory(self._directory)
            self._marker.touch(mode=storage.PRIVATE_FILE)
            self._client = embedded_client(self._directory)
            self._collection = self._client.get_or_create_collection(
                self._name, embedding_function=None, configuration=SPACE
            )
            self._check_home()
        self._inode = _inode(self._database)

    def _check_home(self) -> None:
        """Raise MemoryFailure if the workspace was moved, and leave nothing where it was: Chroma
        makes its folder with all those above."""
        if self._home == MISSING:  # nobody has made it yet
            storage.private_directory(self._directory)
            self._home = _inode(self._directory.parent)
        if _inode(self._directory.parent) == self._home:
            return
        if self._client is not None:
            self._client.close()
        _unmake(self._directory)
        raise MemoryFailure("the workspace is gone")

    def _check(self) -> None:
        """Raise VectorsDamaged unless the files are as they were left, or at least can be used.

        Chroma does not notice all damage: with half of its vectors cut off it finds the others.
        """
        if self._marker.exists() or not self._sums.exists():
            if not self._healthy():
                raise VectorsDamaged("Chroma's data did not survive the last exit")
        elif storage.read(self._sums) != checksums(self._directory):
            raise VectorsDamaged("Chroma's data was changed or damaged")

    def _healthy(self) -> bool:
        """Ask a child process to use the data: a native crash would take this one with it."""
        command = [sys.executable, "-m", "assistant.memory.index.chroma.embedded"]
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = subprocess.run(
                [*command, str(self._directory), self._name],
                capture_output=True,
                timeout=PROBE_SECONDS,
            )
            return done.returncode == 0
        return False

    def _release(self) -> None:
        if self._client is not None:
            with self._translated():
                self._client.close()
            if not self._deleted():
                # Whatever keeps the checksums from being written, the marker then stays: the next
                # start looks closely.
                with contextlib.suppress(StorageError, OSError):
                    storage.replace(self._sums, checksums(self._directory))
                    self._marker.unlink(missing_ok=True)
        self._client = self._collection = None

    def _fault(self, error: BaseException) -> MemoryFailure:
        return VectorsDamaged(f"Chroma's data cannot be used: {error}")


def checksums(directory: Path) -> bytes:
    """The size and the CRC-32 of each file below a directory, a line each."""
    lines = []
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        size, crc = storage.checksum(path)
        lines.append(f"{size} {crc:08x} {path.relative_to(directory).as_posix()}\n")
    return "".join(lines).encode()


def _unmake(directory: Path) -> None:
    """Remove what Chroma made where a workspace was: its own folder, with nothing beside it."""
    index, private, root, *_ = directory.parents
    alone = ((index, directory), (private, index), (root, private))
    with contextlib.suppress(OSError):
        if all([path.name for path in above.iterdir()] == [below.name] for above, below in alone):
            shutil.rmtree(root)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return MISSING


def main(directory: str, name: str) -> None:
    """The probe's child process: read everything there is once."""
    client = embedded_client(Path(directory))
    if name in [collection.name for collection in client.list_collections()]:
        collection = client.get_collection(name, embedding_function=None)
        first = collection.get(limit=1, include=["embeddings"])["embeddings"]
        if first is not None and len(first):
            collection.query(query_embeddings=[first[0]], n_results=10)
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
