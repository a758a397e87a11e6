"""The settings, validated. Their sources are in `config.py`; an unknown key is an error."""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from assistant import config
from assistant.errors import ConfigError

SERVERS = "mcpServers"
"""The section of other people's tools; it has the name that other programs have for it."""
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Levels of thinking, by the names that providers have for them."""


def _listed(value: Any) -> Any:
    """A list that a variable of the environment holds: as JSON, or one text a line."""
    if not isinstance(value, str):
        return value
    return json.loads(value) if value.lstrip().startswith("[") else value.splitlines()


def _profiles(value: Any) -> Any:
    """Profiles as a list of tables, of names, or as the environment holds them."""
    if isinstance(value, str):
        value = json.loads(value) if value.lstrip().startswith("[") else value.split(",")
    named = isinstance(value, list | tuple)
    return [{"name": e.strip()} if isinstance(e, str) else e for e in value] if named else value


RESERVED = frozenset({"memory", "sessions"})
"""What `recall --in` calls the owner's facts, and past conversations."""
Texts = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class _Section(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, protected_namespaces=()
    )


class ModelSettings(_Section):
    """[model]: the language model that answers."""

    name: str | None = None
    """A model as litellm names it, such as `ollama_chat/qwen3` or `anthropic/claude-sonnet-5-5`.
    Unset: the offline responder."""
    api_base: str | None = None
    """The address of the provider's API, for a local server or a proxy."""
    context_window: int | None = Field(default=None, ge=1024)
    """Tokens the model can take. Unset: what the provider reports, else 32,000."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """The longest reply to ask for, in tokens. Unset: the provider's own limit."""
    effort: Effort | None = None
    """How much the model is to think. Unset: as its provider has it."""
    thinking: bool | None = None
    """Turn thinking on or off. Unset: as its provider has it."""
    timeout_seconds: float = Field(default=120.0, gt=0)
    """How long the connection may be silent."""
    first_token_seconds: float = Field(default=300.0, gt=0)
    """How long to wait for the first word, whatever else the connection carries."""
    answer_seconds: float = Field(default=1800.0, gt=0)
    """How long one answer may take in all."""
    retry_seconds: float = Field(default=120.0, ge=0)
    """How long a request that fails is tried again, with growing pauses."""
    tool_calls: Literal["all", "one"] = "all"
    """Run all tool calls of a reply in order, or only the first."""
    max_rounds: int = Field(default=25, ge=1)
    """Requests to the model in one turn, before it is told to come to an end."""
    resident: bool = True
    """After an `ask`, keep a process with the provider's library imported (200 MB), so that the
    next leaves at once; it goes when nobody has asked for `daemon.idle_seconds`."""
    tool_format: Literal["auto", "native", "xml"] = "auto"
    """How tools are offered: by the provider's own tool calling, or as XML in the prompt."""


class ProfileSettings(_Section):
    """[[profiles]]: models to fall back on, in order, when the one before it is not available."""

    name: str
    """A model as litellm names it."""
    api_base: str | None = None
    """The address of its API."""
    api_key_env: str | None = None
    """The environment variable that holds its key. Unset: the provider's usual one."""
    context_window: int | None = Field(default=None, ge=1024)
    """Tokens the model can take."""
    effort: Effort | None = None
    """How much it is to think. Unset: as `model.effort`."""
    thinking: bool | None = None
    """Turn its thinking on or off. Unset: as `model.thinking`."""


class MemorySettings(_Section):
    """[memory]: what recall returns."""

    k: int = Field(default=24, ge=1)
    """The most passages a recall returns."""
    budget: int = Field(default=1000, ge=1)
    """The most tokens they may cost together."""
    abstain: bool = True
    """Return nothing rather than passages whose match is too weak to mean anything."""
    capture: Literal["always", "compaction", "never"] = "always"
    """When what was said is read for lasting facts: at the end of each session and before it is
    compacted, only before it is compacted, or never. It takes a language model."""
    capture_tokens: int = Field(default=1_000_000, ge=0)
    """The most tokens a month that reading ended sessions may cost."""


