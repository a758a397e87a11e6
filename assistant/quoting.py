"""Quoting text that is not ours into a prompt, so that it cannot leave its place. Pure.

Recalled passages, tool results and past messages are data. A tag, a chat template's marker or a
heading in them must not be read as the prompt's own, in whatever disguise: invisible characters,
full-width or look-alike letters, characters between the letters.
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
"""What models were trained to read as their own hand, and other texts are full of, too."""
MARKS = {family: tuple(marks.split("  ")) for family, marks in _families.items()}
"""By the family of models that reads it so."""

OUR_TAGS = (
    *("memory", "transcript", "known", "summary", "reminder", "briefing"),
    *("toolcall", "toolresult"),
)
"""What stands between brackets only in the prompt's own hand, whatever else is in the bracket."""
ROLES = ("system", "assistant", "user", "owner", "human", "tool", "inst", "sys")
"""What models take for a speaker if it stands in brackets alone."""

LOOKALIKES = (
    dict(zip("аверсоуухкмнтіјѕԁһӏɩıⅼ", "abepcoyyxkmhtijsdhliil", strict=True))
    | dict(zip("αβεικμνορστυχζηΥΡΗΝΖ", "abeikmvopstuxznyphnz", strict=True))
    | dict(zip("ВНРСУХᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏ", "bhpcyxabcdeghijklmnoprstuvwy", strict=True))
    | dict.fromkeys("⁄∕⧸⧵∣", "/")
    | dict.fromkeys("「『【〔〘〚〈《❲❴❬❮⟦⟨⟪⁅‹«", "[")
    | dict.fromkeys("」』】〕〙〛〉》❳❵❭❯⟧⟩⟫⁆›»", "]")
)
"""Letters and brackets that look like ASCII ones, after Unicode's confusables.txt."""
ANY = "¿"
"""Stands for any other letter that is not ASCII: it may be a disguise too."""
SHORT = 3
"""A mark of no more letters is taken for one only as it is spelled."""


def _word(tags: tuple[str, ...]) -> str:
    spelled = (" ?".join(f"[{letter}{ANY}]" for letter in tag) for tag in tags)
    return rf"(?P<word>{'|'.join(spelled)})(?![a-z0-9{ANY}])"


FORGED = (
    re.compile(rf"[\[<{{][\s/|]{{0,9}}{_word(OUR_TAGS)}"),
    re.compile(rf"[\[<{{][\s|]{{0,9}}{_word(ROLES)}[ |]{{0,9}}(?:[\]>}}]|$)", re.MULTILINE),
    re.compile(rf"[\[<{{]\s?/[\s/|]{{0,9}}{_word(ROLES)}"),
    re.compile(r"<\s?(?P<word>\|)"),  # <|im_start|> and its kin, listed or not
)
"""Against the skeleton of `_skeleton`."""
CALLS = (re.compile(rf"[\[<{{][\s/|]{{0,9}}{_word(('toolcall', 'toolresult'))}"),)
"""The markup of calls and results, likewise."""
_LISTED = sorted(set(chain.from_iterable(MARKS.values())))
_TAIL = "|".join(
    [r"\|[^<>|\s]{1,40}\|>", r"｜[^<>｜\s]{1,40}｜>", *(re.escape(mark[1:]) for mark in _LISTED)]
)
"""How the marks of chat templates go on after their bracket. Some servers take one for the end of
a message wherever it stands: in what a tool returned, too."""
LIVE, INERT = (
    re.compile(rf"([<\[\]])(?=\\*(?:{_TAIL}))"),
    re.compile(rf"([<\[\]])\\(?=\\*(?:{_TAIL}))"),
)
CLOSERS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>", "<!": ">"}
"""How what begins so in HTML, and is not shown, ends."""
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
"""A comment of HTML; one that nothing closes goes to the end."""
HIDDEN = re.compile(r"(?P<ticks>`+)|(?P<opener><!--|<!\[CDATA\[|<\?|<!(?=[A-Za-z]))")
BRIEFING = re.compile(r"[\[［](\s*/?\s*briefing)", re.IGNORECASE)
"""The tag of what the program says at the head of a message, in what others say."""
REMOVED = frozenset(("Cc", "Cf", "Cs", "Co", "Cn"))
"""Categories of characters that steer or show nothing, as those of the table do."""


