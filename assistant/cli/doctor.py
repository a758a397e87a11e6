"""What `assistant doctor` looks at: a list of checks, each of which says what is well or raises a
fault with its cure.

This module imports every heavy part of the program: only `doctor` and the first chat load it.
"""

import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from assistant import config
from assistant.cli.config_file import unknown_tools
from assistant.cli.options import Globals, own_command
from assistant.disk import locking, storage
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
from assistant.integrations.connecting import Connection, connections, fault
from assistant.integrations.programs import Launch
from assistant.memory.base import MemoryStatus
from assistant.memory.daemon import lifecycle, watcher
from assistant.model import catalogue
from assistant.model.select import try_model
from assistant.session import beats, listing
from assistant.settings import tree as settings
from assistant.settings.tree import Settings
from assistant.skills import loading as skills
from assistant.tools.mcp_client import servers
from assistant.tools.mcp_client.pins import Pins
from assistant.tools.mcp_client.tools import checked
from assistant.tools.sandbox import process
from assistant.tools.web import browser, search
from assistant.upkeep import reminders
from assistant.workspace import folder as workspace
from assistant.workspace import stores, trust
from assistant.workspace.folder import MEMORY_FILE, Workspace

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
AHEAD = 300
"""Seconds that the last write may lie in the future: another machine's clock may be a bit fast."""
EVENT_SECONDS = 3.0
"""How long a file event may take; polling looks each second."""
LOCK_SECONDS = 2.0
LISTEN_SECONDS = 3.0
"""How long the model's server may take to accept a connection."""


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
    places = {options.place().root, _existing(config.cache_dir()), _existing(config.state_dir())}
    free = {place: shutil.disk_usage(place).free for place in places}
    least = min(free, key=free.__getitem__)
    said = f"{free[least] / 1e6:,.0f} MB are free at {least}"
    if free[least] < TOO_LITTLE:
        raise StorageError(said, "Make room: what memory writes would be refused")
    if free[least] < LITTLE:
        raise Remark(said, "Make room soon")
    return said


def _existing(path: Path) -> Path:
    return next(each for each in (path, *path.parents) if each.exists())


def _clock(options: Globals) -> str:
    place = options.place()
    written = [place.journal, *place.sessions.glob("*.jsonl")]
    latest = max((path.stat().st_mtime for path in written if path.exists()), default=0.0)
    if latest > time.time() + AHEAD:
        ahead = f"{(latest - time.time()) / 60:,.0f} minutes"
        raise StorageError(f"the last write lies {ahead} in the future", "Set the clock right")
    return time.strftime("%Y-%m-%d %H:%M %Z")


def _lock(options: Globals) -> str:
    place = options.place()
    place.private.mkdir(exist_ok=True)
    locking.lock(place.ledger_lock, LOCK_SECONDS).release()
    held = locking.try_lock(lifecycle.lock_path(place))
    if held is None:
        return f"process {locking.holder(lifecycle.lock_path(place))} owns the index"
    held.release()
    return "free"


def _watcher(options: Globals) -> str:
    """Make a file where the workspace lies, and see whether that is noticed."""
    polling = settings.validate(config.load()).daemon.polling
    seen = threading.Event()
    with tempfile.TemporaryDirectory(dir=options.place().private) as name:
        place = Workspace(Path(name).resolve())
        watch = watcher.watch(place, seen.set, polling)
        try:
            (place.root / MEMORY_FILE).write_text("- seen?\n")
            if not seen.wait(EVENT_SECONDS):
                raise StorageError(
                    "a change of a file is not noticed",
                    "Look for changes instead: `assistant config set daemon.polling always`",
                )
        finally:
            watch.stop()
    return "looks for changes each second" if watch.polling else "is told of changes at once"


def _sandbox(_: Globals) -> str:
    if not process.available():
        raise Remark("does not work here: each shell command asks", "Allow user namespaces")
    return "works: user namespaces and a seccomp filter"


