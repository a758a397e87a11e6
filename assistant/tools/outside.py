"""What a conversation reaches beyond itself: files, commands, the web, other people's tools."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from assistant.secrets.redactor import Redactor
from assistant.settings.tree import Settings
from assistant.tools.base import Tool
from assistant.tools.files.read import reading_tools
from assistant.tools.files.roots import Roots
from assistant.tools.files.search import searching_tools
from assistant.tools.files.write import writing_tools
from assistant.tools.foreign import servers
from assistant.tools.foreign.pins import Pins
from assistant.tools.foreign.tools import Foreign
from assistant.tools.shell.command import Shell
from assistant.tools.shell.jobs import Jobs, job_tools
from assistant.tools.web import offered


@dataclass(frozen=True, slots=True)
class Outside:
    """The tools that reach out; `close` ends what they began."""

    tools: tuple[Tool, ...]
    close: Callable[[], None]


def outside(
    roots: Roots,
    redactor: Redactor,
    interrupt: threading.Event,
    chosen: Settings,
    tell: Callable[[str], None],
    *,
    trusted: bool,
) -> Outside:
    """What the settings allow; `tell` is given what the owner should hear of it.

    A workspace that is not trusted names no servers.
    """
    jobs, web = Jobs(), offered.web(chosen.web, interrupt)
    named = servers.named_by(chosen.mcpServers, roots.workspace.root if trusted else None)
    foreign = Foreign(named.servers, Pins(), tell, interrupt)
    for notice in (*web.notices, *named.notices):
        tell(notice)
    tools = (
        *reading_tools(roots),
        *searching_tools(roots),
        *writing_tools(roots, redactor),
        Shell(roots, redactor, interrupt, settings=chosen.shell, jobs=jobs).as_tool(),
        *job_tools(jobs, interrupt),
        *web.tools,
        *foreign.tools(),
    )
    ending = ExitStack()
    for close in (web.close, foreign.close, jobs.close):
        ending.callback(close)
    return Outside(tools, ending.close)
