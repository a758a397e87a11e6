"""What `assistant doctor` looks at: a list of checks, each of which says what is well or raises a
fault with its cure.

This module imports every heavy part of the program: only `doctor` and the first chat load it.
"""

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from assistant import config
from assistant.cli.config_file import unknown_tools
from assistant.cli.options import Globals, own_command
from assistant.disk import storage
from assistant.display import counted
from assistant.errors import (
    AssistantError,
    ConfigError,
    MemoryFailure,
    SessionError,
    StorageError,
    ToolError,
)
from assistant.heartbeat import beat
from assistant.integrations.connecting import connections, fault
from assistant.integrations.programs import Launch
from assistant.memory.base import MemoryStatus
from assistant.model import catalogue
from assistant.model.select import try_model
from assistant.session import beats, listing
from assistant.settings import tree as settings
from assistant.skills import loading as skills
from assistant.tools.mcp_client import servers
from assistant.tools.mcp_client.pins import Pins
from assistant.tools.mcp_client.tools import checked
from assistant.tools.sandbox import process
from assistant.tools.web import browser, search
from assistant.upkeep import reminders
from assistant.workspace import folder as workspace
from assistant.workspace import stores, trust

Check = Callable[[Globals], str]
"""Says what is well, or raises what is not: a Remark if nothing is broken by it."""


class Remark(AssistantError):
    """Something worth knowing that is no fault."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found, and the cure if something is to be cured."""

    name: str
    state: Literal["well", "remark", "fault"]
    said: str
    cure: str = ""

    @property
    def line(self) -> str:
        """It, in one line."""
        return f"{self.name}: {self.said}{f'. {self.cure}' if self.cure else ''}"


def examined(name: str, check: Check, options: Globals) -> Finding:
    """Carry out a check."""
    try:
        return Finding(name, "well", check(options))
    except Remark as remark:
        return Finding(name, "remark", remark.message, remark.cure)
    except AssistantError as error:
        return Finding(name, "fault", error.message, error.cure)


LITTLE, TOO_LITTLE = 500 << 20, 50 << 20
"""Bytes free on a disk: below the first it is said, below the second it is a fault."""
LISTEN_SECONDS = 3.0
"""How long the model's server may take to accept a connection."""
OFF = "`assistant config unset {}` turns it off"


def _path(_: Globals) -> str:
    found = shutil.which("assistant")
    own = Path(sys.executable).with_name("assistant")
    if not found:
        raise Remark(
            "the shell finds no `assistant`", f"Link it: `ln -s {own} ~/.local/bin/assistant`"
        )
    if own.exists() and not own.samefile(found):
        raise Remark(f"the shell finds another one first: {found}", f"This one is {own}")
    return found


def _disk(options: Globals) -> str:
    folders = [options.place().root, config.cache_dir(), config.state_dir()]
    free, folder = min((shutil.disk_usage(path).free, path) for path in folders if path.exists())
    said = f"{free / 1e6:,.0f} MB are free at {folder}"
    if free < TOO_LITTLE:
        raise StorageError(said, "Make room: what memory writes would be refused")
    if free < LITTLE:
        raise Remark(said, "Make room soon")
    return said


def _sandbox(_: Globals) -> str:
    if not process.available():
        raise Remark("does not work here: each shell command asks", "Allow user namespaces")
    return "works: user namespaces and a seccomp filter"


def _config_file(options: Globals) -> str:
    unknown = unknown_tools(options.settings().policy.model_dump())
    if unknown := [*settings.unknown_variables(), *unknown]:
        raise Remark("; ".join(unknown), "`assistant config show` lists the settings")
    path = config.config_file()
    return f"{path} is valid" if path.exists() else "all at their defaults"


def _workspace(options: Globals) -> str:
    place = options.place()
    if not trust.is_trusted(place):
        raise Remark(
            f"{place.root} is not trusted, and stays out of prompts",
            "Run `assistant trust` if it is yours",
        )
    return str(place.root)


def _files(options: Globals) -> str:
    """Whether the files of the prompt are there, and all files of the workspace can be read."""
    from assistant.agent.prompt import FILE_LIMIT

    place, faults, long = options.place(), [], []
    names = [*workspace.ALWAYS_FILES, *place.sources()]
    for name in names:
        try:
            size = len(workspace.read_text(place.root / name))
        except FileNotFoundError:
            faults.append(f"{name} is missing (`assistant init {place.root}` adds it)")
        except StorageError as error:
            faults.append(error.message)
        else:
            if name in workspace.ALWAYS_FILES and size > FILE_LIMIT:
                long.append(f"{name} has {size:,} characters")
    if faults:
        raise StorageError("; ".join(faults), "Save each as UTF-8 text, or move it elsewhere")
    if long:
        cure = f"The first {FILE_LIMIT:,} of each are in the prompt: shorten it"
        raise Remark("; ".join(long), cure)
    return f"{counted(len(names), 'file')} read"


