"""Which servers of other people's tools there are: the owner's, and those that a folder names.

The owner's stand in the configuration as `[mcpServers.NAME]`. A workspace may bring more in its
`.mcp.json`; such a one is started only once the owner has agreed to that very entry.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assistant import config
from assistant.disk import programs, storage
from assistant.errors import StorageError
from assistant.secrets.assignments import Claim, claim
from assistant.settings import tree
from assistant.settings.sections import ServerSettings
from assistant.workspace import trust
from assistant.workspace.folder import Workspace

HIDDEN = "(hidden)"
NAMED = re.compile(r"\$\{\w+\}")


def hidden(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a server without the secrets that are written out in them."""
    shown = dict(settings)
    for name in ("env", "headers"):
        shown[name] = {key: value_of(value) for key, value in settings.get(name, {}).items()}
    if settings.get("args"):
        shown["args"] = arguments(settings["args"])
    if settings.get("url"):
        shown["url"] = address(settings["url"])
    return shown


def value_of(value: str) -> str:
    """A variable's or a header's value, if it stands in the environment and not here."""
    return value if not value or NAMED.search(value) else HIDDEN


def arguments(words: Sequence[str]) -> list[str]:
    """Arguments without the values of those whose names say that they are secret."""
    shown, secret = [], False
    for word in words:
        name, equals, value = word.partition("=")
        if secret and not word.startswith("-"):
            shown.append(value_of(word))
        elif equals and _is_secret(name):
            shown.append(f"{name}={value_of(value)}")
        else:
            shown.append(word)
        secret = not equals and word.startswith("-") and _is_secret(word)
    return shown


def address(url: str) -> str:
    """An address without its password, and without what its query says that is secret."""

    def parameter(match: re.Match[str]) -> str:
        return f"{match[1]}{value_of(match[2])}" if _is_secret(match[1][1:-1]) else match[0]

    url = re.sub(r"(://[^/@:]+:|://)[^/@]*@", rf"\1{HIDDEN}@", url)
    return re.sub(r"([?&][^=&#]+=)([^&#]*)", parameter, url)


def _is_secret(name: str) -> bool:
    return claim(name.lstrip("-")) > Claim.NONE


FILE = ".mcp.json"
LARGEST = 1_000_000
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Server:
    """A server and how it is reached. `origin` is where it is named: a file, or "" for the owner's
    configuration. In `roots` tools can write."""

    name: str
    settings: ServerSettings
    origin: str = ""
    roots: tuple[Path, ...] = ()

    @property
    def key(self) -> str:
        """What is kept of it is kept under this."""
        return f"{self.origin}#{self.name}" if self.origin else self.name

    @property
    def how(self) -> str:
        """The command or the address, without what is secret in it."""
        if self.settings.url:
            return address(self.settings.url)
        return " ".join([self.settings.command or "", *arguments(self.settings.args)])

    @property
    def entry(self) -> str:
        """All that is set of it, as the owner is shown it before it is agreed to."""
        return json.dumps(self.settings.model_dump(exclude_defaults=True), indent=1, sort_keys=True)

    @property
    def digest(self) -> str:
        """What is equal for the same entry."""
        return hashlib.sha256(self.entry.encode()).hexdigest()

    @property
    def files(self) -> dict[str, str]:
        """The digests of the files of its command line that lie where tools can write."""
        here = Path(self.settings.cwd or self.origin or Path.cwd())
        command = filled(self.settings.command or "")
        program = programs.find(command, self.roots) or shutil.which(command) or command
        words = [program, *map(filled, self.settings.args)]
        found: dict[str, str] = {}
        for word in (part for each in words for part in {each, each.partition("=")[2]} if part):
            path = Path(os.path.realpath(here / Path(word).expanduser()))
            if any(path.is_relative_to(root) for root in self.roots):
                with suppress(OSError):  # no file, or none that can be read
                    found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers there are, and one line for each thing that could not be used."""

    servers: tuple[Server, ...] = ()
    notices: tuple[str, ...] = field(default=())


def of(workspace: Workspace) -> Servers:
    """The servers that a conversation in a workspace may use; it names none without trust."""
    root = workspace.root if trust.is_trusted(workspace) else None
    return named_by(tree.validate(config.load()).mcpServers, root, (workspace.root,))


def named_by(
    configured: Mapping[str, ServerSettings], root: Path | None, roots: tuple[Path, ...] = ()
) -> Servers:
    """The owner's servers, then those of the folder's `.mcp.json` whose names are not taken.

    In `roots` tools can write.
    """
    own = [Server(name, each, roots=roots) for name, each in configured.items()]
    entries, notices = _named(root / FILE) if root else ({}, [])
    theirs = []
    for name, entry in entries.items():
        try:
            settings = ServerSettings.model_validate(_known(entry))
        except ValidationError as error:
            said = error.errors()[0]["msg"].removeprefix("Value error, ")
            notices.append(f"{FILE}: the server {name!r} is not used: {said}")
            continue
        if name not in configured:
            theirs.append(Server(name, settings, str(root), roots))
    return Servers((*own, *theirs), tuple(notices))


def _named(path: Path) -> tuple[dict[str, Any], list[str]]:
    try:
        data = storage.read(path)
    except FileNotFoundError:
        return {}, []
    except StorageError as error:
        return {}, [f"{FILE} is not used: {error.message}"]
    try:
        entries = json.loads(data)["mcpServers"] if len(data) <= LARGEST else None
    except (ValueError, KeyError, TypeError, RecursionError):
        entries = None
    if not isinstance(entries, dict):
        return {}, [f"{FILE} is not used: it is no JSON with an object `mcpServers`"]
    return entries, []


def _known(entry: Any) -> Any:
    """The fields of an entry that we know: other programs have more."""
    if not isinstance(entry, dict):
        return entry
    return {name: value for name, value in entry.items() if name in ServerSettings.model_fields}


def filled(text: str) -> str:
    """The text with `${NAME}` and `${NAME:-otherwise}` filled in from the environment."""
    return VARIABLE.sub(lambda match: os.environ.get(match[1], match[2] or ""), text)
