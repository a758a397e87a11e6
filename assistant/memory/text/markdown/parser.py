"""The markdown parser: which blocks there are, and where; the words in them are read by `words`."""

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from mdit_py_plugins.front_matter.index import _front_matter_rule

MAX_NESTING = 40
"""Levels of block nesting that are parsed (a nested list is two); deeper ones are read as text."""


def _normalize(state: StateCore) -> None:
    """What the library does by patterns, which a long text makes all other threads wait for."""
    state.src = state.src.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def _front_matter(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """The plugin's rule, which takes the first item of a list for front matter, too: `- A--`."""
    return not state.level and _front_matter_rule(state, first, last, silent)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.disable("reference")  # `[door]: 4711` is a fact, not a link definition
    parser.block.ruler.before("table", "front_matter", _front_matter)
    parser.core.ruler.at("normalize", _normalize)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


PARSER = _parser()
"""Yields block tokens only; the inline ones hold their source in `content`."""
