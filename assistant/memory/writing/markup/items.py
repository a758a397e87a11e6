"""A fact as one list item: escaped text, and where in a file it goes. Pure: text in, edits out.

Texts here are a file's own, decoded, without a byte-order mark.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date

from assistant.characters.unseen import UNSEEN
from assistant.memory.text.markdown import BREAKS, breaks_in
from assistant.secrets.stand_ins import STAND_IN

REST = re.compile(r"[ \t]*(?=[\r\n]|$)")
_EMOJI = "\ufe0f"
"""Shows the symbol before it as a picture."""
_INLINE = re.compile(
    rf"(?P<stand_in>{STAND_IN.pattern})"  # stays as it is, to be known again
    r"|\\(?=[!-/:-@\[-`{-~])"  # a backslash that would escape what follows
    r"|&(?=#\d{1,7};|#[xX][0-9a-fA-F]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)"
    r"|[`\[\]]"
    r"|\*(?!\s)|(?<=\S)\*"  # emphasis, not a lone star between spaces
    r"|(?<![^\W_])_|_(?![^\W_])"  # emphasis, not snake_case
    r"|<(?=[A-Za-z/!?])|(?<=<)!"
    r"|~(?=~)|(?<=~)~"
)
_OPENING = re.compile(r"#{1,6}(?:\s|$)|>|[-+*](?:\s|$)|--")
_ORDERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Splice:
    """`removed` gives way to `inserted` at a character."""

    at: int
    removed: str
    inserted: str

    def apply(self, text: str) -> str:
        """The text after the change."""
        return text[: self.at] + self.inserted + text[self.at + len(self.removed) :]

    def reverse(self, text: str) -> str:
        """The text before the change, given the text after it."""
        return text[: self.at] + self.removed + text[self.at + len(self.inserted) :]

    def shifted(self, offset: int) -> "Splice":
        """The same change of a text that this one's stands in at `offset`."""
        return Splice(self.at + offset, self.removed, self.inserted)


def clean(text: str) -> str:
    """One line of visible text: line breaks become spaces; what cannot be seen is dropped.

    Dropped are control, format (bidi, zero-width, tags), surrogate and blank-looking characters
    and all variation selectors but the emoji one.
    """
    return " ".join("".join(map(_visible, text)).split())


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    unseen = character in UNSEEN and character != _EMOJI
    return "" if unseen or unicodedata.category(character) in {"Cc", "Cf", "Cs"} else character


def escape(text: str) -> str:
    """One line of clean text as markdown that says exactly that."""
    escaped = _INLINE.sub(lambda found: found["stand_in"] or "\\" + found[0], text)
    if _OPENING.match(escaped):
        return "\\" + escaped
    number = _ORDERED.match(escaped)
    return f"{number[1]}\\{escaped[number.end(1) :]}" if number else escaped


def dated(section: str, day: date) -> str:
    """The title of a section's heading for a day, as markdown."""
    name = escape(clean(section).strip("# ")) or "Remembered"
    return f"{name} -- {day.isoformat()}"


def item_of(inserted: str) -> str:
    """The list item's line in what an insertion added."""
    return BREAKS.split(inserted.strip())[-1].strip()


def line_of(text: str, line: str) -> int:
    """The 1-based number of the last line that reads so; 0 if there is none."""
    at = text.rfind(line)
    while at >= 0:
        start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        if not text[start:at].strip() and REST.match(text, at + len(line)):
            return breaks_in(text[:at]) + 1
        at = text.rfind(line, 0, at)
    return 0
