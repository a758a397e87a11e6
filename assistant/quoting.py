"""Quotes foreign text in a prompt so that it cannot break out. Pure.

Recalled passages, tool results and past messages are data. A tag, a chat template's marker or a
heading in them must not be read as the prompt's own, even if disguised by invisible characters,
full-width or look-alike letters, or characters between the letters.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import chain
from pathlib import Path

from assistant.characters import UNSEEN

_lines = Path(__file__).with_name("chat_templates.txt").read_text("utf-8").splitlines()
_families = dict(line.split(": ", 1) for line in _lines if not line.startswith("#"))
MARKUP = tuple(_families.pop("markup").split("  "))
"""Marks that models are trained to obey but that are common in ordinary texts."""
MARKS = {family: tuple(marks.split("  ")) for family, marks in _families.items()}
"""Marks by the model family that obeys them."""

OUR_TAGS = (
    *("memory", "transcript", "known", "summary", "reminder", "briefing"),
    *("toolcall", "toolresult"),
)
"""Tags that only the prompt itself may contain, whatever else is in the brackets."""
ROLES = ("system", "assistant", "user", "owner", "human", "tool", "inst", "sys")
"""Words that models take for a speaker if they are alone in brackets."""

LOOKALIKES = (
    dict(zip("аверсоуухкмнтіјѕԁһӏɩıⅼ", "abepcoyyxkmhtijsdhliil", strict=True))
    | dict(zip("αβεικμνορστυχζηΥΡΗΝΖ", "abeikmvopstuxznyphnz", strict=True))
    | dict(zip("ВНРСУХᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏ", "bhpcyxabcdeghijklmnoprstuvwy", strict=True))
    | dict.fromkeys("⁄∕⧸⧵∣", "/")
    | dict.fromkeys("「『【〔〘〚〈《❲❴❬❮⟦⟨⟪⁅‹«", "[")
    | dict.fromkeys("」』】〕〙〛〉》❳❵❭❯⟧⟩⟫⁆›»", "]")
)
"""Letters and brackets that look like ASCII, from Unicode's confusables.txt."""
ANY = "¿"
"""Any other non-ASCII letter, which may be a disguise too."""
SHORT = 3
"""A mark of at most this many letters matches only as written."""


def _word(tags: tuple[str, ...]) -> str:
    alternatives = (" ?".join(f"[{letter}{ANY}]" for letter in tag) for tag in tags)
    return rf"(?P<word>{'|'.join(alternatives)})(?![a-z0-9{ANY}])"


FORGED = (
    re.compile(rf"[\[<{{][\s/|]{{0,9}}{_word(OUR_TAGS)}"),
    re.compile(rf"[\[<{{][\s|]{{0,9}}{_word(ROLES)}[ |]{{0,9}}(?:[\]>}}]|$)", re.MULTILINE),
    re.compile(rf"[\[<{{]\s?/[\s/|]{{0,9}}{_word(ROLES)}"),
    re.compile(r"<\s?(?P<word>\|)"),  # <|im_start|> and its kin, listed or not
)
"""Patterns that match the output of `_skeleton`."""
CALLS = (re.compile(rf"[\[<{{][\s/|]{{0,9}}{_word(('toolcall', 'toolresult'))}"),)
"""The markup of calls and results, also matched in the skeleton."""
_LISTED = sorted(set(chain.from_iterable(MARKS.values())))
_TAIL = "|".join(
    [r"\|[^<>|\s]{1,40}\|>", r"｜[^<>｜\s]{1,40}｜>", *(re.escape(mark[1:]) for mark in _LISTED)]
)
"""Chat templates' marks, without their opening bracket. Some servers take one for the end of a
message wherever it occurs, even in a tool's result."""
LIVE, INERT = (
    re.compile(rf"([<\[\]])(?=\\*(?:{_TAIL}))"),
    re.compile(rf"([<\[\]])\\(?=\\*(?:{_TAIL}))"),
)
CLOSERS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>", "<!": ">"}
"""The ends of invisible HTML constructs, by their beginnings."""
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
"""An HTML comment; an unclosed one extends to the end."""
HIDDEN = re.compile(r"(?P<ticks>`+)|(?P<opener><!--|<!\[CDATA\[|<\?|<!(?=[A-Za-z]))")
BRIEFING = re.compile(r"[\[［](\s*/?\s*briefing)", re.IGNORECASE)
"""The briefing's tag, in text that is not the program's."""
REMOVED = frozenset(("Cc", "Cf", "Cs", "Co", "Cn"))
"""Categories of control and invisible characters; they are removed like `UNSEEN`."""