def _journal(options: Globals) -> str:
    writes = storage.held(options.place().journal).count(b"\n")
    return counted(writes, "write")


def _sessions(options: Globals) -> str:
    found = listing.sessions(options.place().sessions)
    if faults := [session.fault for session in found if session.fault]:
        raise SessionError("; ".join(faults), "Correct the line that is named, or move the file")
    return f"{counted(len(found), 'session')} read"


def _skills(options: Globals) -> str:
    chosen = options.settings().skills
    found = skills.load(options.place(), chosen.disabled, chosen.folders)
    if found.notices:
        raise StorageError("; ".join(found.notices), "`assistant skills list` names them again")
    return counted(len(found.skills), "skill") if found.skills else "none"


def _stores(options: Globals) -> str:
    place = options.place()
    if place.private.is_dir() and place.private.stat().st_mode & 0o077:
        raise Remark(f"others may look into {place.private}", f"Run `chmod 700 {place.private}`")
    if strangers := stores.unlisted(place):
        more = f" and {len(strangers) - 1} more" if strangers[1:] else ""
        raise Remark(
            f"no purge reaches {strangers[0]}{more}, which no store has",
            "Delete what is not yours to keep",
        )
    kept = [path for store in stores.STORES if store.words != "none" for path in store.files(place)]
    size = sum(path.stat().st_size for path in kept)
    return f"your words are in {counted(len(kept), 'file')}, {size / 1e6:.1f} MB"


def _status(options: Globals) -> MemoryStatus:
    with options.memory() as memory:
        return memory.status()


def _embedder(options: Globals) -> str:
    return _status(options).embedder


def _index(options: Globals) -> str:
    state = _status(options)
    trouble = state.server.trouble if state.server else ""
    if notices := [notice for notice in state.notices if notice != trouble]:
        raise Remark("; ".join(notices), "")
    size = f"{counted(state.chunks, 'chunk')} of {counted(len(state.sources), 'file')}"
    return f"{size}, {state.index_bytes / 1e6:.1f} MB"


def _chroma(options: Globals) -> str:
    server = _status(options).server
    if server is None:
        return "inside the workspace"
    if server.trouble:
        raise MemoryFailure(server.trouble, "Start it, or remove index.url")
    if server.lacks:
        lacks = f"{server.url} lacks {counted(server.lacks, 'vector')}"
        raise Remark(lacks, "It is being filled: memory answers from its own catalog meanwhile")
    with options.memory() as memory:
        unowned = memory.unowned()
    if unowned:
        names = ", ".join(
            f"{collection.name} ({counted(collection.vectors, 'vector')})" for collection in unowned
        )
        raise Remark(
            f"{server.url} has collections whose workspace or model is gone: {names}",
            "`assistant doctor --remove-unowned` removes them",
        )
    return f"{server.url} answers, and has every vector"


def remove_unowned(options: Globals) -> str:
    """Remove the collections of the Chroma server whose workspace or model is gone."""
    with options.memory() as memory:
        removed = memory.unowned(remove=True)
    return f"removed {counted(len(removed), 'collection')}"


def _model(options: Globals) -> str:
    """The model's name, once its key is set and its server listens; nothing is sent to it."""
    chosen = options.settings().model
    name, provider = chosen.name, (chosen.name or "").partition("/")[0]
    if name is None:
        return "none configured: the offline responder answers (`assistant config set model NAME`)"
    doubts = catalogue.doubts(name, chosen.api_base)
    key = catalogue.USUAL.get(provider, "")
    if key and not chosen.api_base and not os.environ.get(key):
        raise ConfigError("; ".join(doubts), f"Set the key: `export {key}=…`")
    if chosen.api_base and not _listens(chosen.api_base):
        raise ConfigError(
            f"nothing listens at {chosen.api_base}, where {name} should be",
            "Start that server, or correct the address: `assistant config set model.api_base URL`",
        )
    if doubts and provider.startswith("ollama"):
        raise ConfigError(doubts[0], "Memory can be asked meanwhile, the model cannot")
    if doubts:
        raise Remark("; ".join(doubts), "Try it: `assistant doctor --with-model`")
    return name


def _profiles(options: Globals) -> str:
    """The models to fall back on, once the keys they name are set."""
    profiles = options.settings().profiles
    wanted = [profile.api_key_env for profile in profiles if profile.api_key_env]
    if absent := [key for key in wanted if not os.environ.get(key)]:
        raise ConfigError(f"{', '.join(absent)} is named by a profile, and not set", "Export it")
    return ", ".join(profile.name for profile in profiles) or "none"


def _listens(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), LISTEN_SECONDS).close()
    except OSError:
        return False
    return True


def model_name() -> str | None:
    """The configured model, if the settings are well."""
    try:
        return settings.validate(config.load()).model.name
    except ConfigError:
        return None


