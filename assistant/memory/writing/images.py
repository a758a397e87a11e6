"""Images: the texts that writes removed, stored so that the writes can be undone.

`.assistant/history/SHA256`: one zlib-compressed text each, named by the digest of its content. The
oldest are deleted beyond `MAX_IMAGES` or `MAX_BYTES`; a write whose image is gone cannot be undone.
"""

import zlib
from collections.abc import Sequence
from pathlib import Path

from assistant.disk import storage
from assistant.memory.text.identity import digest

MAX_IMAGES = 1_000
MAX_BYTES = 64 * 2**20


class Images:
    """The images of one workspace."""

    def __init__(
        self, directory: Path, *, most: int = MAX_IMAGES, most_bytes: int = MAX_BYTES
    ) -> None:
        self._directory = directory
        self._most = most
        self._most_bytes = most_bytes

    def keep(self, text: str) -> str:
        """Store a text and return its name. Equal texts are stored once."""
        self.keep_all([text])
        return digest(text)

    def keep_all(self, texts: Sequence[str]) -> None:
        """Store one or more texts, as far as there is room for so many; the last are the newest."""
        storage.private_directory(self._directory)
        for text in texts[-self._most :]:
            storage.replace(self._directory / digest(text), zlib.compress(text.encode()))
        self._prune(digest(texts[-1]))

    def read(self, name: str) -> str | None:
        """Return the text; None if it was deleted or is damaged; "" without a name. Raises
        StorageError."""
        if not name:
            return ""
        try:
            return zlib.decompress(storage.read(self._directory / name)).decode()
        except (FileNotFoundError, zlib.error, UnicodeDecodeError):
            return None

    def names(self) -> list[str]:
        """Return the names of all images."""
        return sorted(path.name for path in self._directory.glob("?" * 64))

    def drop(self, name: str) -> None:
        """Delete an image."""
        with storage.reported("deleted", self._directory / name):
            (self._directory / name).unlink(missing_ok=True)

    def _prune(self, newest: str) -> None:
        images = []
        for name in self.names():
            status = (self._directory / name).stat()
            images.append((name != newest, -status.st_mtime_ns, status.st_size, name))
        total = 0
        for number, (_, _, size, name) in enumerate(sorted(images)):
            total += size
            if number and (number >= self._most or total > self._most_bytes):
                self.drop(name)
