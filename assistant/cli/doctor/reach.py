"""What it does by itself and beyond itself: its tasks, the web, other people's tools."""

from concurrent.futures import ThreadPoolExecutor

from assistant import config
from assistant.acting.heartbeat import beat
from assistant.cli.doctor.check import Check, Remark
from assistant.cli.options import Globals
from assistant.display import counted
from assistant.errors import ConfigError, ToolError
from assistant.settings import tree as settings
from assistant.tools.mcp_client import servers
from assistant.tools.mcp_client.pins import Pins
from assistant.tools.mcp_client.tools import checked
from assistant.tools.web import browser, search

OFF = "`assistant config unset` turns it off"


def _heartbeat(options: Globals) -> str:
    tasks, unread = beat.read(options.place())
    if unread:
        lines = ", ".join(str(each.line) for each in unread)
        said = f"HEARTBEAT.md has lines that are not understood: {lines}"
        raise Remark(said, "`assistant heartbeat explain` says why")
    return counted(len(tasks), "task") if tasks else "no tasks"


def _web(_: Globals) -> str:
    """What is turned on, and whether it has what it needs; nothing is asked of anybody."""
    chosen = settings.validate(config.load()).web
    if lacks := search.lacking(chosen):
        raise ConfigError(f"`web_search` cannot be used: {lacks}", OFF)
    if chosen.browse and (why := browser.missing(chosen.browser)):
        raise ConfigError(f"`browse` is not offered: {why}", OFF)
    on = [f"search by {chosen.search}"] if chosen.search else []
    on += [name for name in ("fetch", "browse") if getattr(chosen, name)]
    return ", ".join(on) or "off"


def _servers(options: Globals) -> str:
    """Start or reach each server that its owner wants, all at once."""
    named = servers.of(options.place())
    wanted = [each for each in named.servers if not each.settings.disabled]
    started = [each for each in wanted if Pins().may_start(each)]
    with ThreadPoolExecutor(max(len(started), 1)) as asking:
        found = list(asking.map(checked, started))
    if faults := [each.fault for each in found if each.fault]:
        raise ToolError("; ".join(faults), "`assistant mcp-servers check` asks again")
    held = [f"{each.name} describes tools otherwise" for each in found if each.changed]
    waiting = [f"{each.name} was not agreed to" for each in wanted if each not in started]
    if doubts := [*named.notices, *held, *waiting]:
        raise Remark("; ".join(doubts), "`assistant mcp-servers approve NAME` shows what is asked")
    tools = sum(len(each.tools) for each in found)
    return f"{counted(len(found), 'server')}, {counted(tools, 'tool')}" if found else "none"


CHECKS: dict[str, Check] = {"heartbeat": _heartbeat, "web": _web, "MCP servers": _servers}
