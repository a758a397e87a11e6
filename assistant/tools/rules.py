"""The owner's rules: what a rule names.

A rule is `tool` or `tool:pattern`, both globs. The pattern is over what a call touches: a path,
or the text of a command. Paths are compared as they really are, absolute and with every link
followed, whatever way a call or a rule spells them. `deny` and `ask` are read widely: a pattern
without a slash holds in every folder, one that names a folder for all that is in it, in capitals
or not. `allow` is read narrowly: a path below the workspace, exactly so.
"""

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import regex
from wcmatch import fnmatch, glob
from wcmatch._wcparse import PatternLimitException

from assistant.errors import ConfigError, ToolError
from assistant.settings.sections import PolicySettings
from assistant.tools.base import Plan
from assistant.tools.commands import OPERATORS, plain_commands

SECONDS = 1.0
"""How long one path is compared with one glob."""
CHOICES = 500
"""How many globs the braces of one may stand for."""
WITHIN = glob.GLOBSTAR | glob.DOTGLOB | glob.CASE | glob.FORCEUNIX | glob.BRACE | glob.MATCHBASE
ACROSS = fnmatch.DOTMATCH | fnmatch.CASE | fnmatch.FORCEUNIX | fnmatch.BRACE


@dataclass(frozen=True, slots=True)
class Glob:
    """A compiled glob."""

    text: str
    patterns: tuple["regex.Pattern[str]", ...]

    def matches(self, path: str) -> bool:
        """Whether the whole path matches. Raises ToolError if that takes too long to say."""
        try:
            return any(pattern.fullmatch(path, timeout=SECONDS) for pattern in self.patterns)
        except TimeoutError as error:
            raise ToolError(f"{self.text} takes too long to match", "Use fewer stars") from error


@lru_cache(maxsize=256)
def within(text: str) -> Glob:
    """A glob over relative paths whose `*` stays within a folder and whose `**` does not.

    Without a slash it matches in every folder. Raises ToolError if its braces mean too many.
    """
    return _compiled(text, glob.translate, text.removeprefix("./"), WITHIN)


@lru_cache(maxsize=256)
def across(text: str) -> Glob:
    """A glob whose `*` spans folders too, and whose `**/` may stand for none.

    Raises ToolError if its braces mean too many.
    """
    return _compiled(text, fnmatch.translate, text.replace("**/", "{,*/}"), ACROSS)


def literally(text: str) -> str:
    """A glob that matches this text and no other."""
    return fnmatch.escape(text)


def folded(text: str) -> str:
    """A path, or a glob, as disks see it that tell neither capitals nor forms of Unicode apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _compiled(text: str, translate: Callable[..., Any], pattern: str, flags: int) -> Glob:
    try:
        matching, _ = translate(pattern, flags=flags, limit=CHOICES)
    except PatternLimitException as error:
        raise ToolError(f"{text} means over {CHOICES} globs", "Use fewer braces") from error
    return Glob(text, tuple(map(regex.compile, matching)))


DENIED = "The owner's rules deny this call."
"""What the model is told, whether or not what it asked for is there."""
SHELL = "shell"
READ = "read_file"
READING = (READ, "list_files", "find_files", "grep")
SHOWING = ("grep", "recall", SHELL)
"""What else shows what is in a file: a place that may not be read is not read by these either."""
WRITING = ("write_file", "edit_file", "apply_patch")
MAGIC = frozenset("*?[]{}\\")
"""What makes a part of a path a pattern."""
EVERYTHING = ("", "*", "**")
"""Patterns that name whatever the call touches."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. An empty `pattern` names every call of the tool."""

    tool: str
    pattern: str

    @property
    def weight(self) -> int:
        """How specific it is: the characters of its pattern that stand for themselves."""
        return sum(char not in MAGIC for char in self.pattern)

    def names(self, tool: str) -> bool:
        """Whether the rule is about this tool."""
        return across(self.tool).matches(tool)

    def binds(self, tool: str) -> bool:
        """Whether a place that the rule names is named for this tool."""
        return self.names(tool) or (
            tool in SHOWING and self.pattern not in EVERYTHING and self.names(READ)
        )

    def about(self, tools: Iterable[str]) -> bool:
        """Whether the rule is about any of these tools."""
        return any(map(self.names, tools))


