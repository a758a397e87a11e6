"""Which calls run, which ask, which never run: danger levels, the owner's rules, the owner.

`deny` wins over all; of `ask` and `allow` the more specific rule wins, `ask` where they are equally
so; both win over the danger level. What a rule names is said in `rules.py`.
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
    """Who is asked about a dangerous call, and what the model would know of the owner."""

    def decide(self, request: ApprovalRequested) -> Decision:
        """Wait for the owner's yes or no."""

    def answer(self, asked: QuestionAsked) -> str | None:
        """Wait for the owner's answer, empty if they give none; None if nobody is there."""


class DenyAll:
    """Nobody is there to ask: the answer is no."""

    def decide(self, request: ApprovalRequested) -> Decision:
        """No, and why."""
        return Decision("no", "nobody is here to approve it; the owner can run it with --yes")

    def answer(self, asked: QuestionAsked) -> str | None:
        """Nobody is there."""
        return None


class ApproveAll:
    """The owner said yes to everything beforehand (`--yes`); `present` answers questions."""

    def __init__(self, present: Approver | None = None) -> None:
        self._present = present or DenyAll()

    def decide(self, request: ApprovalRequested) -> Decision:
        """Yes, this once."""
        return Decision("once")

    def answer(self, asked: QuestionAsked) -> str | None:
        """What the owner answers, if they are there."""
        return self._present.answer(asked)


class Policy:
    """The owner's rules, and what was allowed for the rest of this session.

    A grant is the digest of exactly what the owner was shown.
    """

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self.granted: set[str] = set()

    def judge(self, tool: str, plan: Plan) -> Action:
        """Whether the call runs, asks, or never runs, by the rules and its danger."""
        if self.rules.deny(tool, plan):
            return "deny"
        if plan.secrets or self.rules.ask(tool, plan):
            return "ask"
        if self.rules.allow(tool, plan):
            return "run"
        return "ask" if plan.danger is Danger.DANGEROUS else "run"
