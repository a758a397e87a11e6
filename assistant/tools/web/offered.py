"""The tools of the web that the owner has turned on; none until then."""

from urllib.parse import urlsplit

from assistant.settings import WebSettings
from assistant.tools.base import Tool
from assistant.tools.web.addresses import Guard
from assistant.tools.web.fetch import fetching_tool
from assistant.tools.web.search import searching_tool


def web_tools(settings: WebSettings) -> list[Tool]:
    """`web_search` and `fetch_url`, as far as they are configured."""
    found = []
    guard = Guard(settings.allow_private)
    if settings.search:
        own = urlsplit(settings.search_url or "").hostname  # named by the owner, wherever it is
        found.append(searching_tool(settings, Guard([own] if own else [])))
    if settings.fetch:
        found.append(fetching_tool(guard, settings.timeout_seconds, settings.max_bytes))
    return found
