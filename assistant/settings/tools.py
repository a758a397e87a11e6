"""The settings of what the model may do."""

from typing import Literal

from pydantic import (
    Field,
    model_validator,
)

from assistant.settings.base import Table, Texts


class PolicySettings(Table):
    """[policy]: which tool calls run, ask, or never run. A rule is `tool` or `tool:pattern`."""

    allow: Texts = ()
    """Calls that run unasked, such as `shell:git status*`."""
    ask: Texts = ()
    """Calls that ask, whatever their danger level."""
    deny: Texts = ()
    """Calls that never run; this list wins over the others."""


class ShellSettings(Table):
    """[shell]: what commands may use, and read besides the workspace and the system."""

    readable: tuple[str, ...] = ()
    """Directories and files that sandboxed commands may read too, such as `~/.local/bin`."""
    processes: int = Field(default=512, ge=8)
    """The most processes that a command may have at once."""
    memory_mb: int | None = Field(default=None, ge=64)
    """The most megabytes of memory that a command may take. Unset: half of the machine's."""


class WebSettings(Table):
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


class DelegationSettings(Table):
    """[delegation]: what a subtask of `delegate` may take."""

    rounds: int = Field(default=15, ge=1)
    """Requests to the model, before it is told to come to an end."""
    tokens: int = Field(default=200_000, ge=1)
    """Tokens of all its requests and answers; then it is stopped."""
    at_once: int = Field(default=4, ge=1)
    """Subtasks that run at the same time; the others wait."""


class ServerSettings(Table):
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


class SkillsSettings(Table):
    """[skills]: which skills the prompt's index lists. May also stand in assistant.toml."""

    disabled: Texts = ()
    """Names of skills to leave out."""
    folders: Texts = ()
    """Further folders of skills, such as `~/skills`; never in assistant.toml. Tools may read them,
    and ask before they change anything there."""


class HeartbeatSettings(Table):
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