def visible(text: str) -> str:
    """Remove control, invisible and direction-changing characters; line ends become LF."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    invisible = [char for char in set(lines) if _is_invisible(char)]
    return lines.translate(dict.fromkeys(map(ord, invisible)))


def _is_invisible(char: str) -> bool:
    return char not in "\n\t" and (char in UNSEEN or unicodedata.category(char) in REMOVED)


def neutralised(text: str) -> str:
    """Return the visible text; the opening bracket of each tag or marker becomes a round one."""
    return _neutralise(visible(text), (*FORGED, _marks()))


def without_calls(text: str) -> str:
    """Return the text with the markup of calls and results neutralised in the same way."""
    return _neutralise(text, CALLS)


def inert(text: str) -> str:
    """Insert a backslash into each chat template mark; `live` removes it."""
    return LIVE.sub(r"\1\\", text)


def without_briefings(text: str) -> str:
    """Neutralise briefing tags: only the program may brief the model."""
    return BRIEFING.sub(r"(\1", text)


def uncommented(text: str, *, keep_lines: bool = False) -> str:
    """Remove what rendered markdown does not show: comments, processing instructions, declarations.

    Those in code are text, as are unclosed ones. `keep_lines` keeps their line ends.
    """
    if "<!" not in text and "<?" not in text:
        return text
    parts: list[str] = []
    start = 0
    unclosed: set[str] = set()
    for match in HIDDEN.finditer(text):
        if match.start() < start or match[0] in unclosed:
            continue
        end = _code_until(text, match) if match["ticks"] else _hidden_until(text, match)
        if end:
            parts.append(text[start : end if match["ticks"] else match.start()])
            if keep_lines and not match["ticks"]:
                parts.append("\n" * text.count("\n", match.start(), end))
            start = end
        elif end is None:
            unclosed.add(match[0])
    return "".join([*parts, text[start:]])


def _code_until(text: str, opening: "re.Match[str]") -> int | None:
    """Return the end of the code that these ticks open: 0 if it is not in the same paragraph, None
    if there is none."""
    end_match = re.compile(rf"(?<!`){opening['ticks']}(?!`)|\n[ \t]*\n").search(text, opening.end())
    if end_match is None:
        return None
    return end_match.end() if end_match[0] == opening["ticks"] else 0


def _hidden_until(text: str, opening: "re.Match[str]") -> int | None:
    """Return the end of the hidden text that starts here; None if there is none."""
    closer = CLOSERS[opening["opener"]]
    end = text.find(closer, opening.end())
    return end + len(closer) if end >= 0 else None


def live(text: str) -> str:
    """Undo `inert`."""
    return INERT.sub(r"\1", text)


@lru_cache(maxsize=1)
def _marks() -> "re.Pattern[str]":
    """Compile the chat template marks, with their brackets, to match in the skeleton."""
    other_marks = (mark for mark in (*_LISTED, *MARKUP) if not mark.startswith(("<|", "<｜")))
    patterns = set(map(_mark_pattern, other_marks))
    return re.compile("|".join(sorted(patterns, key=len, reverse=True)))


def _mark_pattern(mark: str) -> str:
    """Return the pattern of a mark; the letters of a long one may be spaced or disguised."""
    skeleton, _ = _skeleton(mark)
    is_long = sum(map(str.isalnum, skeleton)) > SHORT
    letters = (
        rf"[{letter}{ANY}]" if is_long and letter.isalnum() else re.escape(letter)
        for letter in skeleton.replace(" ", "" if is_long else " ")
    )
    return " ?".join(letters)


def _neutralise(text: str, forged: tuple["re.Pattern[str]", ...]) -> str:
    if not any(bracket in _appearance(char) for char in set(text) for bracket in "[<{]"):
        return text
    skeleton, positions = _skeleton(text)
    chars = list(text)
    for pattern in forged:
        for match in pattern.finditer(skeleton):
            if pattern.groups == 0 or match["word"].strip(ANY + " "):
                chars[positions[match.start()]] = "("
    return "".join(chars)


def quoted(text: str) -> str:
    """Return the neutralised text without HTML comments; every line after the first starts with a
    bar.

    No other line starts at the prompt's own margin, so none can pass for a heading, a list item or
    a speaker of the prompt.
    """
    lines = re.split(
        r"[\n\v\f\x1c-\x1e\x85\u2028\u2029]", neutralised(uncommented(visible(text))).strip()
    )
    return "\n  | ".join(lines)


def one_line(text: str) -> str:
    """Return the neutralised text on one line, with HTML comments opened by a round bracket."""
    return " ".join(neutralised(text).replace("<!--", "(!--").split())


def _skeleton(text: str) -> tuple[str, list[int]]:
    """Return the text's appearance in lower-case ASCII, and the source position of each
    character.

    A run of anything but letters, digits, brackets, bars and slashes becomes one space or line
    end.
    """
    letters: list[str] = []
    positions: list[int] = []
    for position, char in enumerate(text):
        for letter in _appearance(char):
            if not (letter in " \n" and letters[-1:] == [letter]):
                letters.append(letter)
                positions.append(position)
    return "".join(letters), positions


@lru_cache(maxsize=4096)
def _appearance(char: str) -> str:
    """Return the appearance of one character."""
    letters = unicodedata.normalize("NFKD", LOOKALIKES.get(char, char)).casefold()
    return "".join(_plain(LOOKALIKES.get(letter, letter)) for letter in letters)


def _plain(letter: str) -> str:
    if letter in "[]<>{}/|\n" or (letter.isascii() and letter.isalnum()):
        return letter
    if letter.isalpha():
        return "" if letter in UNSEEN else ANY
    return "" if unicodedata.category(letter)[0] == "M" else " "
