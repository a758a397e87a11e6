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
    """Calls that run without asking, such as `shell:git status*`."""
    ask: Texts = ()
    """Calls that always ask."""
    deny: Texts = ()
    """Calls that never run; wins over the others."""


class ShellSettings(Table):
    """[shell]: what commands may use, and read besides the workspace and the system."""

    readable: tuple[str, ...] = ()
    """More that sandboxed commands may read, such as `~/.local/bin`."""
    processes: int = Field(default=512, ge=8)
    """Maximum processes of a command."""
    memory_mb: int | None = Field(default=None, ge=64)
    """Maximum memory of a command. Unset: half of the machine's."""


class WebSettings(Table):
    """[web]: what the model may reach of the web. Nothing, until it is set."""

    fetch: bool = False
    """Let the model read pages, with `fetch_url`."""
    search: Literal["tavily", "brave", "searxng"] | None = None
    """The service that `web_search` asks, with the key in `TAVILY_API_KEY` or `BRAVE_API_KEY`.
    Unset: there is no search."""
    search_url: str | None = None
    """Its address: a SearXNG server's, or a proxy's."""
    browse: bool = False
    """Let the model open, read, click and type in pages, with `browse`. Needs the extra
    `browse` (`scripts/environment browse`) and a Chromium."""
    browser: str | None = None
    """The Chromium to use. Unset: the system's."""
    allow_private: Texts = ()
    """Private names, addresses and networks (`10.0.0.0/8`) that pages may be read from."""


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
    start_seconds: float = Field(default=30.0, gt=0)
    """How long it may take to start, and to name its tools: `npx` fetches it first."""
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
    """Names of skills to disable."""
    folders: Texts = ()
    """More folders of skills, such as `~/skills`; not in assistant.toml. Tools may read them, and
    ask before changing them."""


class HeartbeatSettings(Table):
    """[heartbeat]: what the assistant looks after by itself."""

    tokens: int = Field(default=30_000, ge=1)
    """Maximum tokens of a run; then it is stopped."""
    monthly_tokens: int = Field(default=1_000_000, ge=0)
    """Maximum tokens a month of all runs."""
    every_minutes: int = Field(default=5, ge=1, le=60)
    """How often an installed heartbeat runs."""
    notify: str | None = None
    """A command that takes what a run says on standard input. Unset: the desktop's notification.
    Empty: none."""
