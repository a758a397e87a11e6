"""The checks of `doctor`: each returns a text that all is well, or raises a fault with its cure.

This module imports every heavy part of the program; only `doctor` and the first chat import it.
"""

import os
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import typer

from assistant import config
from assistant.cli.options import AsJson, Globals, answer, at_terminal, option, own_command
from assistant.cli.palette import echo
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
from assistant.tools.mcp_client.tools import check_all
from assistant.tools.policy import unknown_tools
from assistant.tools.sandbox import process
from assistant.tools.web import browser, search
from assistant.upkeep import outbox, reminders, timers
from assistant.workspace import folder, stores, trust

Check = Callable[[Globals], str]
"""Returns a text that all is well. Raises AssistantError for a fault, Remark for anything less."""


class Remark(AssistantError):
    """Something worth knowing that is not a fault."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check, with a cure for a remark or a fault."""

    name: str
    state: Literal["well", "remark", "fault"]
    said: str
    cure: str = ""

    @property
    def line(self) -> str:
        """The result on one line."""
        return f"{self.name}: {AssistantError(self.said, self.cure)}"


def examined(name: str, check: Check, options: Globals) -> Finding:
    """Run a check, and return its result."""
    try:
        return Finding(name, "well", check(options))
    except Remark as remark:
        return Finding(name, "remark", remark.message, remark.cure)
    except AssistantError as error:
        return Finding(name, "fault", error.message, error.cure)


LOW_DISK, FULL_DISK = 500 << 20, 50 << 20
"""Free bytes below which a disk gets a remark, and below which it is a fault."""
LISTEN_SECONDS = 3.0
"""Timeout for connecting to the model's server."""
OFF = "`assistant config unset {}` turns it off"


def _path(_: Globals) -> str:
    path, own = shutil.which("assistant"), Path(own_command())
    if not path:
        link = Path.home() / ".local" / "bin" / "assistant"
        raise Remark(
            "`assistant` is not on your PATH",
            f"Add {link.parent} to it in your shell's start-up file"
            if link.exists()
            else f"Link it: `ln -s {own} {link}`",
        )
    if not own.samefile(path):
        raise Remark(f"another `assistant` is first on your PATH: {path}", f"This one is {own}")
    return path


def _disk(options: Globals) -> str:
    folders = [options.workspace().root, config.cache_dir(), config.state_dir()]
    free, folder = min((shutil.disk_usage(path).free, path) for path in folders if path.exists())
    text = f"{free / 1e6:,.0f} MB are free at {folder}"
    if free < FULL_DISK:
        raise StorageError(text, "Free some space: memory cannot be written")
    if free < LOW_DISK:
        raise Remark(text, "Free some space soon")
    return text


def _sandbox(_: Globals) -> str:
    if not process.available():
        raise Remark("not available, so each shell command asks first", "Allow user namespaces")
    return "works: user namespaces and a seccomp filter"


def _config_file(options: Globals) -> str:
    unknown = unknown_tools(options.settings().rules)
    if unknown := [*settings.unknown_variables(), *unknown]:
        raise Remark("; ".join(unknown), "`assistant config show` lists the settings")
    path = config.config_file()
    return f"{path} is valid" if path.exists() else "all at their defaults"


def _workspace(options: Globals) -> str:
    workspace = options.workspace()
    if not trust.is_trusted(workspace):
        raise Remark(
            f"{workspace.root} is not trusted, so it stays out of prompts",
            "Run `assistant trust` if it is yours",
        )
    return str(workspace.root)


def _files(options: Globals) -> str:
    """Check that no file of the prompt is missing, and that all files of the workspace are
    readable."""
    from assistant.agent.prompt import FILE_LIMIT

    workspace, faults, too_long = options.workspace(), [], []
    names = [*folder.ALWAYS_FILES, *workspace.sources()]
    for name in names:
        try:
            size = len(folder.read_text(workspace.root / name))
        except FileNotFoundError:
            faults.append(f"{name} is missing (`assistant init {workspace.root}` adds it)")
        except StorageError as error:
            faults.append(error.message)
        else:
            if name in folder.ALWAYS_FILES and size > FILE_LIMIT:
                too_long.append(f"{name} has {size:,} characters")
    if faults:
        raise StorageError("; ".join(faults), "Save each as UTF-8 text, or move it elsewhere")
    if too_long:
        cure = f"Only the first {FILE_LIMIT:,} of each are in the prompt: shorten them"
        raise Remark("; ".join(too_long), cure)
    return f"{counted(len(names), 'file')} read"


