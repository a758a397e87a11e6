"""What an index is made of: the memory files of a workspace, or text that lies elsewhere."""

from pathlib import Path
from typing import Protocol

from assistant.workspace.folder import Survey


class Corpus(Protocol):
    """A set of named files below a `root`, indexed at `index`; a workspace is one.

    `identity` tells it from any other on this machine: whose index it is, and whose vectors.
    """

    @property
    def root(self) -> Path:
        """The folder that names are relative to."""

    @property
    def private(self) -> Path:
        """The program's own folder, which holds the index."""

    @property
    def index(self) -> Path:
        """Where its index lies."""

    @property
    def identity(self) -> Path:
        """A path that no other corpus has."""

    def survey(self) -> Survey:
        """The files there are, and what stands among them and is none."""


def decoded(name: str, data: bytes) -> str:
    """The text of a file that is indexed as it stands. Raises ValueError that says where it is no
    text."""
    if (zero := data.find(b"\0")) >= 0:
        raise ValueError(f"a zero byte at {zero}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start}") from error