def visible(text: str) -> str:
    """The text without control, invisible and direction-changing characters; lines end in LF."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    gone = [char for char in set(lines) if _is_invisible(char)]
    return lines.translate(dict.fromkeys(map(ord, gone)))


def _is_invisible(char: str) -> bool:
    return char not in "\n\t" and (char in UNSEEN or unicodedata.category(char) in REMOVED)


def neutralised(text: str) -> str:
    """The visible text, its tags and markers opened by a round bracket instead of their own."""
    return _opened(visible(text), (*FORGED, _marks()))


def without_calls(text: str) -> str:
    """The text, its markup of calls and results likewise opened by a round bracket."""
    return _opened(text, CALLS)


def inert(text: str) -> str:
    """The text with a backslash in each mark of a chat template; `live` takes them out again."""
    return LIVE.sub(r"\1\\", text)


def without_briefings(text: str) -> str:
    """The text, its tags of a briefing opened by a round bracket: nobody else briefs the model."""
    return BRIEFING.sub(r"(\1", text)


def uncommented(text: str) -> str:
    """A markdown text without what no reader of it sees: comments, instructions, declarations.

    Those that stand in code are text; so is one that nothing closes.
    """
    if "<!" not in text and "<?" not in text:
        return text
    kept: list[str] = []
    start = 0
    open_ended: set[str] = set()
    for match in HIDDEN.finditer(text):
        if match.start() < start or match[0] in open_ended:
            continue
        end = _code_until(text, match) if match["ticks"] else _hidden_until(text, match)
        if end:
            kept.append(text[start : end if match["ticks"] else match.start()])
            start = end
        elif end is None:
            open_ended.add(match[0])
    return "".join([*kept, text[start:]])


def _code_until(text: str, opening: "re.Match[str]") -> int | None:
    """Where code that begins with these ticks ends: 0 if not in its paragraph, None if nowhere."""
    same = re.compile(rf"(?<!`){opening['ticks']}(?!`)|\n[ \t]*\n").search(text, opening.end())
    if same is None:
        return None
    return same.end() if same[0] == opening["ticks"] else 0


def _hidden_until(text: str, opening: "re.Match[str]") -> int | None:
    """Where what is hidden from here on ends; None if it does not."""
    closer = CLOSERS[opening["opener"]]
    end = text.find(closer, opening.end())
    return end + len(closer) if end >= 0 else None


def live(text: str) -> str:
    """The text that `inert` was given."""
    return INERT.sub(r"\1", text)


@lru_cache(maxsize=1)
def _marks() -> "re.Pattern[str]":
    """The marks of chat templates, against a skeleton: each with its own brackets."""
    unlike = (mark for mark in (*_LISTED, *MARKUP) if not mark.startswith(("<|", "<｜")))
    spelled = set(map(_mark, unlike))
    return re.compile("|".join(sorted(spelled, key=len, reverse=True)))


def _mark(mark: str) -> str:
    """A mark against a skeleton; of a long word the letters may stand apart, or be disguised."""
    skeleton, _ = _skeleton(mark)
    apart = sum(map(str.isalnum, skeleton)) > SHORT
    letters = (
        rf"[{letter}{ANY}]" if apart and letter.isalnum() else re.escape(letter)
        for letter in skeleton.replace(" ", "" if apart else " ")
    )
    return " ?".join(letters)


def _opened(text: str, forged: tuple["re.Pattern[str]", ...]) -> str:
    if not any(bracket in _looks(char) for char in set(text) for bracket in "[<{]"):
        return text
    skeleton, positions = _skeleton(text)
    chars = list(text)
    for pattern in forged:
        for match in pattern.finditer(skeleton):
            if pattern.groups == 0 or match["word"].strip(ANY + " "):
                chars[positions[match.start()]] = "("
    return "".join(chars)


def quoted(text: str) -> str:
    """The neutralised text without HTML comments, every line after the first behind a bar.

    No line of it begins where the prompt's own lines do, so none can pass for a heading, a list
    item or a speaker of the prompt.
    """
    lines = re.split(
        r"[\n\v\f\x1c-\x1e\x85\u2028\u2029]", neutralised(uncommented(visible(text))).strip()
    )
    return "\n  | ".join(lines)


def one_line(text: str) -> str:
    """The neutralised text on one line, a comment of HTML in it opened by a round bracket."""
    return " ".join(neutralised(text).replace("<!--", "(!--").split())


def _skeleton(text: str) -> tuple[str, list[int]]:
    """What the text looks like in lower-case ASCII, and where each character of it comes from.

    Of what is neither letter, digit, bracket, bar nor slash, a run is one space or line end.
    """
    letters: list[str] = []
    positions: list[int] = []
    for position, char in enumerate(text):
        for letter in _looks(char):
            if not (letter in " \n" and letters[-1:] == [letter]):
                letters.append(letter)
                positions.append(position)
    return "".join(letters), positions


@lru_cache(maxsize=4096)
def _looks(char: str) -> str:
    """What one character looks like."""
    spelled = unicodedata.normalize("NFKD", LOOKALIKES.get(char, char)).casefold()
    return "".join(_plain(LOOKALIKES.get(letter, letter)) for letter in spelled)


def _plain(letter: str) -> str:
    if letter in "[]<>{}/|\n" or (letter.isascii() and letter.isalnum()):
        return letter
    if letter.isalpha():
        return "" if letter in UNSEEN else ANY
    return "" if unicodedata.category(letter)[0] == "M" else " "
