"""Where a value begins and ends: quoted, bare, in groups, in front of the next pair. Pure."""

import re
from typing import NamedTuple

LONGEST = 2_048
"""Characters of a value that are taken."""
JUDGED = 128
"""Characters of a value by which it is judged."""
_OPEN = re.compile(r"[bBrRuUfFL@$&]{0,2}(\\{0,3}[\"'`]|\*\*|[“„«‘「『])")
_CLOSING = {"“": "”", "„": "“", "«": "»", "‘": "’", "「": "」", "『": "』"}
_BARE = r"[^\s\"'`<>“”„«»「」，。；、）】"
_HEAD = re.compile(rf"{_BARE}=]{{1,{JUDGED}}}=*")
_WHOLE = re.compile(rf"{_BARE}]{{1,{LONGEST}}}")
_ASCII_HEAD = re.compile(rf"[!#-&(-;=?-_a-~]{{1,{JUDGED}}}")
_GROUPED = re.compile(
    r"(?:[a-z]{4} ){3}[a-z]{4}(?!\w)|(?:[A-Z2-7]{4} ){3,15}[A-Z2-7]{2,4}(?!\w)"
    r"|(?:[a-z2-7]{4} ){3,15}[a-z2-7]{2,4}(?!\w)"
)
_NEXT = re.compile(r"[;&,|](?=[\w .%-]{1,40}[=:])|\\[nr]")
"""Where the next pair of a list begins, or the next line of a string in code."""
_END = re.compile(r"[.!?~*_]{0,3}[ \t]*(?:\Z|[\r\n\"'`,;)}\]|#<\\&*]|//|--|-[A-Za-z])")
_ESCAPES = re.compile(r"(?:\\{1,2}[nrt])+$")
_CLOSED = re.compile(r"[)\]}](?=[)\]};,.=&|?:]|$)")
_TRAILING = ".,;:"
_MARKUP = ("**", "~~", "__")
_BRACKETS = {")": "(", "]": "[", "}": "{"}


class Value(NamedTuple):
    """A value, where it stands, and how."""

    start: int
    text: str
    quoted: bool
    alone: bool
    """Nothing follows it on its line but what closes or comments."""

    @property
    def end(self) -> int:
        """The position after its last character."""
        return self.start + len(self.text)


def read(text: str, at: int, *, ascii_only: bool = False) -> Value | None:
    """The value that begins here, or as much of it as it is judged by; None if none does.

    `ascii_only` is for scripts without spaces, where the sentence goes on behind the value.
    """
    opened = _OPEN.match(text, at)
    if opened and (value := _quoted(text, opened)):
        return value
    at = opened.end() if opened else at
    grouped = _GROUPED.match(text, at)
    found = grouped or (_ASCII_HEAD if ascii_only else _HEAD).match(text, at)
    if not found:
        return None
    said = found[0] if grouped else _trimmed(found[0])
    if not said:
        return None
    return Value(at, said, False, _END.match(text, at + len(said)) is not None)


def whole_end(text: str, value: Value) -> int:
    """Where a value ends of which `read` may have given the beginning alone."""
    if value.quoted or " " in value.text or text[value.end : value.end + 1].isspace():
        return value.end
    rest = _WHOLE.match(text, value.start)
    return max(value.end, value.start + len(_trimmed(rest[0]))) if rest else value.end


def _quoted(text: str, opened: re.Match[str]) -> Value | None:
    mark = opened[1]
    closing, start = _CLOSING.get(mark, mark), opened.end()
    end = text.find(closing, start, start + LONGEST)
    while end > start and len(mark) == 1 and text[end - 1] == "\\":  # an escaped quotation mark
        end = text.find(closing, end + 1, start + LONGEST)
    said = text[start:end] if end > start else ""
    if not said.strip() or "\n" in said or (mark == "`" and " " in said):
        return None  # nothing, several lines, or a command to be run
    said = _ESCAPES.sub("", said)
    return Value(start, said, mark != "`", True) if said else None


def _trimmed(said: str) -> str:
    """Without the next pair of a list, and without what closes the sentence or the brackets."""
    if cut := _NEXT.search(said):
        said = said[: cut.start()]
    said = _inside(said)
    while said:
        last = said[-1]
        if said.endswith(_MARKUP):
            said = said[:-2]
        elif last in _TRAILING or (last in _BRACKETS and _unopened(said, last)):
            said = said[:-1]
        else:
            break
    return said


def _inside(said: str) -> str:
    """Up to a bracket that closes what stands around the value."""
    for closed in _CLOSED.finditer(said):
        if _unopened(said[: closed.end()], closed[0]):
            return said[: closed.start()]
    return said


def _unopened(said: str, bracket: str) -> bool:
    return said.count(_BRACKETS[bracket]) < said.count(bracket)