def _config_file(options: Globals) -> str:
    place = options.place()
    recipe = place.recipe if trust.is_trusted(place) else None
    policy = settings.validate(config.load(recipe=recipe), recipe).policy
    if unknown := [*settings.unknown_variables(), *unknown_tools(policy.model_dump())]:
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


def _prompt_files(options: Globals) -> str:
    from assistant.agent.prompt import FILE_LIMIT

    place, read = options.place(), _read_all(options, workspace.ALWAYS_FILES)
    sizes = {each: len(workspace.read_text(place.root / each)) for each in workspace.ALWAYS_FILES}
    long = [f"{each} has {size:,} characters" for each, size in sizes.items() if size > FILE_LIMIT]
    if long:
        cure = f"The first {FILE_LIMIT:,} of each are in the prompt: shorten it"
        raise Remark("; ".join(long), cure)
    return read


def _memory_files(options: Globals) -> str:
    return _read_all(options, options.place().sources())


def _read_all(options: Globals, names: Sequence[str]) -> str:
    place, faults = options.place(), []
    for name in names:
        try:
            workspace.read_text(place.root / name)
        except FileNotFoundError:
            faults.append(f"{name} is missing (`assistant init {place.root}` adds it)")
        except StorageError as error:
            faults.append(error.message)
    if faults:
        raise StorageError("; ".join(faults), "Save each as UTF-8 text, or move it elsewhere")
    return f"{counted(len(names), 'file')} read"


def _journal(options: Globals) -> str:
    writes = storage.held(options.place().journal).count(b"\n")
    return counted(writes, "write")


def _sessions(options: Globals) -> str:
    found = listing.sessions(options.place().sessions)
    if faults := [each.fault for each in found if each.fault]:
        raise SessionError("; ".join(faults), "Correct the line that is named, or move the file")
    return f"{counted(len(found), 'session')} read"


def _skills(options: Globals) -> str:
    place = options.place()
    recipe = place.recipe if trust.is_trusted(place) else None
    chosen = settings.validate(config.load(recipe=recipe), recipe).skills
    found = skills.load(place, chosen.disabled, chosen.folders)
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
    kept = [path for each in stores.STORES if each.words != "none" for path in each.files(place)]
    size = sum(path.stat().st_size for path in kept)
    return f"your words are in {counted(len(kept), 'file')}, {size / 1e6:.1f} MB"


def _chosen() -> Settings:
    return settings.validate(config.load())


def _status(options: Globals) -> MemoryStatus:
    with options.memory() as memory:
        return memory.status()


def _embedder(options: Globals) -> str:
    return _status(options).embedder


def _index(options: Globals) -> str:
    state = _status(options)
    trouble = state.server.trouble if state.server else ""
    if notices := [each for each in state.notices if each != trouble]:
        raise Remark("; ".join(notices), "")
    held = f"{counted(state.chunks, 'chunk')} of {counted(len(state.sources), 'file')}"
    return f"{held}, {state.index_bytes / 1e6:.1f} MB"


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
        unowned = [each for each in memory.collections() if each.owner == "nobody"]
    if unowned:
        names = ", ".join(f"{each.name} ({counted(each.vectors, 'vector')})" for each in unowned)
        raise Remark(
            f"{server.url} has collections whose workspace or model is gone: {names}",
            "`assistant doctor --remove-unowned` removes them",
        )
    return f"{server.url} answers, and has every vector"


def remove_unowned(options: Globals) -> str:
    """Remove the collections of the Chroma server whose workspace or model is gone."""
    with options.memory() as memory:
        names = [each.name for each in memory.collections() if each.owner == "nobody"]
        removed = memory.remove_collections(names) if names else ()
    return f"removed {counted(len(removed), 'collection')}"


def _model(_: Globals) -> str:
    """The model's name, once its key is set and its server listens; nothing is sent to it."""
    chosen = _chosen().model
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


def _profiles(_: Globals) -> str:
    """The models to fall back on, once the keys they name are set."""
    profiles = _chosen().profiles
    wanted = [each.api_key_env for each in profiles if each.api_key_env]
    if absent := [key for key in wanted if not os.environ.get(key)]:
        raise ConfigError(f"{', '.join(absent)} is named by a profile, and not set", "Export it")
    return ", ".join(each.name for each in profiles) or "none"


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
        return _chosen().model.name
    except ConfigError:
        return None


