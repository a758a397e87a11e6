"""Decides which calls run, need approval or are denied, by the owner's rules and the call's danger.

`deny` overrides everything. Of `ask` and `allow` the more specific rule wins, and `ask` on a tie;
both override the danger.

A rule is `tool` or `tool:pattern`, both globs. The pattern applies to what a call touches: a path,
or the text of a command. Paths are compared in their real form, absolute and with every link
resolved, however a call or a rule writes them. `deny` and `ask` match broadly: a pattern without a
slash matches in every folder, one that names a folder matches everything in it, and case is
ignored. `allow` matches narrowly: a path below the workspace, exactly.
"""

import os
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, Protocol

import regex
from wcmatch import fnmatch, glob
from wcmatch._wcparse import PatternLimitException

from assistant.errors import ConfigError, ToolError
from assistant.events import ApprovalRequested, QuestionAsked
from assistant.settings.sections import PolicySettings
from assistant.tools.base import Plan
from assistant.tools.places import BEFORE_COMMANDS, EVALUATING, READERS, SHELLS

# Splits a command line into plain commands. Only plain spellings are recognised, and it can be
# evaded on purpose: a rule over commands is not a security boundary (docs/security.md).

OPERATORS = re.compile(r"[;&|<>`\n(){}]|\$[(\[]")
"""Operators that join or nest shell commands, or compute, in which bash may run one too."""
NESTING = re.compile(r"[<>({`]|\$\[")
"""Those of them in which a command does not begin a part, or one writes."""
CHOICE = re.compile(r"\{([^\s{}]*,[^\s{}]*)\}")
"""Words in braces, which bash separates: `{git,push}` is `git push`."""
DOLLAR = re.compile(r"\$(?=['\"])")
"""Before a quotation mark it only changes how bash reads the quoted text."""
EXPANDED = re.compile(r".[$*?\[]", re.DOTALL)
"""What an argument may come from that the text of a command does not show."""
ASSIGNED = re.compile(r"\w+=")
MOST_OPTIONS = 6
"""Maximum number of words that are taken for a program's options."""


@lru_cache(maxsize=8)  # every rule asks
def plain_commands(line: str) -> set[str]:
    """Return each command in a line, its words joined by single spaces.

    Prefixes (`FOO=1 time git push`), the path of the program and its options (`git -C x push`) are
    stripped.
    """
    commands: set[str] = set()
    text = DOLLAR.sub("", line.replace("\\\n", ""))
    chosen = CHOICE.sub(lambda match: match[1].replace(",", " "), text)
    for part in {text, chosen, *OPERATORS.split(text), *OPERATORS.split(line)}:
        for words in _commands(part):
            for program, *rest in _possible_starts(words):
                has_options = bool(rest) and rest[0].startswith("-")
                for skip_count in range(min(len(rest), MOST_OPTIONS) + 1 if has_options else 1):
                    commands.add(" ".join([program.rpartition("/")[2], *rest[skip_count:]]))
                if program.rpartition("/")[2] in SHELLS:
                    nested = (plain_commands(word) for word in rest if " " in word)
                    commands = commands.union(*nested)
    return commands


def _possible_starts(words: list[str]) -> Iterator[list[str]]:
    """Yield the words from each position where a command may begin."""
    first = next(
        (index for index, word in enumerate(words) if not ASSIGNED.match(word)), len(words)
    )
    if first < len(words):
        is_before = words[first].rpartition("/")[2] in BEFORE_COMMANDS
        yield from (words[index:] for index in range(first, len(words) if is_before else first + 1))


def only_reads(line: str) -> bool:
    """Return whether every command in a line only reads; an unknown command may write."""
    parts = (part.strip(" ").partition(" ")[0] for part in OPERATORS.split(line))
    return not NESTING.search(line) and all(first in READERS for first in parts if first)


def _is_joined(line: str) -> bool:
    """Return whether a line may run more than the one command that it begins with."""
    evaluates = line.split(" ")[0] in EVALUATING and EXPANDED.search(line)
    return bool(evaluates or OPERATORS.search(line))


def _commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command, split at unquoted operators."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>\n`")
    lexer.whitespace = " \t\r"
    words: list[str] = []
    try:
        for word in lexer:
            if word[:1] and word[0] in ";&|()<>\n`":
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:  # an unclosed quotation mark
        words = text.split()
    yield words


# Globs

