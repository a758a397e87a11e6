"""The settings of memory: recall, embedding, the index, its daemon, notes in place."""

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import (
    Field,
    field_validator,
)

from assistant.settings.base import RESERVED, Table, Texts


class MemorySettings(Table):
    """[memory]: what recall returns."""

    k: int = Field(default=32, ge=1)
    """Maximum number of passages a recall returns."""
    budget: int = Field(default=1000, ge=1)
    """Maximum number of their tokens; a turn of a chat is given at most 450."""
    whole: int = Field(default=4000, ge=0)
    """A memory of up to so many tokens, and a quarter of the model's window, is in the prompt
    whole. 0: never, only its core."""
    capture: Literal["always", "compaction", "never"] = "always"
    """When facts are extracted from conversations: at their end and before compaction, only before
    compaction, or never. It takes a language model."""
    capture_tokens: int = Field(default=1_000_000, ge=0)
    """Maximum tokens a month for that, after conversations have ended."""
    upkeep: Literal["daily", "never"] = "daily"
    """Whether what the program wrote to MEMORY.md is kept in order, once a day before a chat is
    read: superseded and passed facts are archived, old ones sorted in."""


class EmbeddingSettings(Table):
    """[embedding]: the model that turns text into vectors."""

    model: str = "all-MiniLM-L6-v2"
    """`all-MiniLM-L6-v2`, which is installed, or the path of a sentence-transformers model, which
    needs the extra `models` (`scripts/environment models`)."""

    query_prefix: str | None = None
    """What the model wants before a question, as e5 wants `query: `. Unset: what its configuration
    says."""

    document_prefix: str | None = None
    """What it wants before a text of memory, as e5 wants `passage: `."""


class IndexSettings(Table):
    """[index]: where the vectors are kept."""

    url: str | None = None
    """A Chroma server, `http://host:port`. Unset: Chroma inside the workspace."""
    api_key_env: str | None = None
    """The environment variable that holds the server's token."""

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str | None) -> str | None:
        if url and not (url.startswith(("http://", "https://")) and urlsplit(url).hostname):
            raise ValueError("an address, as http://localhost:8000")
        return url


class DaemonSettings(Table):
    """[daemon]: the resident process that owns the index."""

    idle_seconds: float = Field(default=900.0, gt=0)
    """How long it stays without a request."""
    polling: Literal["auto", "always", "never"] = "auto"
    """Watch files by polling: where native events do not work, always, or never."""


class SourceSettings(Table):
    """[[sources]]: notes of yours, recalled where they lie and never written to."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=40)
    """What its passages are cited by: `NAME:Folder/Note.md:12`."""
    path: str
    """The folder, such as an Obsidian vault; `~` is your home."""
    include: Texts = ()
    """Globs of the notes to recall, such as `Work/**`. Unset: all markdown in it."""
    exclude: Texts = ()
    """Globs of folders and notes to leave out."""
    budget: int = Field(default=250, ge=1)
    """Maximum tokens of its passages in a recall; all sources together take at most half."""

    @property
    def folder(self) -> Path:
        """Where the notes lie."""
        return Path(self.path).expanduser()

    @field_validator("name")
    @classmethod
    def _is_free(cls, name: str) -> str:
        if name.lower() in RESERVED:
            raise ValueError(f"another name than {' and '.join(sorted(RESERVED))}")
        return name

    @field_validator("path")
    @classmethod
    def _is_absolute(cls, path: str) -> str:
        if not path.startswith(("/", "~")):
            raise ValueError("an absolute path, or one that begins with ~")
        return path
