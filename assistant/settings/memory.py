"""The settings of memory: recall, embedding, the index, its daemon, notes in place."""

from pathlib import Path
from typing import Literal

from pydantic import (
    Field,
    field_validator,
)

from assistant.settings.base import RESERVED, Table, Texts


class MemorySettings(Table):
    """[memory]: what recall returns."""

    k: int = Field(default=32, ge=1)
    """The most passages a recall returns."""
    budget: int = Field(default=1000, ge=1)
    """The most tokens they may cost together."""
    whole: int = Field(default=4000, ge=0)
    """While memory comes to at most so many tokens, and to a quarter of the model's window, all of
    it stands in the prompt. 0: never, only its core."""
    capture: Literal["always", "compaction", "never"] = "always"
    """When what was said is read for lasting facts: at the end of each session and before it is
    compacted, only before it is compacted, or never. It takes a language model."""
    capture_tokens: int = Field(default=1_000_000, ge=0)
    """The most tokens a month that reading ended sessions may cost."""


class EmbeddingSettings(Table):
    """[embedding]: the model that turns text into vectors."""

    model: str = "all-MiniLM-L6-v2"
    """`all-MiniLM-L6-v2`, which is installed with this program, or the path of a
    sentence-transformers model, for which the extra `assistant[models]` must be installed."""

    query_prefix: str | None = None
    """What the model wants before a question, as e5 wants `query: `. By default, what the model's
    own configuration says."""

    document_prefix: str | None = None
    """What it wants before a text of memory, as e5 wants `passage: `."""


class IndexSettings(Table):
    """[index]: where the vectors are kept."""

    url: str | None = None
    """A Chroma server, `http://host:port`. Unset: Chroma inside the workspace."""
    api_key_env: str | None = None
    """The environment variable that holds the server's token."""
    tenant: str = "default_tenant"
    """Chroma's tenant."""
    database: str = "default_database"
    """Chroma's database."""


class DaemonSettings(Table):
    """[daemon]: the resident process that owns the index."""

    idle_seconds: float = Field(default=900.0, gt=0)
    """How long it stays when nobody asks."""
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
    """The most tokens that its passages may take of a recall; with those of all other sources
    never more than half of it."""

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
