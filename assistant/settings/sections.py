"""The sections of the settings, and their types."""

import json
import re
from datetime import time
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from assistant.disk import storage

SERVERS = "mcpServers"
"""The section of MCP servers, under the name that other programs use."""


_JSON = re.compile(r'\s*\[\s*["{\]]')
"""The beginning of a JSON list of texts or tables; `[[secret:NAME]]` and `[a-z]*` are texts."""


def as_list(value: Any) -> Any:
    """Parse a list from a text: JSON, or one text per line."""
    if not isinstance(value, str):
        return value
    if not _JSON.match(value):
        return value.splitlines()
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError("a list as JSON") from error


def as_tables(value: Any) -> Any:
    """Parse a list of tables, in which a text stands for a table with only a name.

    An environment variable may be JSON, or names separated by commas or line ends.
    """
    if isinstance(value, str) and not _JSON.match(value):
        value = [name for name in re.split(r"[,\n]", value) if name.strip()]
    listed = as_list(value)
    if not isinstance(listed, list | tuple):
        return listed
    return [{"name": item.strip()} if isinstance(item, str) else item for item in listed]


RESERVED = frozenset({"memory", "sessions"})
"""Names of `recall --in` for the owner's facts and past conversations."""


Texts = Annotated[tuple[str, ...], BeforeValidator(as_list)]


CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d"


class Table(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        protected_namespaces=(),
    )


def _is_address(url: str | None) -> str | None:
    if url and not (url.startswith(("http://", "https://")) and urlsplit(url).hostname):
        raise ValueError("an address such as http://localhost:8000")
    return url


Address = Annotated[str | None, AfterValidator(_is_address)]
"""An address of a server; unset or empty for none."""


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Levels of thinking, by the providers' names for them."""


class ModelSettings(Table):
    """[model]: the language model that answers."""

    name: Annotated[str | None, AfterValidator(lambda name: name or None)] = None
    """A model as litellm names it, such as `ollama_chat/qwen3` or `anthropic/claude-sonnet-5-5`.
    Unset: the offline responder."""
    api_base: Address = None
    """The address of the provider's API, for a local server or a proxy."""
    context_window: int | None = Field(default=None, ge=1024)
    """Tokens the model accepts. Unset: what the provider reports, else 32,000."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """Maximum tokens of a reply. Unset: the provider's limit."""
    effort: Effort | None = None
    """How hard the model thinks; `none` turns thinking off. Unset: the provider's default."""
    timeout_seconds: float = Field(default=120.0, gt=0)
    """Maximum seconds of silence in an answer. Its first word may take 2.5 times as long (no
    limit for a model on this machine), and the whole answer 15 times as long."""
    retry_seconds: float = Field(default=120.0, ge=0)
    """How long a request is retried while the provider is overloaded or unreachable, in seconds."""
    max_rounds: int = Field(default=25, ge=1)
    """Maximum requests to the model in a turn, before it has to answer."""
    resident: bool = True
    """After an `ask`, keep a process with the provider's library loaded (200 MB), so that the next
    starts at once. It ends after `daemon.idle_seconds`."""
    sees: bool | None = None
    """Whether the model accepts pictures. Unset: what litellm knows, else pictures are sent."""
    tool_format: Literal["auto", "native", "xml"] = "auto"
    """How tools are offered: by the provider's tool calling, or as XML in the prompt."""


class ProfileSettings(Table):
    """[[profiles]]: fallback models, tried in order when the one before is unavailable."""

    name: str
    """A model as litellm names it."""
    api_base: Address = None
    """The address of its API."""
    api_key_env: str | None = None
    """The environment variable that holds its key. Unset: the provider's usual one."""
    context_window: int | None = Field(default=None, ge=1024)
    """Tokens the model accepts."""


class MemorySettings(Table):
    """[memory]: what recall returns."""

    k: int = Field(default=32, ge=1)
    """Maximum number of passages a recall returns."""
    budget: int = Field(default=1000, ge=1)
    """Maximum tokens of those passages; a turn of a chat gets at most 450 of facts."""
    whole: int = Field(default=4000, ge=0)
    """Maximum tokens of a memory that is in the prompt as a whole, at most a quarter of the model's
    window. 0: only its core is in the prompt."""
    capture: Literal["always", "compaction", "never"] = "always"
    """When facts are extracted from conversations: at their end and before compaction, only before
    compaction, or never. Needs a language model."""
    capture_tokens: int = Field(default=1_000_000, ge=0)
    """Maximum tokens a month for extracting facts after conversations have ended."""
    upkeep: Literal["daily", "never"] = "daily"
    """Whether the program's entries in MEMORY.md are tidied once a day, before facts are extracted:
    superseded and past facts are archived, and old ones moved under your headings."""


