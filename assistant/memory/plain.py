"""What a piece of markdown says: its words without the markup, and when two facts are the same."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

MAX_NESTING = 40
"""Levels of block nesting that are parsed (a nested list is two); deeper ones are read as text."""


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.disable("reference")  # `[door]: 4711` is a fact, not a link definition
    parser.use(front_matter_plugin)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


PARSER = _parser()
"""Yields block tokens only; the inline ones hold their source in `content`."""

_SPECIAL = re.compile(r"[\\`*_<]|~~|\]\(|&#?\w{1,32};")
_SUPERSEDED = re.compile(r"~~\s*\(superseded\b(?:\s+(\d{4}-\d\d-\d\d))?")
_NOTE = re.compile(r"~~\s*\(superseded\b[^()]*(?:\([^()]*\)[^()]*)*\)")
_TAG = re.compile(
    r"</?(?:a|abbr|b|big|br|center|cite|code|dd|del|details|div|dl|dt|em|font|h[1-6]|hr|i|img|ins"
    r"|kbd|li|mark|ol|p|pre|q|s|small|span|strike|strong|sub|summary|sup|table|tbody|td|th|thead"
    r"|tr|tt|u|ul|var)\b[^<>]*>",
    re.IGNORECASE,
)
_CHECKBOX = re.compile(r"\A\[[ xX]\](?:\s+|$)")
_MARKERS = re.compile(r"^[ \t>*+-]+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Plain:
    """The words of a unit. `struck`: all of it is struck out; `until` is the date it gives."""

    text: str
    struck: bool = False
    until: str | None = None


def plain(text: str) -> str:
    """The words of a piece of markdown: no emphasis, link targets, ticks, markers or comments."""
    return words_of(PARSER.parse(text), text).text


def words_of(tokens: Sequence[Token], text: str) -> Plain:
    """The words of block tokens; `text` is their source, taken where nesting is too deep."""
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        return Plain(_squeeze(_MARKERS.sub("", text)))
    parts = list(_parts(tokens))
    struck = bool(parts) and all(part.struck for part in parts)
    said = [part.text for part in parts if struck or not part.struck]
    until = next((part.until for part in parts if part.until), None)
    return Plain("\n".join(filter(None, said)), struck, until if struck else None)


def _parts(tokens: Iterable[Token]) -> Iterable[Plain]:
    """Each block's words; a table's row is one line, its cells parted by commas."""
    row: list[str] | None = None
    in_item = False
    number = ""
    for token in tokens:
        match token.type:
            case "list_item_open":
                in_item = True
                number = f"{token.info}. " if len(token.info) > 2 else ""  # 4711. is no ordinal
            case "tr_open":
                row = []
            case "tr_close":
                yield Plain(", ".join(filter(None, row or ())))
                row = None
            case "inline":
                content = token.content
                if in_item:
                    content = number + _CHECKBOX.sub("", content, count=1)
                in_item = False
                if row is None:
                    if content.strip():
                        yield inline_words(content)
                else:
                    row.append(inline_words(content).text)
            case "fence" | "code_block":
                in_item = False
                yield Plain(token.content.strip())
            case "html_block":
                if words := html_words(token.content):
                    yield Plain(words)


def html_words(source: str) -> str:
    """The words of an HTML block, without comments and tags."""
    return _squeeze(_TAG.sub(" ", without_comments(source)))


def without_comments(source: str) -> str:
    """The text without `<!-- … -->`; one that is never closed is text."""
    return "".join(source[start:end] for start, end in shown(source, 0, len(source)))


def shown(source: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The ranges between `start` and `end` that are no comment."""
    while (opened := source.find("<!--", start, end)) >= 0:
        closed = source.find("-->", opened + 4, end)
        if closed < 0:
            break
        yield start, opened
        start = closed + 3
    yield start, end


def struck(source: str) -> tuple[int, int, str | None] | None:
    """Where the words of a fact stand that is struck out as a whole, and the date it gives.

    The forms are `~~old~~ (superseded 2026-11-21: successor)`, as the ledger writes it, and a bare
    `~~old~~`. None for any other text.
    """
    if not source.startswith("~~"):
        return None
    note = _SUPERSEDED.search(source, 3)
    if note and source.endswith(")"):
        return 2, note.start(), note[1]
    closed = source.find("~~", 3)
    return (2, closed, None) if closed == len(source) - 2 else None