def _journal(options: Globals) -> str:
    writes = storage.read_or_empty(options.workspace().journal).count(b'{"type":"write"')
    return counted(writes, "write")


def _sessions(options: Globals) -> str:
    sessions = listing.sessions(options.workspace().sessions)
    if faults := [session.fault for session in sessions if session.fault]:
        raise SessionError("; ".join(faults), "Correct that line, or move the file away")
    return f"{counted(len(sessions), 'session')} read"


def _skills(options: Globals) -> str:
    chosen = options.settings().skills
    loaded = skills.load(options.workspace(), chosen.disabled, chosen.folders)
    if loaded.notices:
        raise StorageError("; ".join(loaded.notices), "`assistant skills list` lists them again")
    return counted(len(loaded.skills), "skill") if loaded.skills else "none"


def _stores(options: Globals) -> str:
    workspace = options.workspace()
    if workspace.private.is_dir() and workspace.private.stat().st_mode & 0o077:
        raise Remark(
            f"other users can read {workspace.private}", f"Run `chmod 700 {workspace.private}`"
        )
    if unknown := stores.unlisted(workspace):
        more = f" and {len(unknown) - 1} more" if unknown[1:] else ""
        raise Remark(
            f"`forget --purge` does not reach {unknown[0]}{more}", "Delete what you do not need"
        )
    paths = [
        path for store in stores.STORES if store.words != "none" for path in store.files(workspace)
    ]
    stats = map(storage.stat_or_none, paths)  # Chroma creates and deletes files at any time
    size = sum(stat.size for stat in stats if stat)
    return f"your data is in {counted(len(paths), 'file')}, {size / 1e6:.1f} MB"


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
        raise Remark(lacks, "It is being filled, while memory answers from its own catalog")
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


def _remove_unowned(options: Globals) -> str:
    """Remove the Chroma server's collections whose workspace or model no longer exists."""
    with options.memory() as memory:
        removed = memory.unowned(remove=True)
    return f"removed {counted(len(removed), 'collection')}"


def _model(options: Globals) -> str:
    """Check that the model's key is set and its server listens, without a request to the model."""
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
            f"nothing listens at {chosen.api_base}, the address of {name}",
            "Start that server, or correct the address: `assistant config set model.api_base URL`",
        )
    if doubts and provider.startswith("ollama"):
        raise ConfigError(doubts[0], "Memory works without it")
    if doubts:
        raise Remark("; ".join(doubts), "Try it: `assistant doctor --with-model`")
    return name


def _profiles(options: Globals) -> str:
    """Check that the keys of the fallback models are set."""
    profiles = options.settings().profiles
    keys = [profile.api_key_env for profile in profiles if profile.api_key_env]
    if missing := [key for key in keys if not os.environ.get(key)]:
        raise ConfigError(f"{', '.join(missing)} is needed by a profile but not set", "Export it")
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
    """Return the configured model; None without one, or if the settings are broken."""
    try:
        return settings.validate(config.load()).model.name
    except ConfigError:
        return None


def _model_answer(_: Globals) -> str:
    """Return the configured model's answer to one word. Raises ModelError, Remark without a
    model."""
    if (name := model_name()) is None:
        raise Remark("no model is configured", "`assistant config set model NAME` connects one")
    return f"{name} says: {try_model(name)}"


def _heartbeat(options: Globals) -> str:
    """Check that tasks are understood and run, and that notifications are delivered."""
    workspace = options.workspace()
    tasks, unread = beat.read(workspace)
    state, text = beats.load(workspace), counted(len(tasks), "task") if tasks else "no tasks"
    times = {"last run": state.beat, "last notification": state.delivered}
    if last := [f"{what} {time.replace('T', ' ')}" for what, time in times.items() if time]:
        text += f"; {', '.join(last)}"
    faults, cures = list[str](), list[str]()
    if unread:
        lines = ", ".join(str(line.line) for line in unread)
        faults.append(f"HEARTBEAT.md has lines that are not understood: {lines}")
        cures.append("`assistant heartbeat explain` says why")
    if tasks and not reminders.wakes(workspace, datetime.now()):
        faults.append("no timer on this machine runs them")
        cures.append(timers.advice())
    if timers.ends_at_logout(workspace):
        faults.append("its timer stops when you log out")
        cures.append(timers.LINGER)
    ways = outbox.faults(workspace, options.settings())
    if failed := [f"{name}: {fault}" for name, fault in ways.items() if fault]:
        faults += failed
        cures.append("`assistant reach test` tries again; the next chat shows the news")
    if faults:
        raise Remark("; ".join([text, *faults]), ". ".join(cures))
    return text


