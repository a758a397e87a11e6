"""Tools that reach outside a conversation: files, commands, the web and MCP servers."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

from assistant.disk import storage
from assistant.secrets.redactor import Redactor
from assistant.settings.sections import WebSettings
from assistant.settings.tree import Settings
from assistant.tools.base import Runner, Tool
from assistant.tools.files.access import Access, Roots
from assistant.tools.files.read import reading_tools, searching_tools
from assistant.tools.files.write import writing_tools
from assistant.tools.mcp_client import servers
from assistant.tools.mcp_client.pins import Pins
from assistant.tools.mcp_client.tools import Foreign
from assistant.tools.shell.command import Jobs, Shell, job_tools
from assistant.tools.web import search
from assistant.tools.web.addresses import Guard
from assistant.tools.web.browser import Browser, Save, browsing_tool, missing, saving
from assistant.tools.web.fetch import fetching_tool
from assistant.workspace.checkpoints import Checkpoints

PAGE_SECONDS = 30.0
"""Timeout of fetching a page, in seconds."""
PAGE_BYTES = 5_000_000
"""Maximum bytes read of a page."""


@dataclass(frozen=True, slots=True)
class Outside:
    """The tools that reach outside; `close` ends what they started, `notices` name anything
    missing, and `run_hook` runs the owner's hooks."""

    tools: tuple[Tool, ...]
    close: Callable[[], None]
    notices: tuple[str, ...] = ()
    run_hook: Runner | None = None


def outside(
    roots: Roots,
    redactor: Redactor,
    interrupt: threading.Event,
    chosen: Settings,
    checkpoints: Checkpoints,
    *,
    trusted: bool,
    off_the_record: bool = False,
) -> Outside:
    """Return the tools that the settings allow.

    An untrusted workspace contributes no MCP servers. Off the record no download is saved.
    """
    storage.TOOL_FOLDERS.update(roots.directories)
    save = None if off_the_record else saving(Access(roots, "write_file"), checkpoints)
    jobs, web = Jobs(), web_tools(chosen.web, interrupt, roots, save)
    configured = servers.named_by(
        chosen.mcpServers, roots.workspace.root if trusted else None, roots.directories
    )
    notices = [*web.notices, *configured.notices]
    foreign = Foreign(configured.servers, Pins(), notices.append, interrupt)
    shell = Shell(
        roots,
        redactor,
        interrupt,
        settings=chosen.shell,
        jobs=jobs,
        checkpoints=checkpoints,
    )
    tools = (
        *reading_tools(roots, chosen.context.result_characters),
        *searching_tools(roots),
        *writing_tools(roots, redactor, checkpoints),
        *shell.tools(),
        *job_tools(jobs, interrupt),
        *web.tools,
        *foreign.tools(),
    )
    cleanup = ExitStack()
    for close in (web.close, foreign.close, jobs.close):
        cleanup.callback(close)
    return Outside(tools, cleanup.close, tuple(notices), shell.run_hook)


def web_tools(
    settings: WebSettings,
    interrupt: threading.Event,
    roots: Roots | None = None,
    save: Save | None = None,
) -> Outside:
    """Return those of `web_search`, `fetch_url` and `browse` that are configured."""
    guard, browser = Guard(settings.allow_private), None
    rules = roots.rules if roots else None
    tools: list[Tool] = []
    notices: list[str] = []
    if settings.search:
        # chosen by the owner, so it may be private
        host = urlsplit(settings.search_url or "").hostname
        tools.append(search.searching_tool(settings, Guard([host] if host else [])))
    if settings.fetch:
        tools.append(fetching_tool(guard, PAGE_SECONDS, PAGE_BYTES, rules))
    if settings.browse and (reason := missing(settings.browser)):
        notices.append(f"`browse` is not offered: {reason}")
    elif settings.browse:
        browser = Browser(settings.browser, guard, PAGE_SECONDS, interrupt, save)
        tools.append(browsing_tool(browser, Access(roots, "browse") if roots else None))
    return Outside(tuple(tools), browser.close if browser else lambda: None, tuple(notices))