def answer(_: Globals) -> str:
    """What the configured model says to a word. Raises ModelError; a remark if there is none."""
    if (name := _chosen().model.name) is None:
        raise Remark("no model is configured", "`assistant config set model NAME` connects one")
    return f"{name} says: {try_model(name)}"


OFF = "`assistant config unset {}` turns it off"


def _heartbeat(options: Globals) -> str:
    """Whether the tasks are understood, anything looks for them, and their owner is reached."""
    place = options.place()
    tasks, unread = beat.read(place)
    if unread:
        lines = ", ".join(str(each.line) for each in unread)
        said = f"HEARTBEAT.md has lines that are not understood: {lines}"
        raise Remark(said, "`assistant heartbeat explain` says why")
    if not tasks:
        return "no tasks"
    known = beats.load(place)
    said = ", ".join(
        f"{what} {at.replace('T', ' ')}"
        for what, at in (("last beat", known.beat), ("last notification", known.delivered))
        if at
    )
    said = f"{counted(len(tasks), 'task')}{said and f'; {said}'}"
    if not reminders.wakes(place, datetime.now()):
        raise Remark(
            f"{said}; nothing on this machine looks for them",
            "`assistant heartbeat install` has it done every few minutes",
        )
    if known.fault:
        raise Remark(f"{said}; {known.fault}", "The next chat shows it; see `heartbeat.notify`")
    return said


def _web(_: Globals) -> str:
    """What is turned on, and whether it has what it needs; nothing is asked of anybody."""
    chosen = settings.validate(config.load()).web
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
    wanted = [each for each in named.servers if not each.settings.disabled]
    started = [each for each in wanted if Pins().may_start(each)]
    with ThreadPoolExecutor(max(len(started), 1)) as asking:
        found = list(asking.map(checked, started))
    if faults := [each.fault for each in found if each.fault]:
        raise ToolError("; ".join(faults), "`assistant mcp-servers list` asks again")
    held = [f"{each.name} has changed tools" for each in found if each.changed]
    waiting = [f"{each.name} is not approved" for each in wanted if each not in started]
    if doubts := [*named.notices, *held, *waiting]:
        raise Remark("; ".join(doubts), "`assistant mcp-servers approve NAME` shows them")
    tools = sum(len(each.tools) for each in found)
    return f"{counted(len(found), 'server')}, {counted(tools, 'tool')}" if found else "none"


def _programs(options: Globals) -> str:
    place = options.place()
    found = list(connections(Launch(own_command(), place.root)))
    broken = {each: why for each in found if (why := fault(each))}
    working = [each for each in found if each not in broken]
    fine = f"{', '.join(_titles(working, str(place.root)))}: connected, and the server answers"
    if broken:
        said = [f"{each.program.title}: {why}" for each, why in broken.items()]
        again = [f"`assistant connect {each.program.name}`" for each in broken if each.command]
        cure = f"{' and '.join(again)} sets it right" if again else ""
        raise ConfigError("; ".join([*said, *[fine] * bool(working)]), cure)
    if halves := [each.program for each in found if not each.whole]:
        lacking = ", ".join(each.title for each in halves)
        cure = " and ".join(f"`assistant connect {each.name}`" for each in halves)
        raise Remark(f"{lacking}: the server answers, but its hooks are gone", f"{cure} adds them")
    if not found:
        return "none is connected (`assistant connect PROGRAM`)"
    return fine


def _titles(found: list[Connection], root: str) -> Iterator[str]:
    for each in found:
        other = "" if root in each.command else " (to another workspace)"
        yield f"{each.program.title}{other}"


CHECKS: dict[str, Check] = {
    "path": _path,
    "settings": _config_file,
    "disk": _disk,
    "clock": _clock,
    "lock": _lock,
    "watcher": _watcher,
    "sandbox": _sandbox,
    "workspace": _workspace,
    "prompt files": _prompt_files,
    "memory files": _memory_files,
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