SECONDS = 1.0
"""Timeout for matching one path against one glob."""
CHOICES = 500
"""Maximum number of globs that one may expand to through its braces."""
WITHIN = glob.GLOBSTAR | glob.DOTGLOB | glob.CASE | glob.FORCEUNIX | glob.BRACE | glob.MATCHBASE
ACROSS = fnmatch.DOTMATCH | fnmatch.CASE | fnmatch.FORCEUNIX | fnmatch.BRACE


@dataclass(frozen=True, slots=True)
class Glob:
    """A compiled glob."""

    text: str
    patterns: tuple["regex.Pattern[str]", ...]

    def matches(self, path: str) -> bool:
        """Return whether the whole path matches. Raises ToolError on timeout."""
        try:
            return any(pattern.fullmatch(path, timeout=SECONDS) for pattern in self.patterns)
        except TimeoutError as error:
            raise ToolError(f"{self.text} takes too long to match", "Use fewer stars") from error


def unknown_tools(settings: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a warning for each rule that names no existing tool and so has no effect, with its
    setting."""
    lines = []
    for key, rules in settings.items():
        for rule in rules:
            tool = rule.partition(":")[0].strip()
            if not tool.startswith(("mcp", "*")) and not any(map(across(tool).matches, TOOLS)):
                near = get_close_matches(tool, TOOLS, n=1)
                question = f"; did you mean {near[0]}?" if near else ""
                lines.append(f"{key} has {rule!r}, but no tool is called {tool!r}{question}")
    return lines


@lru_cache(maxsize=256)
def within(text: str) -> Glob:
    """Compile a glob over relative paths, in which `*` stays within a folder and `**` does not.

    Without a slash it matches in every folder. Raises ToolError if its braces expand to too many.
    """
    return _compiled(text, glob.translate, text.removeprefix("./"), WITHIN)


@lru_cache(maxsize=256)
def across(text: str) -> Glob:
    """Compile a glob in which `*` also spans folders, and `**/` may match an empty text.

    Raises ToolError if its braces expand to too many.
    """
    return _compiled(text, fnmatch.translate, text.replace("**/", "{,*/}"), ACROSS)


def literally(text: str) -> str:
    """Return a glob that matches only this text."""
    return fnmatch.escape(text)


def folded(text: str) -> str:
    """Normalise a path or glob as case- and Unicode-insensitive file systems do."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _compiled(text: str, translate: Callable[..., Any], pattern: str, flags: int) -> Glob:
    try:
        matching, _ = translate(pattern, flags=flags, limit=CHOICES)
    except PatternLimitException as error:
        raise ToolError(
            f"{text} expands to more than {CHOICES} globs", "Use fewer braces"
        ) from error
    return Glob(text, tuple(map(regex.compile, matching)))


DENIED = "The owner's rules deny this call."
"""The error of a denied call, whether or not the target exists."""
SHELL, CODE = "shell", "execute_code"
READ = "read_file"
READING = (READ, "list_files", "find_files", "grep")
SHOWING = ("grep", "recall", "browse", SHELL, CODE)
"""Other tools that show the content of files: a path that may not be read is also closed to
these."""
WRITING = ("write_file", "edit_file", "apply_patch")
MAGIC = frozenset("*?[]{}\\")
"""Characters that make a part of a path a pattern."""
_TOOLS = """
agenda apply_patch ask browse delegate edit_file execute_code fetch_url find_files grep list_files
list_jobs load_skills load_tools note plan read_file read_job read_on recall remember remind
search_sessions shell stop_job web_search write_file
"""
TOOLS = tuple(_TOOLS.split())
"""The tools that rules may name, in addition to those of MCP servers."""
Action = Literal["run", "ask", "deny"]
EVERYTHING = ("", "*", "**")
"""Patterns that match whatever the call touches."""


Touched = tuple[str, bool]
"""Something that a call touches: the text of a subject, such as a command, and True; or an absolute
path and False."""


def _touched_by(plan: Plan) -> list[Touched]:
    """Return what a call touches; an empty subject if it touches nothing."""
    paths = [(path, False) for path in plan.paths]
    return [*((text, True) for text in plan.subjects), *paths] or [("", True)]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. An empty `pattern` matches every call of the tool; a relative one is relative to
    each of the directories."""

    tool: str
    pattern: str
    directories: Sequence[str]

    @property
    def weight(self) -> int:
        """How specific the rule is: the number of literal characters in its pattern."""
        return sum(char not in MAGIC for char in self.pattern)

    def names(self, tool: str) -> bool:
        """Return whether the rule applies to this tool; rules for commands also apply to code."""
        glob = across(self.tool)
        return glob.matches(tool) or (tool == CODE and glob.matches(SHELL))

    def binds(self, tool: str) -> bool:
        """Return whether a path that the rule matches is restricted for this tool."""
        return self.names(tool) or (
            tool in SHOWING and self.pattern not in EVERYTHING and self.names(READ)
        )

    def about(self, tools: Iterable[str]) -> bool:
        """Return whether the rule applies to any of these tools."""
        return any(map(self.names, tools))

    def restricts(self, tool: str, touched: Touched) -> bool:
        """Return whether the rule, read broadly, matches what a call of this tool touches."""
        text, is_subject = touched
        if self.pattern in EVERYTHING:
            return self.names(tool)
        if not is_subject:
            directory = os.path.isdir(text)  # noqa: PTH112  # or too long a path
            return self.binds(tool) and _named([self]).holds(text, directory=directory)
        parts = {text, *(plain_commands(text) if tool == SHELL else ())}
        return self.names(tool) and any(fnmatchcase(part, self.pattern) for part in parts)

    def allows(self, tool: str, plan: Plan, touched: Touched) -> bool:
        """Return whether the rule, as one of `allow` and read narrowly, matches what a call
        touches.

        One that allows commands does not allow code, and `git status*` does not match `git status;
        rm …`: wildcards do not span operators.
        """
        text, is_subject = touched
        if not self.pattern:
            return self.names(tool) and not plan.guarded
        if not across(self.tool).matches(tool):
            return False
        if is_subject:
            is_joined = tool in (SHELL, CODE) and _is_joined(text) and text != self.pattern
            return not is_joined and fnmatchcase(text, self.pattern)
        absolute, names = self._parts()
        root = "/" if absolute or not self.directories else self.directories[0]
        return across("/".join([literally(root).rstrip("/"), *names])).matches(text)

    def exact(self) -> Iterator[tuple[str, bool]]:
        """Yield the literal paths that the pattern names, each with whether it stands for a
        folder's content."""
        absolute, names = self._parts()
        folder = bool(names) and names[-1] in ("*", "**")
        literal_names = names[:-1] if folder else names
        if literal_names and all(map(MAGIC.isdisjoint, literal_names)):
            for root in ("",) if absolute else self.directories:
                yield os.path.normpath("/".join([root.rstrip("/"), *literal_names])), folder

    def spellings(self) -> Iterator[str]:
        """Yield the pattern as absolute globs, as written and with its links resolved."""
        absolute, names = self._parts()
        for root in ("/",) if absolute else self.directories:
            fixed = list(takewhile(MAGIC.isdisjoint, names))
            remainder = names[len(fixed) :]
            prefix = os.path.normpath("/".join([root.rstrip("/"), *fixed]) or "/")
            for start in (prefix, os.path.realpath(prefix)):
                yield "/".join([literally(start).rstrip("/"), *remainder])
            if len(names) == 1 and not absolute:
                yield "/".join([literally(root).rstrip("/"), "*", *names])

    def _parts(self) -> tuple[bool, list[str]]:
        """Return whether the pattern is absolute, and its parts."""
        text = self.pattern
        text = str(Path(text).expanduser()) if text.startswith("~/") else text
        return text.startswith("/"), [part for part in text.split("/") if part not in ("", ".")]


@dataclass(frozen=True, slots=True)
class Named:
    """The paths that a set of rules covers.

    `paths` are globs for the paths and everything below them. `exact` lists the paths of rules
    without wildcards, which can be named even before they exist: `(path, False)` for the path
    itself, `(path, True)` for everything in that folder (`path/*` or `path/**`).
    """

    paths: tuple[Glob, ...] = ()
    exact: tuple[tuple[str, bool], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.paths)

    def holds(self, path: str, *, directory: bool) -> bool:
        """Return whether a real absolute path is one of these, is below one of them, or is a
        directory that contains only these."""
        spellings = [folded(path), *([f"{folded(path)}/"] if directory else [])]
        return any(glob.matches(spelling) for glob in self.paths for spelling in spellings)


def _named(rules: Iterable[Rule]) -> Named:
    relevant = [rule for rule in rules if rule.pattern]
    spellings = {spelling for rule in relevant for spelling in rule.spellings()}
    return Named(
        tuple(across(folded(pattern) + "{,/*}") for pattern in sorted(spellings)),
        tuple(sorted({item for rule in relevant for item in rule.exact()})),
    )


class Rules:
    """The owner's rules. `directories` are the workspace and the directories added to it.

    Raises ConfigError for a rule with an invalid glob.
    """

    def __init__(
        self, settings: PolicySettings | None = None, directories: Sequence[Path] = ()
    ) -> None:
        chosen, roots = settings or PolicySettings(), tuple(map(str, directories))
        self._deny, self._ask, self._allow = (
            [_parsed(text, roots) for text in texts]
            for texts in (chosen.deny, chosen.ask, chosen.allow)
        )
        try:
            for rule in (*self._deny, *self._ask, *self._allow):
                rule.names("")
                _named([rule])
        except ToolError as error:
            raise ConfigError(f"a rule of [policy] cannot be read: {error}") from error

    def judge(self, tool: str, plan: Plan) -> Action:
        """Return whether the call runs, needs approval or is denied, by the rules and its
        danger."""
        if self.deny(tool, plan):
            return "deny"
        if plan.secrets or self.ask(tool, plan):
            return "ask"
        if all(self._allowed(tool, plan, touched) >= 0 for touched in _touched_by(plan)):
            return "run"
        return "ask" if plan.dangerous else "run"

    def switched_off(self, tool: str) -> bool:
        """Return whether the rules deny every call of the tool."""
        return any(rule.names(tool) and rule.pattern in EVERYTHING for rule in self._deny)

    def deny(self, tool: str, plan: Plan) -> bool:
        """Return whether the call is denied."""
        return any(
            rule.restricts(tool, touched) for touched in _touched_by(plan) for rule in self._deny
        )

    def ask(self, tool: str, plan: Plan) -> bool:
        """Return whether the call needs approval, whatever its danger: for each thing it touches
        the most specific `ask` or `allow` rule decides."""
        for touched in _touched_by(plan):
            weights = [rule.weight for rule in self._ask if rule.restricts(tool, touched)]
            if weights and max(weights) >= self._allowed(tool, plan, touched):
                return True
        return False

    def denied(self, tool: str) -> Named:
        """Return the paths that are denied to a tool."""
        return _named(rule for rule in self._deny if rule.binds(tool))

    def asked(self, tool: str) -> Named:
        """Return the paths for which a tool needs approval."""
        return _named(rule for rule in self._ask if rule.binds(tool))

    def kept_from_commands(self) -> tuple[Named, Named]:
        """Return the paths that no command may see, and those that none may change.

        Paths that may not be read without approval are hidden: a command cannot ask midway.
        """
        rules = [
            rule
            for rule in (*self._deny, *self._ask)
            if any(map(rule.binds, (SHELL, CODE))) and rule.about((*READING, *WRITING))
        ]
        return (
            _named(rule for rule in rules if rule.about(READING)),
            _named(rule for rule in rules if not rule.about(READING)),
        )

    def _allowed(self, tool: str, plan: Plan, touched: Touched) -> int:
        """Return the weight of the most specific rule that allows it; otherwise -1."""
        rules = (rule for rule in self._allow if rule.allows(tool, plan, touched))
        return max((rule.weight for rule in rules), default=-1)


def _parsed(text: str, directories: Sequence[str]) -> Rule:
    tool, _, pattern = (part.strip() for part in text.partition(":"))
    if "://" in pattern:  # host names ignore case, paths do not
        scheme, _, rest = pattern.partition("://")
        machine, slash, path = rest.partition("/")
        pattern = f"{scheme}://{machine}".lower() + slash + path
    return Rule(tool, pattern, directories)


@dataclass(frozen=True, slots=True)
class Decision:
    """The owner's answer; `reason` is shown to the model."""

    kind: Literal["once", "always", "no"]
    reason: str = ""


class Approver(Protocol):
    """Decides on dangerous calls and answers the model's questions, usually the owner."""

    def decide(self, request: ApprovalRequested) -> Decision:
        """Wait for the owner's decision."""

    def answer(self, asked: QuestionAsked) -> str | None:
        """Wait for the owner's answer: empty if they decline, None if nobody is there."""


class DenyAll:
    """An approver that refuses, for when nobody is there."""

    def decide(self, request: ApprovalRequested) -> Decision:
        """Refuse, with the reason."""
        return Decision("no", "nobody is here to approve it; the owner can run it with --yes")

    def answer(self, asked: QuestionAsked) -> str | None:
        """Return None: nobody is there."""
        return None


class ApproveAll:
    """Approves everything, as the owner has allowed with `--yes`; `present` answers questions."""

    def __init__(self, present: Approver | None = None) -> None:
        self._present = present or DenyAll()

    def decide(self, request: ApprovalRequested) -> Decision:
        """Approve this call once."""
        return Decision("once")

    def answer(self, asked: QuestionAsked) -> str | None:
        """Return the owner's answer, if they are there."""
        return self._present.answer(asked)
