"""The MCP servers: the owner's, and those that a workspace names.

The owner's are in the configuration as `[mcpServers.NAME]`. A workspace may add more in its
`.mcp.json`; such a server starts only after the owner has approved exactly that entry.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
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
from assistant.tools.mcp_client import code
from assistant.workspace import trust
from assistant.workspace.folder import Workspace

HIDDEN = "(hidden)"
NAMED = re.compile(r"\$\{\w+\}")


def hidden(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a server's settings without the secrets written in them."""
    settings_shown = dict(settings)
    for name in ("env", "headers"):
        settings_shown[name] = {
            key: value_of(value) for key, value in settings.get(name, {}).items()
        }
    if settings.get("args"):
        settings_shown["args"] = arguments(settings["args"])
    if settings.get("url"):
        settings_shown["url"] = address(settings["url"])
    return settings_shown


def value_of(value: str) -> str:
    """Return a variable's or a header's value if it only refers to the environment, otherwise
    HIDDEN."""
    return value if not value or NAMED.search(value) else HIDDEN


def arguments(words: Sequence[str]) -> list[str]:
    """Return arguments, hiding the values of those whose names suggest a secret."""
    words_shown, secret = [], False
    for word in words:
        name, equals, value = word.partition("=")
        if secret and not word.startswith("-"):
            words_shown.append(value_of(word))
        elif equals and _is_secret(name):
            words_shown.append(f"{name}={value_of(value)}")
        else:
            words_shown.append(word)
        secret = not equals and word.startswith("-") and _is_secret(word)
    return words_shown


def address(url: str) -> str:
    """Return an address without its password and the secret parameters of its query."""

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
    """A server and how to reach it.

    `origin` is the folder of the file that names it, or "" for the owner's configuration. `roots`
    are directories where tools can write.
    """

    name: str
    settings: ServerSettings
    origin: str = ""
    roots: tuple[Path, ...] = ()

    @property
    def key(self) -> str:
        """The key of its pins."""
        return f"{self.origin}#{self.name}" if self.origin else self.name

    @property
    def how(self) -> str:
        """The command or the address, without secrets."""
        if self.settings.url:
            return address(self.settings.url)
        return " ".join([self.settings.command or "", *arguments(self.settings.args)])

    @property
    def entry(self) -> str:
        """All of its settings, as the owner sees them before approval."""
        return json.dumps(self.settings.model_dump(exclude_defaults=True), indent=1, sort_keys=True)

    @property
    def digest(self) -> str:
        """A digest that is equal for equal entries."""
        return hashlib.sha256(self.entry.encode()).hexdigest()

    @property
    def program(self) -> str:
        """The program of its command; one below a root only if there is no other."""
        command = filled(self.settings.command or "")
        found = programs.find(command, self.roots) or shutil.which(command)
        return found if found and Path(found).is_absolute() else command

    @property
    def files(self) -> dict[str, str]:
        """The digests of the code files and folders that it runs and that tools can write."""
        if not self.settings.command:
            return {}
        folder = Path(self.settings.cwd or self.origin or Path.cwd())
        variables = (f"{name}={filled(value)}" for name, value in self.settings.env.items())
        words = [self.program, *map(filled, self.settings.args), *variables]
        return code.digests(words, folder, self.roots)


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers, and a notice for each entry that could not be used."""

    servers: tuple[Server, ...] = ()
    notices: tuple[str, ...] = field(default=())


def of(workspace: Workspace) -> Servers:
    """Return the servers available to a conversation in a workspace; those of the workspace only
    with trust."""
    root = workspace.root if trust.is_trusted(workspace) else None
    return named_by(tree.validate(config.load()).mcpServers, root, (workspace.root,))


def named_by(
    configured: Mapping[str, ServerSettings], root: Path | None, roots: tuple[Path, ...] = ()
) -> Servers:
    """Return the owner's servers, then those of the folder's `.mcp.json` with other names.

    Tools can write in `roots`.
    """
    own = [Server(name, settings, roots=roots) for name, settings in configured.items()]
    entries, notices = _read_entries(root / FILE) if root else ({}, [])
    from_file = []
    for name, entry in entries.items():
        try:
            settings = ServerSettings.model_validate(_known_fields(entry))
        except ValidationError as error:
            reason = error.errors()[0]["msg"].removeprefix("Value error, ")
            notices.append(f"{FILE}: the server {name!r} is not used: {reason}")
            continue
        if name not in configured:
            from_file.append(Server(name, settings, str(root), roots))
    return Servers((*own, *from_file), tuple(notices))


def _read_entries(path: Path) -> tuple[dict[str, Any], list[str]]:
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
        return {}, [f"{FILE} is not used: it is not JSON with an object `mcpServers`"]
    return entries, []


def _known_fields(entry: Any) -> Any:
    """Return the recognised fields of an entry: other programs have more."""
    if not isinstance(entry, dict):
        return entry
    return {name: value for name, value in entry.items() if name in ServerSettings.model_fields}


def filled(text: str) -> str:
    """Return the text with `${NAME}` and `${NAME:-otherwise}` replaced from the environment."""
    return VARIABLE.sub(lambda match: os.environ.get(match[1], match[2] or ""), text)