class EmbeddingSettings(_Section):
    """[embedding]: the model that turns text into vectors."""

    model: str = "all-MiniLM-L6-v2"
    """`all-MiniLM-L6-v2`, which is installed with this program, or the path of a
    sentence-transformers model, for which the extra `assistant[models]` must be installed."""

    query_prefix: str | None = None
    """What the model wants before a question, as e5 wants `query: `. By default, what the model's
    own configuration says."""

    document_prefix: str | None = None
    """What it wants before a text of memory, as e5 wants `passage: `."""


class IndexSettings(_Section):
    """[index]: where the vectors are kept."""

    url: str | None = None
    """A Chroma server, `http://host:port`. Unset: Chroma inside the workspace."""
    api_key_env: str | None = None
    """The environment variable that holds the server's token."""
    tenant: str = "default_tenant"
    """Chroma's tenant."""
    database: str = "default_database"
    """Chroma's database."""


class DaemonSettings(_Section):
    """[daemon]: the resident process that owns the index."""

    idle_seconds: float = Field(default=900.0, gt=0)
    """How long it stays when nobody asks."""
    polling: Literal["auto", "always", "never"] = "auto"
    """Watch files by polling: where native events do not work, always, or never."""


class PolicySettings(_Section):
    """[policy]: which tool calls run, ask, or never run. A rule is `tool` or `tool:pattern`."""

    allow: Texts = ()
    """Calls that run unasked, such as `shell:git status*`."""
    ask: Texts = ()
    """Calls that ask, whatever their danger level."""
    deny: Texts = ()
    """Calls that never run; this list wins over the others."""


class ShellSettings(_Section):
    """[shell]: what commands may use, and read besides the workspace and the system."""

    readable: tuple[str, ...] = ()
    """Directories and files that sandboxed commands may read too, such as `~/.local/bin`."""
    processes: int = Field(default=512, ge=8)
    """The most processes that a command may have at once."""
    memory_mb: int | None = Field(default=None, ge=64)
    """The most megabytes of memory that a command may take. Unset: half of the machine's."""


class WebSettings(_Section):
    """[web]: what the model may reach of the web. Nothing, until it is set."""

    fetch: bool = False
    """Let the model read pages, with `fetch_url`."""
    search: Literal["tavily", "brave", "searxng"] | None = None
    """The service that `web_search` asks. Unset: there is no search."""
    search_url: str | None = None
    """The service's address: a SearXNG server's, or a proxy's for the others."""
    search_key_env: str | None = None
    """The environment variable that holds the service's key. Unset: `TAVILY_API_KEY` or
    `BRAVE_API_KEY`."""
    browse: bool = False
    """Let the model open, read, click and type in a real page, with `browse`. Needs the extra
    `assistant[browse]`, and a Chromium."""
    browser: str | None = None
    """The Chromium to use. Unset: the system's."""
    allow_private: Texts = ()
    """Names, addresses and networks (`10.0.0.0/8`) that pages may be read from although they are
    private; all others are of the public internet."""
    timeout_seconds: float = Field(default=30.0, gt=0)
    """How long a page or a search may take in all."""
    max_bytes: int = Field(default=5_000_000, ge=1024)
    """How much of a page is read."""


class DelegationSettings(_Section):
    """[delegation]: what a subtask of `delegate` may take."""

    rounds: int = Field(default=15, ge=1)
    """Requests to the model, before it is told to come to an end."""
    tokens: int = Field(default=200_000, ge=1)
    """Tokens of all its requests and answers; then it is stopped."""
    at_once: int = Field(default=4, ge=1)
    """Subtasks that run at the same time; the others wait."""


