"""Approvals: the whole of a dangerous call is shown, and only exact words let it run.

What the call would do stands behind a bar on every line, wrapped and with nothing cut or hidden,
so that it cannot pass for the program's own words. More than fits the screen comes page by page,
and the question after the last.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from assistant.cli.terminal.dialogue import Dialogue, Line, Look
from assistant.cli.terminal.question import answer
from assistant.cli.terminal.rows import barred
from assistant.cli.terminal.screen.linewise import LineDialogue
from assistant.display import revealed
from assistant.events import ApprovalRequested, QuestionAsked
from assistant.tools.policy import Decision

QUESTION = "yes, always (in this session), or no and why: "
MORE = "{left} more lines · Enter shows them, no refuses: "
UNREAD = "not before all of it was shown"
YES, ALWAYS, NO = ("y", "yes"), ("a", "always"), ("n", "no")
CALLED_OFF = "the owner closed the question"
ROWS_BESIDE = 6
"""Rows of the screen that a page leaves free: its title, and a question wrapped on a narrow one."""
LEAST_ROWS = 4


@dataclass(frozen=True, slots=True)
class Asking:
    """The `Approver` who asks the owner in a dialogue."""

    dialogue: Dialogue

    def decide(self, request: ApprovalRequested) -> Decision:
        """Wait for the owner's yes or no."""
        return ask(request, self.dialogue)

    def answer(self, asked: QuestionAsked) -> str | None:
        """Wait for the owner's answer."""
        return answer(asked, self.dialogue)


def ask(request: ApprovalRequested, dialogue: Dialogue) -> Decision:
    """Put a call before the owner, all of it, and return what they decide."""
    columns, rows = dialogue.size
    lines = list(in_full(request, columns))
    page = max(LEAST_ROWS, rows - ROWS_BESIDE)
    dialogue.show([Line(_title(request), "title"), *lines[:page]])
    dialogue.settle()
    for start in range(page, len(lines), page):
        refusal = _read_on(dialogue, len(lines) - start)
        if refusal is not None:
            return refusal
        dialogue.show(lines[start : start + page], more=True)
    return decided(_said(dialogue, QUESTION))


def approver() -> Asking | None:
    """Asks whoever sees standard error and has a keyboard, be standard input a pipe; None if
    nobody does."""
    if not sys.stderr.isatty():
        return None
    if sys.stdin.isatty():
        return Asking(LineDialogue(sys.stdin, sys.stderr))
    keyboard = _keyboard()
    if keyboard is None:
        return None
    return Asking(LineDialogue(keyboard, sys.stderr))


def _keyboard() -> TextIO | None:
    """The terminal of this process, or, where another started it for us, that of its errors."""
    for path in ("/dev/tty", os.ttyname(sys.stderr.fileno())):
        with contextlib.suppress(OSError):
            return Path(path).open(encoding="utf-8")
    return None


def decided(answer: str) -> Decision:
    """What an answer means: yes and always in exactly these words, all else is no and why."""
    said = answer.strip()
    if said.casefold() in YES:
        return Decision("once")
    if said.casefold() in ALWAYS:
        return Decision("always")
    word, _, reason = said.partition(" ")
    return Decision("no", reason.strip() if word.casefold() in NO else said)


def in_full(request: ApprovalRequested, columns: int) -> Iterator[Line]:
    """What a call would do, in rows of so many columns."""
    return (Line(row, _look(line)) for row, line in barred(request.detail, columns))


def _title(request: ApprovalRequested) -> str:
    who = f"“{revealed(request.who)}” asks: may" if request.who else "May"
    return f"{who} {request.tool} do this?"


def _look(line: str) -> Look:
    if line.startswith(("+++", "---", "@@")):
        return "place"
    return "added" if line.startswith("+") else "removed" if line.startswith("-") else ""


def _read_on(dialogue: Dialogue, left: int) -> Decision | None:
    """None when the owner wants the next page; a no otherwise. There is no yes before the end."""
    while said := _said(dialogue, MORE.format(left=left)):
        decision = decided(said)
        if decision.kind == "no":
            return decision
        dialogue.show([Line(UNREAD, "title")], more=True)
    return None


def _said(dialogue: Dialogue, question: str) -> str:
    try:
        return dialogue.answer(question).strip()
    except EOFError:
        return f"no {CALLED_OFF}"
