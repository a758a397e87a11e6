"""The tools of the web that the owner has turned on; none until then."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from assistant.settings.tools import WebSettings
from assistant.tools.base import Tool
from assistant.tools.web.addresses import Guard
from assistant.tools.web.browse import browsing_tool
from assistant.tools.web.browser import Browser, missing
from assistant.tools.web.fetch import fetching_tool
from assistant.tools.web.search import searching_tool


@dataclass(slots=True)
class Web:
    """What of the web is offered; `notices` say why something is not. `close` ends a browser."""

    tools: list[Tool] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    close: Callable[[], None] = lambda: None


def web(settings: WebSettings, interrupt: threading.Event) -> Web:
    """`web_search`, `fetch_url` and `browse`, as far as they are configured."""
    found, guard = Web(), Guard(settings.allow_private)
    if settings.search:
        own = urlsplit(settings.search_url or "").hostname  # named by the owner, wherever it is
        found.tools.append(searching_tool(settings, Guard([own] if own else [])))
    if settings.fetch:
        found.tools.append(fetching_tool(guard, settings.timeout_seconds, settings.max_bytes))
    if settings.browse and (why := missing(settings.browser)):
        found.notices.append(f"`browse` is not offered: {why}")
    elif settings.browse:
        browser = Browser(settings.browser, guard, settings.timeout_seconds, interrupt)
        found.tools.append(browsing_tool(browser))
        found.close = browser.close
    return found