def inline_words(content: str) -> Plain:
    """The words of one paragraph's source, and whether it is a fact that was struck out.

    `~~old~~ (superseded DATE: successor)` says the old words, struck; words struck out inside a
    longer paragraph are left out of it.
    """
    content = content.strip()
    if not _SPECIAL.search(content):
        return Plain(_squeeze(content))
    if found := struck(content):
        start, end, until = found
        return Plain(" ".join(filter(None, _visible(content[start:end]))), True, until)
    standing, gone = _visible(_NOTE.sub("~~", content) if "~~" in content else content)
    if standing or gone:
        return Plain(standing or gone, struck=not standing)
    return Plain(_squeeze(without_comments(content)))


def _visible(content: str) -> tuple[str, str]:
    """The words that stand, and those that are struck out."""
    tokens: list[Token] = []
    PARSER.inline.parse(content, PARSER, {}, tokens)
    standing: list[str] = []
    gone: list[str] = []
    said = standing
    marks: list[str] = []
    for token in tokens:
        match token.type:
            case "em_open" | "strong_open":
                inside_word = bool(said) and said[-1][-1:].isalnum()
                marks.append(token.markup if inside_word else "")  # 2*3*4 is not 234
                said.append(marks[-1])
            case "em_close" | "strong_close":
                said.append(marks.pop())
            case "s_open":
                said = gone
                said.append(" ")
            case "s_close":
                said = standing
            case "softbreak" | "hardbreak":
                said.append(" ")
            case "html_inline":
                said.append(_shown_tag(token.content))
            case _:
                said.append(token.content)
    return _squeeze("".join(standing)), _squeeze("".join(gone))


def _shown_tag(tag: str) -> str:
    """Nothing for a comment or a tag of HTML; `List<int>` keeps its own."""
    if tag.startswith("<!--"):
        return ""
    return _TAG.sub(" " if tag.lower().startswith("<br") else "", tag)


def _squeeze(text: str) -> str:
    return " ".join(text.split())


_NUMBER_SIGN = re.compile(r"[²³¹⁰-⁹½¼¾⅐-⅞①-⑳]")
_DASH = re.compile(r"(?<=\d)[‒-―](?=\d)")
_CLOSERS = ".,;:!)]}"
_OPENERS = "([{,;:!"
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")
_JOINT = re.compile(r"(?<=[^\W\d_])(?:-+|[,;:!]+)(?=[^\W\d_])")


def fold(text: str) -> str:
    """A plain text with case, white space and idle punctuation folded away.

    Two facts are the same if and only if their folds are equal. Folding too much would refuse a
    true fact, folding too little only writes one twice, so whatever may carry meaning stays: every
    letter, digit and symbol (C++, C#, 5 %, $5, 😀), a sign or dot that opens a word (-5, .5), one
    that ends a word (A-, B+), punctuation between digits (3.5, 10:30, 2026-11-21), a question
    mark, inches and feet. Brackets, quotes, and the stops and commas around words go.
    """
    text = _NUMBER_SIGN.sub(lambda found: f"^{found[0]}", text)  # 10² is not 102
    text = _DASH.sub("-", text.replace("−", "-"))
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if not text.isascii():
        text = text.translate({ord(c): _spelled(c) for c in set(text) if not c.isascii()})
    text = _JOINT.sub(" ", _APOSTROPHE.sub("", text))
    return " ".join(filter(None, map(_bare, text.split())))


def _spelled(character: str) -> str:
    """A character as `fold` reads it: quotes and hyphens as ASCII, format characters gone."""
    match unicodedata.category(character):
        case "Cf":
            return ""
        case "Pi" | "Pf":
            return "'"
        case "Pd":
            return "-" if character in "‐‑﹣－" else " "
        case "Po" | "Ps" | "Pe":
            return character if character in "%‰§" else " "
        case _:
            return "" if character in "︎️" else character


def _bare(word: str) -> str:
    """A word without the punctuation around it; "" if nothing else is left of it."""
    core = word.lstrip(_OPENERS)
    quoted = core[:1] in {'"', "'"}
    core = core.strip("\"'" + _OPENERS + _CLOSERS) if quoted else core.lstrip(_OPENERS)
    core = core.rstrip(_CLOSERS)
    while core[-1:] in {'"', "'"} and not core[-2:-1].isdigit():
        core = core[:-1].rstrip(_CLOSERS)
    return "" if core.strip("-") == "" else core