Touched = tuple[str, bool]
"""What a call touches: the text of a subject, such as a command, and True; or else a place, an
absolute path."""


def _touched(plan: Plan) -> list[Touched]:
    return [*((text, True) for text in plan.subjects), *((path, False) for path in plan.places)]


@dataclass(frozen=True, slots=True)
class Named:
    """The places that some rules name, read widely.

    `exact` are those that a rule names without a pattern, or all of what is in them; True marks
    these, which are folders.
    """

    places: tuple[Glob, ...] = ()
    folders: tuple[Glob, ...] = ()
    exact: tuple[tuple[str, bool], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.places)

    def holds(self, path: str, *, directory: bool) -> bool:
        """Whether a real absolute path is one of the places, or in one of them."""
        seen = folded(path)
        return any(place.matches(seen) for place in self.places) or (
            directory and any(folder.matches(seen) for folder in self.folders)
        )


class Rules:
    """The owner's rules. `directories` are the workspace, then those added to it.

    Raises ConfigError for a rule whose globs cannot be read.
    """

    def __init__(
        self, settings: PolicySettings | None = None, directories: Sequence[Path] = ()
    ) -> None:
        chosen = settings or PolicySettings()
        self._deny, self._ask, self._allow = (
            tuple(map(_parsed, texts)) for texts in (chosen.deny, chosen.ask, chosen.allow)
        )
        self._directories = tuple(map(str, directories))
        for rule in (*self._deny, *self._ask, *self._allow):
            self._check(rule)

    def switched_off(self, tool: str) -> bool:
        """Whether no call of the tool may ever run."""
        return any(rule.names(tool) and rule.pattern in EVERYTHING for rule in self._deny)

    def deny(self, tool: str, plan: Plan) -> bool:
        """Whether the call never runs."""
        if self.switched_off(tool):
            return True
        return any(self._weight(self._deny, tool, each) >= 0 for each in _touched(plan))

    def ask(self, tool: str, plan: Plan) -> bool:
        """Whether the call asks, whatever its danger: of the rules that ask for or allow what it
        touches, the most specific one decides."""
        for each in _touched(plan):
            weight = self._weight(self._ask, tool, each)
            if weight >= 0 and weight >= self._allowed(tool, plan, each):
                return True
        return not _touched(plan) and any(
            rule.names(tool) and rule.pattern in EVERYTHING for rule in self._ask
        )

    def allow(self, tool: str, plan: Plan) -> bool:
        """Whether everything that the call touches may be touched unasked."""
        if any(rule.names(tool) and not rule.pattern for rule in self._allow) and not plan.guarded:
            return True
        touched = _touched(plan)
        return bool(touched) and all(self._allowed(tool, plan, each) >= 0 for each in touched)

    def denied(self, tool: str) -> Named:
        """The places that are denied to a tool."""
        return self._named(rule for rule in self._deny if rule.binds(tool))

    def asked(self, tool: str) -> Named:
        """The places that a tool asks for."""
        return self._named(rule for rule in self._ask if rule.binds(tool))

    def hidden_from_commands(self) -> Named:
        """The places that no command may see: denied or asked for when files are read. A command
        cannot ask when it comes to one."""
        return self._named(rule for rule in self._in_commands() if rule.about(READING))

    def kept_from_commands(self) -> Named:
        """The places that no command may change, though it may see them."""
        return self._named(rule for rule in self._in_commands() if not rule.about(READING))

    def idle(self, tools: Iterable[str]) -> list[str]:
        """The rules that are about none of these tools, as the owner wrote them."""
        known = list(tools)
        return [
            f"{rule.tool}:{rule.pattern}" if rule.pattern else rule.tool
            for rule in (*self._deny, *self._ask, *self._allow)
            if not any(rule.names(tool) for tool in known)
        ]

    def _check(self, rule: Rule) -> None:
        try:
            rule.names("")
            self._named([rule])
        except ToolError as error:
            raise ConfigError(f"a rule of [policy] cannot be read: {error}") from error

    def _weight(self, rules: Iterable[Rule], tool: str, touched: Touched) -> int:
        """How specific the most specific of the rules is that names it, read widely; else -1."""
        text, is_subject = touched
        parts = {text, *(plain_commands(text) if is_subject and rules and tool == SHELL else ())}
        weights = [-1]
        for rule in rules:
            if not is_subject and rule.binds(tool) and rule.pattern not in EVERYTHING:
                found = self._named([rule]).holds(text, directory=os.path.isdir(text))  # noqa: PTH112  # or too long a path
            else:
                found = rule.names(tool) and (
                    rule.pattern in EVERYTHING
                    or (is_subject and any(fnmatchcase(part, rule.pattern) for part in parts))
                )
            weights += [rule.weight] if found else []
        return max(weights)

    def _allowed(self, tool: str, plan: Plan, touched: Touched) -> int:
        """How specific the most specific rule is that allows it, read narrowly; else -1."""
        text, is_subject = touched
        weights = [-1]
        for rule in self._allow:
            if not rule.names(tool) or (not rule.pattern and plan.guarded):
                continue
            if not rule.pattern or (
                _spans(tool, rule.pattern, text)
                if is_subject
                else self._below(rule.pattern).matches(text)
            ):
                weights.append(rule.weight)
        return max(weights)

    def _in_commands(self) -> Iterator[Rule]:
        """The rules that bind the shell and are about files too, and so not about a command."""
        for rule in (*self._deny, *self._ask):
            if rule.binds(SHELL) and rule.about((*READING, *WRITING)):
                yield rule

    def _named(self, rules: Iterable[Rule]) -> Named:
        about = [rule for rule in rules if rule.pattern]
        spelled = {spelling for rule in about for spelling in self._spellings(rule.pattern)}
        folders = {each.rstrip("*")[:-1] for each in spelled if each.endswith(("/*", "/**"))}
        return Named(
            tuple(across(folded(pattern) + "{,/*}") for pattern in sorted(spelled)),
            tuple(across(folded(folder)) for folder in sorted(folders)),
            tuple(sorted({each for rule in about for each in self._exact(rule.pattern)})),
        )

    def _exact(self, pattern: str) -> Iterator[tuple[str, bool]]:
        """The pattern as paths, if it names some, and whether as folders."""
        absolute, names = _clean(pattern)
        folder = bool(names) and names[-1] in ("*", "**")
        fixed = names[:-1] if folder else names
        if fixed and all(map(MAGIC.isdisjoint, fixed)):
            for root in ("",) if absolute else self._directories:
                yield os.path.normpath("/".join([root.rstrip("/"), *fixed])), folder

    def _spellings(self, pattern: str) -> Iterator[str]:
        """The pattern as absolute globs, as it is spelled and where its links lead."""
        absolute, names = _clean(pattern)
        for root in ("/",) if absolute else self._directories:
            fixed = list(takewhile(MAGIC.isdisjoint, names))
            rest = names[len(fixed) :]
            spelled = os.path.normpath("/".join([root.rstrip("/"), *fixed]) or "/")
            for start in (spelled, os.path.realpath(spelled)):
                yield "/".join([literally(start).rstrip("/"), *rest])
            if len(names) == 1 and not absolute:
                yield "/".join([literally(root).rstrip("/"), "*", *names])

    def _below(self, pattern: str) -> Glob:
        """The pattern as a glob over absolute paths, read narrowly."""
        absolute, names = _clean(pattern)
        root = "/" if absolute or not self._directories else self._directories[0]
        return across("/".join([literally(root).rstrip("/"), *names]))


def _parsed(text: str) -> Rule:
    tool, _, pattern = (part.strip() for part in text.partition(":"))
    if "://" in pattern:  # a machine's name is the same in capitals, a path is not
        scheme, _, rest = pattern.partition("://")
        machine, slash, path = rest.partition("/")
        pattern = f"{scheme}://{machine}".lower() + slash + path
    return Rule(tool, pattern)


def _clean(pattern: str) -> tuple[bool, list[str]]:
    """Whether a pattern starts at the root of the file system, and its parts."""
    text = str(Path(pattern).expanduser()) if pattern.startswith("~/") else pattern
    return text.startswith("/"), [part for part in text.split("/") if part not in ("", ".")]


def _spans(tool: str, pattern: str, subject: str) -> bool:
    """`git status*` lets no `git status; rm …` through: a wildcard spans no operator."""
    if tool == SHELL and OPERATORS.search(subject) and subject != pattern:
        return False
    return bool(pattern) and fnmatchcase(subject, pattern)
