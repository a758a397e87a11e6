"""Approvals: a dangerous call is shown in full, and only an exact answer allows it.

Each row of the call starts with a bar and is wrapped, with nothing cut or hidden, so that it cannot
be mistaken for the program's own text.
"""

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from rich.cells import cell_len, chop_cells

from assistant.cli.chat.plain import LineDialogue
from assistant.cli.chat.screen import Dialogue
from assistant.cli.palette import diff_colour, diff_pieces, styled
from assistant.cli.questions import explained, listed
from assistant.display import revealed
from assistant.events import ApprovalRequested, QuestionAsked
from assistant.tables import table_of
from assistant.tools.policy import Decision

BAR, BAR_AGAIN = "│ ", "┆ "
"""Prefix of each line of a text, and of each row that continues one."""
LEAST_WIDTH = 10
WORD = re.compile(r"\S+\s*|\s+")
TEXT = table_of(__file__)
QUESTION = f"Allow it? {listed(TEXT['keys'])}: "
MORE_WORDS, ALL_WORDS = ("m", "more"), ("v", "view")
YES, ALWAYS, NO = ("y", "yes"), ("a", "always"), ("n", "no")
CLOSED = "no the owner closed the question"
ROWS_BESIDE = 6
"""Rows of the screen not used by a page: its title, and a question wrapped on a narrow screen."""
LEAST_ROWS = 4


@dataclass(frozen=True, slots=True)
class Asking:
    """An `Approver` that asks the owner in a dialogue."""

    dialogue: Dialogue

    def decide(self, request: ApprovalRequested) -> Decision:
        """Show all of a call, page by page, and return the owner's decision."""
        columns, _ = self.dialogue.size
        lines = list(barred(request.detail, columns, colours=True))
        page = self._page(columns)
        who = f"“{revealed(request.who)}” asks: may" if request.who else "May"
        self._show(f"{who} {request.tool} do this?", lines[:page])
        shown = page
        with self.dialogue.asking():
            while True:
                left = len(lines) - shown
                answer = self._answer(TEXT["more"].format(left=left) if left > 0 else QUESTION)
                if not answer:
                    self._say(TEXT["empty"])
                elif answer == "?":
                    self._say(explained(TEXT["keys"]))
                elif answer.casefold() in ALL_WORDS and self.dialogue.view("\n".join(lines)):
                    shown = len(lines)
                elif answer.casefold() in (*MORE_WORDS, *ALL_WORDS):
                    page = self._page(columns)  # the window may have been resized
                    until = shown + page if answer.casefold() in MORE_WORDS else len(lines)
                    following = lines[shown:until]
                    self.dialogue.put(
                        "\n".join(following) or styled(TEXT["shown"], bold=True), "more"
                    )
                    shown = until
                elif left > 0 and decided(answer).kind != "no":
                    self._say(TEXT["unread"])
                else:
                    return decided(answer)

    def _page(self, columns: int) -> int:
        """Return how many rows the screen has room for at this width."""
        now, rows = self.dialogue.size
        return max(LEAST_ROWS, (rows - ROWS_BESIDE) // -(-columns // now))

    def answer(self, asked: QuestionAsked) -> str | None:
        """Ask a question of the model; return the owner's answer, empty if they close it."""
        self._show("The assistant asks", list(barred(asked.rendered, self.dialogue.size[0])))
        kind = "several" if asked.several else "one" if asked.options else "open"
        answer = ""
        with self.dialogue.asking(), contextlib.suppress(EOFError):
            while not answer.strip():
                answer = self.dialogue.answer(TEXT["answers"][kind], asked.options)
        return asked.meant(answer) if answer.strip() else ""

    def _show(self, title: str, rows: list[str]) -> None:
        self.dialogue.put("\n".join([styled(title, bold=True), *rows]))

    def _say(self, text: str) -> None:
        self.dialogue.put(styled(text, bold=True), "more")

    def _answer(self, question: str) -> str:
        try:
            return self.dialogue.answer(question).strip()
        except EOFError:
            return CLOSED


def approver() -> Asking | None:
    """Return an approver that asks whoever sees standard error and has a keyboard, even if standard
    input is a pipe; None if nobody does."""
    if not sys.stderr.isatty():
        return None
    if sys.stdin.isatty():
        return Asking(LineDialogue(sys.stdin, sys.stderr))
    # the terminal of this process, or of the process that started it for us
    for path in ("/dev/tty", os.ttyname(sys.stderr.fileno())):
        with contextlib.suppress(OSError):
            return Asking(LineDialogue(Path(path).open(encoding="utf-8"), sys.stderr))
    return None


def decided(answer: str) -> Decision:
    """Return the decision: only the exact words "yes" and "always" allow; any other text is a
    refusal with its reason."""
    answer = answer.strip()
    if answer.casefold() in YES:
        return Decision("once")
    if answer.casefold() in ALWAYS:
        return Decision("always")
    word, _, reason = answer.partition(" ")
    return Decision("no", reason.strip() if word.casefold() in NO else answer)


def barred(text: str, columns: int, *, colours: bool = False) -> Iterator[str]:
    """Yield the text in rows of at most `columns`, each with a bar; with `colours`, as a diff whose
    changed words are bold."""
    lines = text.split("\n")
    for line, pieces in zip(lines, diff_pieces(lines, revealed), strict=True):
        shown = "".join(piece for piece, _ in pieces)
        marks = iter([bold and colours for piece, bold in pieces for _ in piece])
        rows = list(_at_words(shown, max(LEAST_WIDTH, columns - cell_len(BAR) - 1)))
        colour = diff_colour(line) if colours else None
        for number, row in enumerate(rows):
            marked = groupby(zip(row, marks, strict=False), itemgetter(1))
            yield styled(BAR_AGAIN if number else BAR, colour) + "".join(
                styled("".join(char for char, _ in run), colour, bold=bold) for bold, run in marked
            )


def _at_words(line: str, columns: int) -> Iterator[str]:
    """Yield the line in rows, broken between words where they fit; nothing is left out."""
    row = ""
    for word in WORD.findall(line):
        if row and cell_len(row + word) > columns:
            yield row
            row = ""
        *full, row = chop_cells(row + word, columns)
        yield from full
    yield row