def _web(options: Globals) -> str:
    """Return which web tools are on. Raises ConfigError if one lacks something; makes no
    request."""
    chosen = options.settings().web
    if problem := search.lacking(chosen):
        raise ConfigError(f"`web_search` cannot be used: {problem}", OFF.format("web.search"))
    if chosen.browse and (problem := browser.missing(chosen.browser)):
        raise ConfigError(f"`browse` cannot be used: {problem}", OFF.format("web.browse"))
    on = [f"search by {chosen.search}"] if chosen.search else []
    on += [name for name in ("fetch", "browse") if getattr(chosen, name)]
    return ", ".join(on) or "off"


def _servers(options: Globals) -> str:
    """Connect to all enabled servers in parallel."""
    named = servers.of(options.workspace())
    enabled = [server for server in named.servers if not server.settings.disabled]
    approved = [server for server in enabled if Pins().may_start(server)]
    results = check_all(approved)
    if faults := [result.fault for result in results if result.fault]:
        raise ToolError("; ".join(faults), "`assistant mcp-servers list` tries again")
    changed = [f"{result.name} has changed tools" for result in results if result.changed]
    waiting = [f"{server.name} is not approved" for server in enabled if server not in approved]
    if doubts := [*named.notices, *changed, *waiting]:
        raise Remark("; ".join(doubts), "`assistant mcp-servers approve NAME` shows them")
    tools = sum(len(result.tools) for result in results)
    return f"{counted(len(results), 'server')}, {counted(tools, 'tool')}" if results else "none"


def _programs(options: Globals) -> str:
    root, fine, broken = options.workspace().root, list[str](), list[str]()
    repairs, lacking_hooks = list[str](), dict[str, str]()
    for link in connections(Launch(own_command(), root)):
        title, again = link.program.title, f"`assistant connect {link.program.name}`"
        if problem := fault(link):
            broken.append(f"{title}: {problem}")
            repairs += [again] * bool(link.command)
        else:
            fine.append(title if str(root) in link.command else f"{title} (to another workspace)")
            lacking_hooks |= {} if link.whole else {title: again}
    well = f"{', '.join(fine)}: connected, and the server answers" if fine else ""
    if broken:
        cure = f"{' and '.join(repairs)} repairs it" if repairs else ""
        raise ConfigError("; ".join(filter(None, [*broken, well])), cure)
    if lacking_hooks:
        text = f"{', '.join(lacking_hooks)}: the server answers, but its hooks are gone"
        raise Remark(text, f"{' and '.join(lacking_hooks.values())} adds them")
    return well or "none connected (`assistant connect PROGRAM`)"


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


def findings(options: Globals, checks: Mapping[str, Check]) -> Iterator[Finding]:
    """Run the checks. A fault that causes several of them to fail is reported once."""
    faults: dict[str, str] = {}
    for name, check in checks.items():
        finding = examined(name, check, options)
        if finding.state == "fault" and faults.setdefault(finding.said, name) != name:
            finding = Finding(name, "remark", f"not checked: see {faults[finding.said]}")
        yield finding


MARKS = {"well": "✓", "remark": "!", "fault": "✗"}


def doctor(
    context: typer.Context,
    with_model: Annotated[bool | None, partial(option, show_default=False)] = None,
    remove_unowned: bool = False,
    as_json: AsJson = False,
) -> None:
    """Check the setup; each problem comes with its fix. Exits with 1 if there is one.

    Arguments:
      --with-model/--without-model: Send the model one word, or do not offer to.
      --remove-unowned: Remove collections on the Chroma server whose workspace or model is gone.
    """
    options: Globals = context.obj
    checks = {"collections": _remove_unowned, **CHECKS} if remove_unowned else CHECKS
    found = list(map(_shown, findings(options, checks)))
    if with_model is None and not as_json and at_terminal() and (model := model_name()):
        with_model = typer.confirm(f"Send {model} one word to see whether it answers?", err=True)
    if with_model:
        found.append(_shown(examined("answer", _model_answer, options)))
    answer(found)
    if any(finding.state == "fault" for finding in found):
        raise typer.Exit(1)


def _shown(finding: Finding) -> Finding:
    """Print the result of a check."""
    echo(f"{MARKS[finding.state]} {finding.line}")
    return finding
