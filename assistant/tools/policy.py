"""Decide which calls run, ask or never run, by the owner's rules and the danger level.

`deny` overrides everything. Of `ask` and `allow` the more specific rule wins, and `ask` on a tie;
both override the danger level. `rules.py` describes what a rule matches.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from assistant.events import ApprovalRequested, QuestionAsked
from assistant.tools.base import Danger, Plan
from assistant.tools.rules import Rules

Action = Literal["run", "ask", "deny"]


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
    """An approver for when nobody is there: it refuses."""

    def decide(self, request: ApprovalRequested) -> Decision:
        """Refuse, with the reason."""
        return Decision("no", "nobody is here to approve it; the owner can run it with --yes")

    def answer(self, asked: QuestionAsked) -> str | None:
        """Return None: nobody is there."""
        return None


class ApproveAll:
    """Approves everything, as the owner said beforehand (`--yes`); `present` answers questions."""

    def __init__(self, present: Approver | None = None) -> None:
        self._present = present or DenyAll()

    def decide(self, request: ApprovalRequested) -> Decision:
        """Approve this call once."""
        return Decision("once")

    def answer(self, asked: QuestionAsked) -> str | None:
        """Return the owner's answer, if they are there."""
        return self._present.answer(asked)


class Policy:
    """The owner's rules, and the approvals granted for the rest of the session.

    A grant is the digest of exactly what the owner was shown.
    """

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self.granted: set[str] = set()

    def judge(self, tool: str, plan: Plan) -> Action:
        """Return whether the call runs, asks or is denied, by the rules and its danger."""
        if self.rules.deny(tool, plan):
            return "deny"
        if plan.secrets or self.rules.ask(tool, plan):
            return "ask"
        if self.rules.allow(tool, plan):
            return "run"
        return "ask" if plan.danger is Danger.DANGEROUS else "run"