class EmbeddingSettings(Table):
    """[embedding]: the model that turns text into vectors."""

    model: str = "all-MiniLM-L6-v2"
    """`all-MiniLM-L6-v2`, which is installed, or the path of a sentence-transformers model, which
    needs the extra `models` (`scripts/environment models`)."""

    query_prefix: str | None = None
    """The prefix that the model needs before a question, such as `query: ` for e5. Unset: the one
    in its configuration."""

    document_prefix: str | None = None
    """The prefix that it needs before a text of memory, such as `passage: ` for e5."""


class IndexSettings(Table):
    """[index]: where the vectors are stored."""

    url: Address = None
    """A Chroma server, `http://host:port`. Unset: Chroma inside the workspace."""
    api_key_env: str | None = None
    """The environment variable that holds the server's token."""


class DaemonSettings(Table):
    """[daemon]: the resident process that owns the index."""

    idle_seconds: float = Field(default=900.0, gt=0)
    """Seconds without a request after which the daemon ends."""


class SourceSettings(Table):
    """[[sources]]: your notes, recalled in place and never written to."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=40)
    """The name in citations of its passages: `NAME:Folder/Note.md:12`."""
    path: str
    """The folder, such as an Obsidian vault; `~` is your home."""
    include: Texts = ()
    """Globs of the notes to recall, such as `Work/**`. Unset: all of them."""
    exclude: Texts = ()
    """Globs of folders and notes to leave out."""

    @property
    def folder(self) -> Path:
        """The folder of the notes."""
        return storage.expanded(self.path)

    @field_validator("name")
    @classmethod
    def _is_free(cls, name: str) -> str:
        if name.lower() in RESERVED:
            raise ValueError(f"another name than {' and '.join(sorted(RESERVED))}")
        return name

    @field_validator("path")
    @classmethod
    def _is_absolute(cls, path: str) -> str:
        if not storage.expanded(path).is_absolute():
            raise ValueError("an absolute path, or one that begins with ~")
        return path


def _in_workspace(files: tuple[str, ...]) -> tuple[str, ...]:
    for file in files:
        path = PurePosixPath(file)
        if path.is_absolute() or file.startswith("~") or {"..", ".assistant"} & set(path.parts):
            raise ValueError(f"a file of the workspace, but {file} is not one")
    return files


class SectionSettings(Table):
    """[[context.sections]]: a section of the prompt."""

    name: str
    """One of the program's own, or one of yours; `*` stands for all others."""
    title: str | None = None
    """Its heading in the prompt."""
    files: Annotated[Texts, AfterValidator(_in_workspace)] = ()
    """The files of the workspace that it shows."""
    budget: int | None = Field(default=None, ge=1)
    """Maximum tokens of each of its files."""


PROMPT_SECTIONS = (
    "identity", "guardrails", "profile", "rules", "procedures", "sensitive", "tools", "memory",
    "skills", "bootstrap",
)  # fmt: skip
"""The sections of the prompt that the program provides."""
REST = "*"
"""In a list of sections: all of `PROMPT_SECTIONS` that the list does not name."""


class ContextSettings(Table):
    """[context]: the recipe of the prompt. May also be in a workspace's assistant.toml."""

    sections: Annotated[tuple[SectionSettings, ...], BeforeValidator(as_tables)] = ()
    """The sections of the prompt, in order: names, or tables with `name`, `title`, `files` and
    `budget`. Unset: `identity`, `guardrails`, `profile`, `rules`, `procedures`, `sensitive`,
    `tools`, `memory`, `skills`, `bootstrap`."""

    compact_at: float = Field(default=0.70, gt=0.1, lt=1.0)
    """Share of the space for the history above which it is compacted."""

    @field_validator("sections")
    @classmethod
    def _are_unique(cls, sections: tuple[SectionSettings, ...]) -> tuple[SectionSettings, ...]:
        names = [section.name for section in sections]
        for section in sections:
            name = section.name
            if not (section.files or name in (*PROMPT_SECTIONS, REST)):
                near = get_close_matches(name, PROMPT_SECTIONS, n=1)
                known = ", ".join(PROMPT_SECTIONS)
                suggestion = f"Did you mean {near[0]}?" if near else f"There are {known}."
                raise ValueError(
                    f"names of sections, but {name} is none. {suggestion} Your own need `files`"
                )
            if names.count(name) > 1:
                raise ValueError(f"names of sections, but {name} is in it twice")
        return sections

    keep_recent: float = Field(default=0.30, gt=0.0, lt=1.0)
    """The share of the history, newest first, that compaction keeps verbatim."""
    reserve_tokens: int = Field(default=4096, ge=0)
    """Tokens kept free for the reply."""
    result_characters: int = Field(default=20_000, ge=1_000)
    """Maximum characters of a tool's result that the model is given at once."""


class ChatSettings(Table):
    """[chat]: the chat in a terminal."""

    keys: Literal["emacs", "vi"] = "emacs"
    """Editing keys."""


class PolicySettings(Table):
    """[policy]: which tool calls run, ask, or never run. A rule is `tool` or `tool:pattern`."""

    allow: Texts = ()
    """Calls that run without asking, such as `shell:git status*`."""
    ask: Texts = ()
    """Calls that always ask."""
    deny: Texts = ()
    """Calls that never run; wins over the others."""