class ServerSettings(_Section):
    """[mcpServers.NAME]: a server of other people's tools, in the Model Context Protocol."""

    type: str | None = None
    """`stdio` or `http`, as other programs write it; what is used follows from the rest."""
    command: str | None = None
    """The command that starts it, which speaks the protocol on standard input and output."""
    args: tuple[str, ...] = ()
    """The command's arguments. `${NAME}` is filled in from the environment, here and below."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables that it is given; of yours it gets no more than `HOME`, `PATH` and the like."""
    cwd: str | None = None
    """The directory it is started in."""
    url: str | None = None
    """The address of one that runs already, which speaks the protocol over HTTP."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers that it is sent, such as a token."""
    disabled: bool = False
    """Leave it out."""
    start_seconds: float = Field(default=10.0, gt=0)
    """How long it may take to start, and to name its tools."""
    timeout_seconds: float = Field(default=60.0, gt=0)
    """How long a call may take."""

    @model_validator(mode="after")
    def _reached_in_one_way(self) -> "ServerSettings":
        if bool(self.command) == bool(self.url):
            raise ValueError("a server with a `command` or with a `url`")
        return self


def _sections(value: Any) -> Any:
    """Sections as a list of tables, of names, or as the environment holds them."""
    listed = _listed(value)
    if not isinstance(listed, list | tuple):
        return listed
    return [{"name": each} if isinstance(each, str) else each for each in listed]


def _inside(files: tuple[str, ...]) -> tuple[str, ...]:
    for each in files:
        path = PurePosixPath(each)
        if path.is_absolute() or each.startswith("~") or {"..", ".assistant"} & set(path.parts):
            raise ValueError(f"a file of the workspace, which {each} is not")
    return files


class SectionSettings(_Section):
    """[[context.sections]]: a section of the prompt."""

    name: str
    """One of the program's own, or one of yours; `*` stands for all that are not named."""
    title: str | None = None
    """Its heading in the prompt."""
    files: Annotated[Texts, AfterValidator(_inside)] = ()
    """The files of the workspace that feed it."""
    budget: int | None = Field(default=None, ge=1)
    """The most tokens of each of its files."""


class ContextSettings(_Section):
    """[context]: the recipe of the prompt. May also stand in a workspace's assistant.toml."""

    sections: Annotated[tuple[SectionSettings, ...], BeforeValidator(_sections)] = ()
    """The sections of the prompt, in order: names, or tables with `name`, `title`, `files` and
    `budget`. Unset: `identity`, `guardrails`, `profile`, `rules`, `procedures`, `sensitive`,
    `tools`, `skills`, `bootstrap`."""

    compact_at: float = Field(default=0.70, gt=0.1, lt=1.0)
    """The share of the room for history at which compaction starts."""
    keep_recent: float = Field(default=0.30, gt=0.0, lt=1.0)
    """The share of the history, newest turns first, that compaction keeps word for word."""
    memory_at: Literal["message", "system"] = "message"
    """Where memory, notes and the time stand: before the owner's latest message, so that all
    before it is read by the provider once, or in the system prompt, before the history."""
    reserve_tokens: int = Field(default=4096, ge=0)
    """Tokens of the window kept free for the reply."""


class SkillsSettings(_Section):
    """[skills]: which skills the prompt's index lists. May also stand in assistant.toml."""

    disabled: Texts = ()
    """Names of skills to leave out."""
    folders: Texts = ()
    """Further folders of skills, such as `~/skills`; never in assistant.toml. Tools may read them,
    and ask before they change anything there."""


class HeartbeatSettings(_Section):
    """[heartbeat]: what the assistant looks after by itself."""

    tokens: int = Field(default=30_000, ge=1)
    """The most tokens of one beat; then it is stopped."""
    monthly_tokens: int = Field(default=1_000_000, ge=0)
    """The most tokens a month that beats may cost together."""
    every_minutes: int = Field(default=5, ge=1, le=60)
    """How often an installed heartbeat looks whether something is due."""
    notify: str | None = None
    """A command that is given what a beat says on standard input. Unset: the desktop's own
    notification, if there is one. Empty: none."""


