"""Edits to a program's configuration: our server under a key, a hook in a list, or a separate file.

Each edit adds its entry to a text and removes it again; everything else is unchanged.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Protocol

from assistant.errors import ConfigError
from assistant.integrations import jsonc
from assistant.tables import value_at


class Edit(Protocol):
    """An entry in a text."""

    def present(self, text: str) -> Any:
        """Return the present entry; None if it is missing."""

    def other(self, text: str) -> "Entry | None":
        """Return another entry that occupies its key; a hook or file has none."""
        return None

    def made(self, text: str) -> str:
        """Return the text with the entry; what the owner added to it stays.

        Raises ValueError for a text that cannot have it.
        """

    def unmade(self, text: str) -> str:
        """Return the text without the entry."""


class Language(Protocol):
    """The format of a configuration: `jsonc` or `toml`."""

    def value(self, text: str, path: Sequence[str]) -> Any:
        """Return the value at a path of keys; None if there is none."""

    def put(self, text: str, path: Sequence[str], new: Any) -> str:
        """Return the text with a value at a path."""

    def remove(self, text: str, path: Sequence[str]) -> str:
        """Return the text without the value at a path."""


@dataclass(frozen=True, slots=True)
class Entry(Edit):
    """Our server under a path of keys."""

    path: Sequence[str]
    server: dict[str, Any]
    language: Language = jsonc

    def present(self, text: str) -> Any:
        """Return our server, of any workspace."""
        server = self.language.value(text, self.path)
        before, name, _ = " ".join(command_of(server)).partition(" --as ")
        return server if name and "mcp" in before.split() else None

    def other(self, text: str) -> "Entry | None":
        """Return another server of the same name."""
        server = self.language.value(text, self.path)
        return None if server is None or self.present(text) else replace(self, server=server)

    def made(self, text: str) -> str:
        present = self.present(text)
        if not present:
            return self.language.put(text, self.path, self.server)
        for key, value in self._updated(present).items():
            text = self.language.put(text, (*self.path, key), value)
        return text

    def unmade(self, text: str) -> str:
        return self.language.remove(text, self.path) if self.present(text) else text

    def _updated(self, present: dict[str, Any]) -> dict[str, Any]:
        """Return our present server, with the program and the workspace of the new one; a
        module that Python runs stays."""
        own, words = command_of(self.server), [*command_of(present)]
        options = own[1 : own.index("mcp")]
        mcp = _last("mcp", words[: words.index("--as")])
        start = _last(options[0], words[:mcp]) if options else None
        at, end = (mcp, mcp) if start is None else (start, start + len(options))
        names = [PurePath(word).name for word in words[:at]]
        program = _last(PurePath(own[0]).name, names)
        if program is None or words[program - 1] != "-m":
            words[program or 0] = own[0]
        words[at:end] = options
        is_list = isinstance(self.server["command"], list)
        command = {"command": words} if is_list else {"command": words[0], "args": words[1:]}
        return self.server | present | command


def _last(word: str, words: Sequence[str]) -> int | None:
    """Return the last position of a word; None without it."""
    return max((at for at, other in enumerate(words) if other == word), default=None)


def command_of(server: Any) -> tuple[str, ...]:
    """Return the command of a server's entry, in any program's form."""
    if not isinstance(server, dict):
        return ()
    command, arguments = server.get("command"), server.get("args")
    arguments = arguments if isinstance(arguments, list) else []
    words = command if isinstance(command, list) else [command, *arguments]
    return tuple(words) if all(isinstance(word, str) for word in words) else ()


@dataclass(frozen=True, slots=True)
class Hook(Edit):
    """A command that a program runs at an event; ours ends with `mark`.

    `version` is the file's format version, which is added if it is missing.
    """

    path: Sequence[str]
    item: dict[str, Any]
    mark: str
    version: int | None = None

    def present(self, text: str) -> Any:
        return self._paths(text) or None

    def made(self, text: str) -> str:
        if self.version and jsonc.value(text, ("version",)) is None:
            text = jsonc.put(text, ("version",), self.version)
        paths = self._paths(text)
        (new,) = _commands([self.item], self.path, self.mark)
        if len(paths) == 1 and len(paths[0]) == len(new):
            command = value_at([self.item], (*new[len(self.path) :], "command"))
            return jsonc.put(text, (*paths[0], "command"), command)
        return jsonc.add(self._without(text), self.path, self.item)

    def unmade(self, text: str) -> str:
        text = self._without(text)
        is_empty = jsonc.value(text) == {"version": self.version}
        return jsonc.remove(text, ("version",)) if is_empty else text

    def _without(self, text: str) -> str:
        while paths := self._paths(text):
            text = jsonc.remove(text, paths[-1])
        return text

    def _paths(self, text: str) -> list[Sequence[str | int]]:
        return _commands(jsonc.value(text, self.path), self.path, self.mark)


def _commands(value: Any, path: Sequence[str | int], mark: str) -> list[Sequence[str | int]]:
    """Return the paths of the objects whose `command` ends with a mark."""
    if isinstance(value, dict):
        if str(value.get("command", "")).endswith(mark):
            return [path]
        parts: Any = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    else:
        return []
    return [command for key, part in parts for command in _commands(part, (*path, key), mark)]


@dataclass(frozen=True, slots=True)
class OwnFile(Edit):
    """A file of ours: from its first line to its last; other lines around it stay."""

    text: str

    def present(self, text: str) -> Any:
        return self.text if self._ends[0] in text else None

    def made(self, text: str) -> str:
        if text and not self.present(text):
            raise ValueError("another file has this name")
        before, after = self._around(text)
        return f"{before}{self.text}{after}"

    def unmade(self, text: str) -> str:
        return "".join(self._around(text)) if self.present(text) else text

    @property
    def _ends(self) -> tuple[str, str]:
        first, *_, last = self.text.splitlines(keepends=True)
        return first, last

    def _around(self, text: str) -> tuple[str, str]:
        """Return the lines before ours, and those after them."""
        first, last = self._ends
        before, _, rest = text.partition(first)
        return before, rest.partition(last)[2]


def changed(name: str, text: str, changes: Sequence[Callable[[str], str]]) -> str:
    """Apply all changes to a text; its byte-order mark and line endings stay.

    Raises ConfigError with the position of the fault in the text.
    """
    from tomlkit.exceptions import TOMLKitError

    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    dos = 0 < text.count("\n") == text.count("\r\n")
    text = text.replace("\r\n", "\n") if dos else text
    try:
        for change in changes:
            text = change(text)
    except (ValueError, TOMLKitError, RecursionError) as error:
        raise ConfigError(
            f"{name} cannot be parsed, so it was not changed: {error}",
            "Correct it, then run this again",
        ) from error
    return mark + (text.replace("\n", "\r\n") if dos else text)
