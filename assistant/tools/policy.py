"""Which calls run, which ask, which never run: danger levels, the owner's rules, the owner.

A rule is `tool` or `tool:pattern`, the pattern a shell glob over what the call touches: a path
relative to its root, or a command. `deny` wins over `ask`, `ask` over `allow`, and that over the
danger level.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, Protocol

from assistant.events import ApprovalRequested
from assistant.settings import PolicySettings
from assistant.tools.base import Danger, Plan

Action = Literal["run", "ask", "deny"]

SHELL = "shell"
OPERATORS = re.compile(r"[;&|<>`\n(){}]|\$\(")
"""What joins or nests shell commands."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The owner's answer; `reason` is shown to the model."""

    kind: Literal["once", "always", "no"]
    reason: str = ""


class Approver(Protocol):
    """Who is asked about a dangerous call."""

    def decide(self, request: ApprovalRequested) -> Decision:
        """Wait for the owner's answer."""


class DenyAll:
    """Nobody is there to ask: the answer is no."""

    def decide(self, request: ApprovalRequested) -> Decision:
        """No, and why."""
        return Decision("no", "nobody is here to approve it; the owner can run it with --yes")


class ApproveAll:
    """The owner said yes to everything beforehand (`--yes`)."""

    def decide(self, request: ApprovalRequested) -> Decision:
        """Yes, this once."""
        return Decision("once")


class Policy:
    """The owner's rules, and what was allowed for the rest of this session."""

    def __init__(self, settings: PolicySettings | None = None) -> None:
        self._rules = settings or PolicySettings()
        self._granted: set[tuple[str, str]] = set()

    def judge(self, tool: str, plan: Plan) -> Action:
        """Whether the call runs, asks, or never runs."""
        if _any(self._rules.deny, tool, plan.subjects):
            return "deny"
        if plan.subjects and all((tool, subject) in self._granted for subject in plan.subjects):
            return "run"
        if _any(self._rules.ask, tool, plan.subjects):
            return "ask"
        if _allowed(self._rules.allow, tool, plan):
            return "run"
        return "ask" if plan.danger is Danger.DANGEROUS else "run"

    def grant(self, tool: str, plan: Plan) -> None:
        """Let calls of this tool on exactly these subjects run unasked for this session."""
        self._granted.update((tool, subject) for subject in plan.subjects)


def _any(rules: Iterable[str], tool: str, subjects: tuple[str, ...]) -> bool:
    """Whether a rule names the tool, or a pattern matches any subject or part of a command."""
    parts = [part for subject in subjects for part in (subject, *_commands(tool, subject))]
    for rule in rules:
        name, _, pattern = rule.partition(":")
        if fnmatchcase(tool, name) and (
            not pattern or any(fnmatchcase(part, pattern) for part in parts)
        ):
            return True
    return False


def _allowed(rules: Iterable[str], tool: str, plan: Plan) -> bool:
    """Whether the rules let every subject of the call through."""
    matching = [rule.partition(":")[2] for rule in rules if fnmatchcase(tool, rule.split(":")[0])]
    if "" in matching and not plan.guarded:
        return True
    return bool(plan.subjects) and all(
        any(pattern and _covers(tool, pattern, subject) for pattern in matching)
        for subject in plan.subjects
    )


def _covers(tool: str, pattern: str, subject: str) -> bool:
    """`git status*` lets no `git status; rm …` through: a wildcard spans no operator."""
    if tool == SHELL and OPERATORS.search(subject) and subject != pattern:
        return False
    return fnmatchcase(subject, pattern)


def _commands(tool: str, subject: str) -> list[str]:
    return [part.strip() for part in OPERATORS.split(subject)] if tool == SHELL else []