class ChatSettings(_Section):
    """[chat]: the chat in a terminal."""

    keys: Literal["emacs", "vi"] = "emacs"
    """The keys that edit a line: as in most shells, or as in vi."""


class SourceSettings(_Section):
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

    @field_validator("name")
    @classmethod
    def _is_free(cls, name: str) -> str:
        if name in RESERVED:
            raise ValueError(f"another name than {' and '.join(sorted(RESERVED))}")
        return name

    @field_validator("path")
    @classmethod
    def _is_absolute(cls, path: str) -> str:
        if not path.startswith(("/", "~")):
            raise ValueError("an absolute path, or one that begins with ~")
        return path


class Settings(_Section):
    """Every setting, by section."""

    model: ModelSettings = ModelSettings()
    profiles: Annotated[tuple[ProfileSettings, ...], BeforeValidator(_profiles)] = ()
    memory: MemorySettings = MemorySettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    index: IndexSettings = IndexSettings()
    daemon: DaemonSettings = DaemonSettings()
    policy: PolicySettings = PolicySettings()
    shell: ShellSettings = ShellSettings()
    web: WebSettings = WebSettings()
    delegation: DelegationSettings = DelegationSettings()
    mcpServers: dict[str, ServerSettings] = Field(default_factory=dict)
    context: ContextSettings = ContextSettings()
    skills: SkillsSettings = SkillsSettings()
    chat: ChatSettings = ChatSettings()
    heartbeat: HeartbeatSettings = HeartbeatSettings()
    sources: Annotated[tuple[SourceSettings, ...], BeforeValidator(_listed)] = ()

    @field_validator("sources")
    @classmethod
    def _are_told_apart(cls, sources: tuple[SourceSettings, ...]) -> tuple[SourceSettings, ...]:
        names = [each.name for each in sources]
        if len(set(names)) < len(names):
            raise ValueError("sources with a name of their own each")
        return sources


LISTED: dict[str, type[BaseModel]] = {"profiles": ProfileSettings, "sources": SourceSettings}
"""The sections that are lists of tables."""


def validate(
    raw: Mapping[str, Any], recipe: Path | None = None, *, placed: bool = True
) -> Settings:
    """The settings that `config.load` gathered, with that `recipe`.

    Raises ConfigError that names the first fault, what would cure it, and, if they are `placed`,
    where it stands.
    """
    try:
        return Settings.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = config.whence(first["loc"], config.layers(recipe=recipe)) if placed else ""
        raise _fault(first, f" ({place})" if place else "") from error


def _fault(error: Mapping[str, Any], place: str) -> ConfigError:
    key = shown_key(error["loc"])
    if error["type"] == "extra_forbidden":
        near = get_close_matches(key, names(), n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        return ConfigError(
            f"there is no setting {key!r}{place}",
            f"{meant}Run `assistant config show` for those there are",
        )
    said = error["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    if error["loc"][0] == SERVERS:
        return ConfigError(
            f"{key} should be {said}{place}", "`assistant config edit` opens the file"
        )
    return ConfigError(
        f"the setting {key!r} cannot be {error['input']!r}{place}: it should be {said}",
        f"Correct it with `assistant config set {key} VALUE`",
    )


def names() -> list[str]:
    """The names of all settings; those of a list of tables as of the first one."""
    found = []
    for section, field in Settings.model_fields.items():
        if section == SERVERS:  # their names are the owner's
            continue
        listed = LISTED.get(section)
        model, first = (listed, "1.") if listed else (field.annotation, "")
        assert isinstance(model, type) and issubclass(model, BaseModel)
        found += [f"{section}.{first}{name}" for name in model.model_fields]
    return found


def shown_key(path: tuple[str | int, ...]) -> str:
    """A setting's name as people write it: `memory.k`, `profiles.1.name` for the first."""
    return ".".join(str(part + 1 if isinstance(part, int) else part) for part in path)
