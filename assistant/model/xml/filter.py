"""Calls taken out of a text that grows, piece by piece, wherever a piece may end. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from assistant.model.base import ToolSpec
from assistant.model.xml.calls import (
    BORDERS,
    HEADS,
    LONGEST_HEAD,
    OPEN,
    STRAY,
    Block,
    calls_in,
    is_whole,
)
from assistant.model.xml.fences import Fences


class CallFilter:
    """Takes the calls out of a text; one that is quoted, in a code fence say, is a part of it.

    What might still become the markup of a call is held back, so none of it is ever shown.
    `blocks` are the calls found so far.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.blocks: list[Block] = []
        self._tools = tools
        self._rest = ""
        self._open: Block | None = None  # the call that is open, its body still empty
        self._fences = Fences()
        self._behind_call = False
        self._shown = False

    def feed(self, piece: str) -> str:
        """Take a piece in; returns what can be shown."""
        self._rest += piece
        if self._open is not None and not (">" in piece or "]" in piece):
            return ""  # no tag ends here: spare a long value the search
        shown = ""
        while True:
            if self._open is None:
                shown += self._prose()
            if self._open is None or not self._take(self._open):
                return shown

    def finish(self, *, ended: bool) -> str:
        """The text is over; returns what was held back. `ended` says it came to its own end."""
        rest, self._rest = self._rest, ""
        if self._open is None:
            return self._show("" if self._behind_call else rest)
        block = replace(self._open, body=rest, closed=True)
        calls, behind = calls_in(block)
        for each in calls:
            self.blocks.append(replace(each, closed=ended and is_whole(each, self._tools)))
        self._behind_call = True
        return self._show(behind)

    def _prose(self) -> str:
        """Show the text up to the next call, or up to what may become one."""
        shown = ""
        while not self._behind_call or self._skip_gap():
            found = OPEN.search(self._rest)
            if not found:
                return shown + self._say(_held_from(self._rest))
            if self._fences.after(self._rest[: found.start()]).quoted:
                shown += self._say(found.end())
                continue
            shown += self._show(self._rest[: found.start()].rstrip())
            self._rest, self._fences = self._rest[found.end() :], Fences()
            if found["mark"]:
                self._behind_call = True
                continue
            form = str(found.lastgroup)
            name = found["name"] or found["called"] or found["invoked"] or ""
            self._open = Block(name, "", False, form)
            return shown
        return shown

    def _say(self, end: int) -> str:
        """Show the text up to there."""
        said, self._rest = self._rest[:end], self._rest[end:]
        self._fences.feed(said)
        return self._show(said)

    def _skip_gap(self) -> bool:
        """Drop the white space behind a call, and ends of nothing; False if more must come."""
        self._rest = self._rest.lstrip()
        while stray := next((s for s in STRAY if self._rest.lower().startswith(s)), None):
            self._rest = self._rest[len(stray) :].lstrip()
        begun = any(each.startswith(self._rest.lower()) for each in STRAY)
        return bool(self._rest) and not begun

    def _take(self, opened: Block) -> bool:
        """Take the open call out, if its end is there: its tag, or the next call's."""
        for border in BORDERS[opened.form].finditer(self._rest):
            block = replace(opened, body=self._rest[: border.start()], closed=True)
            if border["close"] or (border["open"] and is_whole(block, self._tools)):
                calls, behind = calls_in(block)
                self.blocks += calls
                self._rest = (
                    behind + self._rest[border.end() if border["close"] else border.start() :]
                )
                self._open, self._behind_call = None, True
                return True
        return False

    def _show(self, text: str) -> str:
        """What is shown of a piece of prose; behind a call it starts a new paragraph."""
        if not text:
            return ""
        gap = "\n\n" if self._behind_call and self._shown else ""
        self._behind_call, self._shown = False, True
        return gap + text


def _held_from(text: str) -> int:
    """Where the end of the text begins that may become a call, with the space before it."""
    place = max(text.rfind("<"), text.rfind("["))
    if place < 0 or not _may_begin(text[place:].lower()):
        place = len(text)
    return len(text[:place].rstrip())


def _may_begin(tail: str) -> bool:
    unfinished = len(tail) <= LONGEST_HEAD and ">" not in tail
    return any(head.startswith(tail) or (unfinished and tail.startswith(head)) for head in HEADS)
