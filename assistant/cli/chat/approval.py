"""Questions to the owner. The whole of a dangerous call is shown, and only exact words allow it.

What a call would do stands behind a bar on every line, wrapped, with nothing cut or hidden, so that
it cannot pass for the program's own words.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from rich.cells import cell_len

from assistant.cli.chat.plain import LineDialogue
from assistant.cli.chat.screen import Dialogue, Line, Look
from assistant.display import revealed
from assistant.events import ApprovalRequested, QuestionAsked
from assistant.tools.base import Question
from assistant.tools.policy import Decision

BAR, BAR_AGAIN = "│ ", "┆ "
"""Before each line of a text, and before what of it did not fit the line."""
LEAST_WIDTH = 10


def barred(text: str, columns: int) -> Iterator[tuple[str, str]]:
    """Each row with its bar, in so many columns, and the line of the text that it is of."""
    room = max(LEAST_WIDTH, columns - cell_len(BAR) - 1)
    for line in text.split("\n"):
        first, *rest = wrapped(revealed(line), room)
        yield f"{BAR}{first}", line
        yield from ((f"{BAR_AGAIN}{row}", line) for row in rest)


def wrapped(text: str, columns: int) -> list[str]:
    """The text in rows of at most so many columns; joined they are the text."""
    rows, row, width = [], "", 0
    for char in text:
        if width + cell_len(char) > columns:
            rows.append(row)
            row, width = "", 0
        row, width = row + char, width + cell_len(char)
    return [*rows, row]


QUESTION = "yes, always (in this session), or no and why: "
MORE = "{left} more lines · m shows more, no refuses: "
MORE_WORDS = ("m", "more")
UNREAD = "not before all of it was shown"
EMPTY = "Enter alone decides nothing"
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
        return put_question(asked, self.dialogue)


def ask(request: ApprovalRequested, dialogue: Dialogue) -> Decision:
    """Put a call before the owner, all of it, and return what they decide."""
    columns, rows = dialogue.size
    lines = list(in_full(request, columns))
    page = max(LEAST_ROWS, rows - ROWS_BESIDE)
    dialogue.show([Line(_title(request), "title"), *lines[:page]])
    with dialogue.asking():
        shown = page
        while shown < len(lines):
            said = _said(dialogue, MORE.format(left=len(lines) - shown))
            if said.casefold() in MORE_WORDS:
                dialogue.show(lines[shown : shown + page], more=True)
                shown += page
            elif said and decided(said).kind == "no":
                return decided(said)
            else:
                dialogue.show([Line(UNREAD if said else EMPTY, "title")], more=True)
        while not (said := _said(dialogue, QUESTION)):
            dialogue.show([Line(EMPTY, "title")], more=True)
        return decided(said)


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


def _said(dialogue: Dialogue, question: str) -> str:
    try:
        return dialogue.answer(question).strip()
    except EOFError:
        return f"no {CALLED_OFF}"


TITLE = "The assistant asks"
OPEN, ONE, SEVERAL = (
    "your answer: ",
    "a number, or your own words: ",
    "numbers, or your own words: ",
)


def put_question(asked: QuestionAsked, dialogue: Dialogue) -> str:
    """Put a question before the owner; what they mean, empty if they close it with Ctrl-D."""
    question = Question(asked.question, asked.options, asked.several)
    columns, _ = dialogue.size
    rows = (Line(row) for row, _ in barred(question.rendered, columns))
    dialogue.show([Line(TITLE, "title"), *rows])
    prompt = SEVERAL if asked.several else ONE if asked.options else OPEN
    said = ""
    with dialogue.asking():
        try:
            while not said.strip():
                said = dialogue.answer(prompt, asked.options)
        except EOFError:
            return ""
    return question.meant(said)
