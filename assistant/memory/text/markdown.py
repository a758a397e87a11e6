"""Markdown: its parser, its lines, its text without markup, and struck-out facts. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, html_block
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.front_matter.index import _front_matter_rule

from assistant.memory.annotations import split_comments, without_phrases
from assistant.memory.text.identity import digest

COMMENT, COMMENT_END = "<!--", "-->"
UNCLOSED = "unclosed"
"""The key in a parser's environment for the first line that begins an unclosed comment."""
MAX_NESTING = 40
"""Levels of block nesting that are parsed (a nested list is two); deeper ones are read as text."""


def _normalize(state: StateCore) -> None:
    """Normalize without the library's patterns, which block other threads for a long text."""
    state.src = state.src.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def _front_matter(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Apply the plugin's rule, except to the first item of a list: `- A--`."""
    return not state.level and _front_matter_rule(state, first, last, silent)


def _closed_html(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Apply the library's rule, but read an unclosed comment as text: CommonMark extends it to the
    end."""
    begin = state.bMarks[first] + state.tShift[first]
    if state.src.startswith(COMMENT, begin):
        end = state.env.setdefault("comments_end", state.src.rfind(COMMENT_END))
        if end < begin:
            state.env.setdefault(UNCLOSED, first)
            return False
    return html_block(state, first, last, silent)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.disable("reference")  # `[door]: 4711` is a fact, not a link definition
    parser.block.ruler.before("table", "front_matter", _front_matter)
    interrupted = ["paragraph", "reference", "blockquote"]
    parser.block.ruler.at("html_block", _closed_html, {"alt": interrupted})
    parser.core.ruler.at("normalize", _normalize)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


PARSER = _parser()
"""Yields block tokens only; the inline ones have their source in `content`."""


def unclosed_comment(text: str) -> int | None:
    """Return the line, from 1, on which an unclosed comment begins; None if there is none."""
    if text.find(COMMENT, text.rfind(COMMENT_END) + 1) < 0:
        return None
    env: dict[str, int] = {}
    PARSER.parse(text, env)
    return env[UNCLOSED] + 1 if UNCLOSED in env else None


BREAKS = re.compile(r"\r\n|\r|\n")


def newline(text: str) -> str:
    """Return the most frequent line ending of a text; a line feed if there is none."""
    if "\r" not in text:
        return "\n"
    counts = Counter(BREAKS.findall(text))
    return max(("\n", "\r\n", "\r"), key=lambda ending: counts[ending])


def with_newlines(text: str, ending: str) -> str:
    """Return the text with this line ending throughout."""
    return BREAKS.sub(ending, text) if "\r" in text or ending != "\n" else text


def breaks_in(text: str) -> int:
    """Count the line endings of a text; searching for single characters is faster than a
    pattern."""
    if "\r" not in text:
        return text.count("\n")
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def line_start(text: str, at: int) -> int:
    """Return the offset at which the line of a character begins."""
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def line_starts(text: str) -> list[int]:
    """Return the offsets at which the lines of a text begin."""
    return [0, *(end.end() for end in BREAKS.finditer(text))]


NEAREST = 2
"""Lines above and below an edit whose digests are journalled, to find its position again."""
LINES = re.compile(r"[^\r\n]+")


def lines_above(text: str, end: int) -> Iterator[str]:
    """Yield the nearest non-blank lines that end at or before a character, nearest first."""
    count = 0
    while end > 0 and count < NEAREST:
        start = line_start(text, end)
        if line := text[start:end].strip():
            count += 1
            yield line
        end = start - 1


def lines_below(text: str, start: int) -> Iterator[str]:
    """Yield the nearest non-blank lines that start at or after a character, nearest first."""
    lines = (line[0].strip() for line in LINES.finditer(text, start))
    return islice(filter(None, lines), NEAREST)


def line_digest(line: str) -> str:
    """Return a short digest of a line, without surrounding white space and `for:` comments."""
    return digest(without_phrases(line).strip())[:12]


BLOT = "\0"
"""Replaces each character of `blotted` text that must not be read."""
FENCE = (
    r"(?P<run>(?P<mark>[`~])(?P=mark){2,})[^\n`]*\n(?:[^\n]*\n)*? {0,3}(?P=run)(?P=mark)*[ \t\r]*$"
)
_OPAQUE = re.compile(
    rf"^{FENCE}"
    r"|^<!--(?:(?!-->)[\s\S])*-->[^\n]*$"
    r"|\A---[ \t\r]*\n(?:[^\n]*\n)*?---[ \t\r]*$",
    re.MULTILINE,
)
"""A fence, a comment, front matter."""
_OPAQUE_MARKS = ("```", "~~~", "<")
_OPENS = re.compile(r"^[ \t>*+\-.)\d]*(?:`{3}|~{3}|<[A-Za-z/!?])", re.MULTILINE)
"""A line, or the content of a list item or quote, that may begin one, or be HTML."""


def blank(match: re.Match[str]) -> str:
    """Return the match with each of its characters blotted out."""
    return re.sub(r"[^\n]", BLOT, match[0])


def blotted(text: str) -> str | None:
    """Return the text with fences, comments and front matter blotted out, at the same length.

    In it, a line that starts with `#` is a heading, and one that starts with `- ` an item of a
    top-level list. None if only a parser can tell.
    """
    if "\r" in text and text.count("\r") != text.count("\r\n"):
        return None
    if text.startswith("---") or any(mark[0] in text and mark in text for mark in _OPAQUE_MARKS):
        text = _OPAQUE.sub(blank, text)
        if text.startswith("---") or _OPENS.search(text):
            return None
    return text


MARKERS = re.compile(r"(?:[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)+|[ \t]*")
"""The list markers and check boxes that a line may begin with."""
_NOTE_BEGINS = re.compile(r"~~\s*\(superseded\b(?:\s+(\d{4}-\d\d-\d\d))?")
_NOTE = re.compile(r"~~\s*\(superseded\b[^()]*(?:\([^()]*\)[^()]*)*\)")
_SUCCESSOR = re.compile(r"\(superseded\b[^:]*:\s*(.+)\)\s*$", re.DOTALL)
_STRIKABLE = frozenset(
    {"bullet_list_open", "ordered_list_open", "list_item_open", "paragraph_open", "inline"}
)


def superseded_note(day: date, successor: str) -> str:
    """Return the note after a struck-out fact; `successor` is markdown."""
    return f"(superseded {day.isoformat()}: {successor})"


def naming_successor(successor: str) -> "re.Pattern[str]":
    """Match the notes that name this successor (markdown); group 1 is the note without it."""
    return re.compile(rf"(\(superseded \d{{4}}-\d\d-\d\d): {re.escape(successor)}\)")


def named_successor(text: str) -> str | None:
    """Return the successor of a struck-out fact, as markdown, if its note names it."""
    note = _SUCCESSOR.search(split_comments(text)[0])
    return note[1] if note else None


def struck(source: str) -> tuple[int, int, str | None] | None:
    """Return the range of the text of an entirely struck-out fact, and its date.

    None for any text that is not of the two forms above, optionally followed by annotations.
    """
    source, _ = split_comments(source)
    if not source.startswith("~~"):
        return None
    note = _NOTE_BEGINS.search(source, 3)
    if note and source.endswith(")"):
        return 2, note.start(), note[1]
    closed = source.find("~~", 3)
    return (2, closed, None) if closed == len(source) - 2 else None


def strike_out(passage: str, note: str) -> str | None:
    """Strike out a list item with its nested blocks, or a paragraph; put the note after its first
    text. None for a block of another kind. Parse the result to verify that it counts as struck.
    """
    tokens = PARSER.parse(passage)
    if {token.type for token in tokens if token.nesting >= 0} - _STRIKABLE:
        return None
    starts = [*line_starts(passage), len(passage)]
    result = passage
    spans = [token.map for token in tokens if token.type == "inline" and token.map]
    for number, (first, last) in reversed(list(enumerate(spans))):
        begin = starts[first]
        markers = MARKERS.match(passage, begin)
        begin = markers.end() if markers else begin
        stop = len(passage[: starts[last]].rstrip())
        words, comments = split_comments(passage[begin:stop])
        tail = f" {note}{comments}" if number == 0 else comments
        if number == 0 or not words.startswith("~~"):
            result = f"{result[:begin]}~~{words}~~{tail}{result[stop:]}"
    return result


_SPECIAL = re.compile(r"[\\`*_<]|~~|\]\(|&#?\w{1,32};")
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
    """The text of a unit. `struck`: it is entirely struck out; `until` is the date it gives."""

    text: str
    struck: bool = False
    until: str | None = None


def plain(text: str) -> str:
    """Return the text of markdown without emphasis, link targets, ticks, markers and comments."""
    return words_of(PARSER.parse(text), text).text


def is_struck(text: str) -> bool:
    """Return whether a piece of markdown is a fact that is entirely struck out."""
    return words_of(PARSER.parse(text), text).struck


def words_of(tokens: Sequence[Token], text: str) -> Plain:
    """Return the text of block tokens; `text` is their source, used if nesting is too deep."""
    if any(token.level >= MAX_NESTING - 1 for token in tokens):
        return Plain(_squeeze(_MARKERS.sub("", text)))
    parts = list(_parts(tokens))
    struck = bool(parts) and all(part.struck for part in parts)
    texts = [part.text for part in parts if struck or not part.struck]
    until = next((part.until for part in parts if part.until), None)
    return Plain("\n".join(filter(None, texts)), struck, until if struck else None)


def _parts(tokens: Iterable[Token]) -> Iterable[Plain]:
    """Yield each block's text; a table row is one line, its cells separated by commas."""
    row: list[str] | None = None
    in_item = False
    number = ""
    for token in tokens:
        match token.type:
            case "list_item_open":
                in_item = True
                number = f"{token.info}. " if len(token.info) > 2 else ""  # 4711. is not an ordinal
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
                if words := _squeeze(_TAG.sub(" ", without_comments(token.content))):
                    yield Plain(words)


def without_comments(source: str) -> str:
    """Return the text without `<!-- … -->`; an unclosed one is text."""
    return "".join(source[start:end] for start, end in shown(source, 0, len(source)))


def shown(source: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges between `start` and `end` outside comments."""
    while (opened := source.find("<!--", start, end)) >= 0:
        closed = source.find("-->", opened + 4, end)
        if closed < 0:
            break
        yield start, opened
        start = closed + 3
    yield start, end


def inline_words(content: str) -> Plain:
    """Return the text of one paragraph's source, and whether it is a struck-out fact.

    `~~old~~ (superseded DATE: successor)` has the old text, struck; in a longer paragraph,
    struck-out text is omitted.
    """
    content = content.strip()
    if not _SPECIAL.search(content):
        return Plain(_squeeze(content))
    if span := struck(content):
        start, end, until = span
        return Plain(" ".join(filter(None, _visible(content[start:end]))), True, until)
    current, gone = _visible(_NOTE.sub("~~", content))
    if current or gone:
        return Plain(current or gone, struck=not current)
    return Plain(_squeeze(without_comments(content)))


def _visible(content: str) -> tuple[str, str]:
    """Return the current text, and the struck-out text."""
    tokens: list[Token] = []
    PARSER.inline.parse(content, PARSER, {}, tokens)
    current: list[str] = []
    struck_out: list[str] = []
    target = current
    marks: list[str] = []
    for token in tokens:
        match token.type:
            case "em_open" | "strong_open":
                inside_word = bool(target) and target[-1][-1:].isalnum()
                marks.append(token.markup if inside_word else "")  # 2*3*4 is not 234
                target.append(marks[-1])
            case "em_close" | "strong_close":
                target.append(marks.pop())
            case "s_open":
                target = struck_out
                target.append(" ")
            case "s_close":
                target = current
            case "softbreak" | "hardbreak":
                target.append(" ")
            case "html_inline":
                target.append(_shown_tag(token.content))
            case _:
                target.append(token.content)
    return _squeeze("".join(current)), _squeeze("".join(struck_out))


def _shown_tag(tag: str) -> str:
    """Return nothing for a comment or an HTML tag; `List<int>` keeps its own."""
    if tag.startswith("<!--"):
        return ""
    return _TAG.sub(" " if tag.lower().startswith("<br") else "", tag)


def _squeeze(text: str) -> str:
    return " ".join(text.split())