class HookSettings(Table):
    """[[hooks]]: your commands before and after the model's tool calls."""

    run: str
    """The command. Before a call it gets `$TOOL` and `$ARGUMENTS` (JSON), after it also `$RESULT`
    and `$FAILED`. The model gets its output."""
    before: Texts = ()
    """The calls before which it runs, as in `policy`. If it fails, the call does not run."""
    after: Texts = ()
    """The calls after which it runs."""
    outside: bool = False
    """Run it outside the sandbox."""


class ShellSettings(Table):
    """[shell]: resources of commands, and what they may read besides the workspace and the
    system."""

    readable: Texts = ()
    """Further paths that sandboxed commands may read, such as `~/.local/bin`."""
    processes: int = Field(default=512, ge=8)
    """Maximum processes of a command."""
    memory_mb: int | None = Field(default=None, ge=64)
    """Maximum memory of a command. Unset: half of the machine's."""


class WebSettings(Table):
    """[web]: the model's access to the web. None, until it is set."""

    fetch: bool = False
    """Let the model read pages, with `fetch_url`."""
    search: Literal["tavily", "brave", "searxng"] | None = None
    """The service that `web_search` uses, with the key in `TAVILY_API_KEY` or `BRAVE_API_KEY`.
    Unset: there is no search."""
    search_url: Address = None
    """Its address: a SearXNG server's, or a proxy's."""
    browse: bool = False
    """Let the model use pages in a browser, including downloads, with `browse`. Needs the extra
    `browse` (`scripts/environment browse`) and a Chromium."""
    browser: str | None = None
    """The Chromium to use. Unset: the system's."""
    allow_private: Texts = ()
    """Private names, addresses and networks (`10.0.0.0/8`) from which pages may be read."""

    @field_validator("allow_private")
    @classmethod
    def _are_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if "/" in host:
                try:
                    ip_network(host, strict=False)
                except ValueError as error:
                    raise ValueError(
                        f"names, addresses and networks such as 10.0.0.0/8, but {host} is none"
                    ) from error
        return hosts


class ServerSettings(Table):
    """[mcpServers.NAME]: an external tool server that speaks the Model Context Protocol."""

    type: str | None = None
    """`stdio` or `http`, as in other programs; ignored, since `command` or `url` decides."""
    command: str | None = None
    """The command that starts it, which speaks the protocol on standard input and output."""
    args: Texts = ()
    """The command's arguments. `${NAME}` is filled in from the environment, here and below."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables for it; of yours, it gets only `HOME`, `PATH` and similar ones."""
    cwd: str | None = None
    """The directory in which it is started."""
    url: str | None = None
    """The address of a running server that speaks the protocol over HTTP."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers to send to it, such as a token."""
    disabled: bool = False
    """Do not use this server."""
    start_seconds: float = Field(default=30.0, gt=0)
    """Maximum seconds to start and list its tools; `npx` downloads it first."""
    timeout_seconds: float = Field(default=60.0, gt=0)
    """Maximum seconds of a call."""

    @model_validator(mode="after")
    def _has_command_or_url(self) -> "ServerSettings":
        if bool(self.command) == bool(self.url):
            raise ValueError("a server with a `command` or with a `url`")
        return self


class SkillsSettings(Table):
    """[skills]: which skills the prompt's index lists. May also be in assistant.toml."""

    disabled: Texts = ()
    """Names of skills to disable."""
    folders: Texts = ()
    """More folders of skills, such as `~/skills`; not in assistant.toml. Tools may read them, and
    ask before changing them."""


class HeartbeatSettings(Table):
    """[heartbeat]: tasks that the assistant does by itself."""

    tokens: int = Field(default=30_000, ge=1)
    """Maximum tokens of a run, which is then stopped."""
    monthly_tokens: int = Field(default=1_000_000, ge=0)
    """Maximum tokens a month of all runs."""
    every_minutes: int = Field(default=5, ge=1, le=60)
    """How often an installed heartbeat runs."""
    notify: str | None = None
    """A command that gets a run's message on standard input. Unset: the desktop's notification.
    Empty: none."""


class ReachSettings(Table):
    """[reach]: the channels by which news reaches its owner."""

    ways: Texts = ()
    """Addresses of Apprise, added by `assistant reach add`. Needs the extra `reach`."""
    quiet: str | None = None
    """Hours in which only reminders are sent, such as `22:00-07:00`."""
    headline: bool = False
    """Send only the first 80 characters of news."""

    @field_validator("quiet")
    @classmethod
    def _are_hours(cls, quiet: str | None) -> str | None:
        if quiet and not re.fullmatch(rf"{CLOCK}-{CLOCK}", quiet):
            raise ValueError("hours such as 22:00-07:00")
        return quiet

    def is_quiet(self, now: time) -> bool:
        """Return whether this time is in the quiet hours."""
        begin, _, end = (self.quiet or "").partition("-")
        clock = f"{now:%H:%M}"
        return begin <= clock < end if begin <= end else not end <= clock < begin
