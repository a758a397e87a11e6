"""The markdown parser: which blocks there are, and where; the words in them are read by `words`."""

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from mdit_py_plugins.front_matter import front_matter_plugin

MAX_NESTING = 40
"""Levels of block nesting that are parsed (a nested list is two); deeper ones are read as text."""


def _normalize(state: StateCore) -> None:
    """What the library does by patterns, which a long text makes all other threads wait for."""
    state.src = state.src.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.disable("reference")  # `[door]: 4711` is a fact, not a link definition
    parser.use(front_matter_plugin)
    parser.core.ruler.at("normalize", _normalize)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


PARSER = _parser()
"""Yields block tokens only; the inline ones hold their source in `content`."""