def answer(_: Globals) -> str:
    """What the configured model says to a word. Raises ModelError; a remark if there is none."""
    if (name := model_name()) is None:
        raise Remark("no model is configured", "`assistant config set model NAME` connects one")
    return f"{name} says: {try_model(name)}"


def _heartbeat(options: Globals) -> str:
    """Whether the tasks are understood, anything looks for them, and their owner is reached."""
    place = options.place()
    tasks, unread = beat.read(place)
    if unread:
        lines = ", ".join(str(line.line) for line in unread)
        said = f"HEARTBEAT.md has lines that are not understood: {lines}"
        raise Remark(said, "`assistant heartbeat explain` says why")
    if not tasks:
        return "no tasks"
    known, said = beats.load(place), counted(len(tasks), "task")
    times = {"last beat": known.beat, "last notification": known.delivered}
    if last := [f"{what} {time.replace('T', ' ')}" for what, time in times.items() if time]:
        said += f"; {', '.join(last)}"
    if not reminders.wakes(place, datetime.now()):
        raise Remark(
            f"{said}; nothing on this machine looks for them",
            "`assistant heartbeat install` has it done every few minutes",
        )
    if known.fault:
        raise Remark(f"{said}; {known.fault}", "The next chat shows it; see `heartbeat.notify`")
    return said


def _web(options: Globals) -> str:
    """What is turned on, and whether it has what it needs; nothing is asked of anybody."""
    chosen = options.settings().web
    if lacks := search.lacking(chosen):
        raise ConfigError(f"`web_search` cannot be used: {lacks}", OFF.format("web.search"))
    if chosen.browse and (why := browser.missing(chosen.browser)):
        raise ConfigError(f"`browse` is not offered: {why}", OFF.format("web.browse"))
    on = [f"search by {chosen.search}"] if chosen.search else []
    on += [name for name in ("fetch", "browse") if getattr(chosen, name)]
    return ", ".join(on) or "off"


def _servers(options: Globals) -> str:
    """Start or reach each server that its owner wants, all at once."""
    named = servers.of(options.place())
    wanted = [server for server in named.servers if not server.settings.disabled]
    started = [server for server in wanted if Pins().may_start(server)]
    with ThreadPoolExecutor(max(len(started), 1)) as asking:
        found = list(asking.map(checked, started))
    if faults := [result.fault for result in found if result.fault]:
        raise ToolError("; ".join(faults), "`assistant mcp-servers list` asks again")
    held = [f"{result.name} has changed tools" for result in found if result.changed]
    waiting = [f"{server.name} is not approved" for server in wanted if server not in started]
    if doubts := [*named.notices, *held, *waiting]:
        raise Remark("; ".join(doubts), "`assistant mcp-servers approve NAME` shows them")
    tools = sum(len(result.tools) for result in found)
    return f"{counted(len(found), 'server')}, {counted(tools, 'tool')}" if found else "none"


def _programs(options: Globals) -> str:
    root = options.place().root
    found = {link: fault(link) for link in connections(Launch(own_command(), root))}
    titles = [
        f"{link.program.title}{'' if str(root) in link.command else ' (to another workspace)'}"
        for link, why in found.items()
        if not why
    ]
    fine = f"{', '.join(titles)}: connected, and the server answers" if titles else ""
    if broken := {link: why for link, why in found.items() if why}:
        faults = [f"{link.program.title}: {why}" for link, why in broken.items()]
        again = [f"`assistant connect {link.program.name}`" for link in broken if link.command]
        cure = f"{' and '.join(again)} sets it right" if again else ""
        raise ConfigError("; ".join(filter(None, [*faults, fine])), cure)
    if halves := [link.program for link in found if not link.whole]:
        lacking = ", ".join(program.title for program in halves)
        cure = " and ".join(f"`assistant connect {program.name}`" for program in halves)
        raise Remark(f"{lacking}: the server answers, but its hooks are gone", f"{cure} adds them")
    return fine or "none is connected (`assistant connect PROGRAM`)"


CHECKS: dict[str, Check] = {
    "path": _path,
    "settings": _config_file,
    "disk": _disk,
    "sandbox": _sandbox,
    "workspace": _workspace,
    "files": _files,
    "journal": _journal,
    "sessions": _sessions,
    "skills": _skills,
    "stores": _stores,
    "embedder": _embedder,
    "index": _index,
    "chroma": _chroma,
    "model": _model,
    "profiles": _profiles,
    "heartbeat": _heartbeat,
    "web": _web,
    "MCP servers": _servers,
    "programs": _programs,
}


def findings(options: Globals) -> Iterator[Finding]:
    """What each check finds. One fault that stops several checks is a fault of the first only."""
    faults: dict[str, str] = {}
    for name, check in CHECKS.items():
        found = examined(name, check, options)
        if found.state == "fault" and faults.setdefault(found.said, name) != name:
            found = Finding(name, "remark", f"not checked: see {faults[found.said]}")
        yield found
