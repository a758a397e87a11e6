"""Renders a model's markdown for the terminal, block by block, for a given width."""

import re
from functools import lru_cache
from io import StringIO

from markdown_it import MarkdownIt
from pygments.token import Comment, Generic, Keyword, Name, Number, String
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.padding import Padding
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from assistant.cli.palette import ACCENT, BAD, FAINT, GOOD, SECOND
from assistant.tables import table_of

FENCES = ("```", "~~~")
CODE = ANSISyntaxTheme(
    {
        Comment: Style(color=f"color({FAINT})"),
        Keyword: Style(color=f"color({SECOND})", bold=True),
        Name.Function: Style(color=f"color({ACCENT})"),
        Name.Class: Style(color=f"color({ACCENT})", bold=True),
        String: Style(color=f"color({GOOD})"),
        Number: Style(color=f"color({ACCENT})"),
        Generic.Deleted: Style(color=f"color({BAD})"),
        Generic.Inserted: Style(color=f"color({GOOD})"),
    }
)
COLOURS = {"accent": ACCENT, "faint": FAINT, "second": SECOND}
THEME = Theme(
    {f"markdown.{name}": style.format_map(COLOURS) for name, style in table_of(__file__).items()}
)
MARK = re.compile(r" *(?:[·✗›+-] ?)?")
"""The start of a line of the chat: an indent, and the mark of a message, a tool or a change."""
TRAILING = re.compile(r" +((?:\x1b\[[\d;]*m)*)$", re.MULTILINE)


@lru_cache(maxsize=8)
def rendered(markdown: str, columns: int) -> str:
    """Render markdown for this many columns, in as many colours as standard output supports; links
    show their address."""
    return _lines(_Markdown(markdown, hyperlinks=False), columns)


def wrapped(text: str, columns: int) -> str:
    """Wrap long lines with SGR sequences between words, indented to the text after their mark."""
    rows = (row for line in text.split("\n") for row in _rows(Text.from_ansi(line), columns))
    return _lines(Text("\n").join(rows), columns)


def _rows(line: Text, columns: int) -> list[Text]:
    mark = MARK.match(line.plain)
    indent = mark.end() if mark and mark.end() < columns // 2 else 0
    first, *rest = line[indent:].wrap(Console(), columns - indent) or [Text()]
    return [line[:indent] + first, *(Text(" " * indent) + row for row in rest)]


def _lines(renderable: RenderableType, columns: int) -> str:
    """Render anything that rich can, without blank lines around it."""
    console = Console(file=StringIO(), width=columns, theme=THEME, force_terminal=True)
    with console.capture() as captured:
        console.print(renderable)
    return TRAILING.sub(r"\1", captured.get()).strip("\n")


class _Heading(Heading):
    LEVEL_ALIGN = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _CodeBlock(CodeBlock):
    """Indented code, in colours that need no background."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Padding(Syntax(code, self.lexer_name, theme=CODE, word_wrap=True), (0, 0, 0, 2))


class _Table(TableElement):
    """A table that wraps a word too long for its cell, and cuts nothing."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            assert isinstance(table, Table)
            table.show_edge = False  # it would be a blank line above and below
            for column in table.columns:
                column.overflow = "fold"
            yield table


class _Markdown(Markdown):
    elements = Markdown.elements | {
        "heading_open": _Heading,
        "table_open": _Table,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
    }


def finished_blocks(text: str) -> tuple[str, str]:
    """Split streamed markdown into the blocks that more text cannot change, and the last one."""
    tokens = MarkdownIt("commonmark").parse(text)
    starts = [token.map[0] for token in tokens if token.level == 0 and token.map]
    if len(starts) < 2:
        return "", text
    # not splitlines, which also splits at characters that are no line breaks in markdown
    lines = text.split("\n")
    return "\n".join([*lines[: starts[-1]], ""]), "\n".join(lines[starts[-1] :])


def newest(text: str, lines: int) -> str:
    """Return the last lines of an unfinished block, with the fence that opened it."""
    first, *rest = text.split("\n")
    if len(rest) <= lines:
        return text
    return "\n".join([*([first] if first.lstrip().startswith(FENCES) else []), *rest[-lines:]])
