"""Globs over paths: `*`, `?`, `[…]`, `{a,b}` and `**`, as wcmatch reads them.

wcmatch's patterns are matched with a time limit: a glob can be made that takes for ever.
"""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import bracex
import regex
from wcmatch import fnmatch, glob

from assistant.errors import ToolError

SECONDS = 1.0
"""How long one path is compared with one glob."""
CHOICES = 500
"""How many globs the braces of one may stand for."""
WITHIN = glob.GLOBSTAR | glob.DOTGLOB | glob.CASE | glob.FORCEUNIX
ACROSS = fnmatch.DOTMATCH | fnmatch.CASE | fnmatch.FORCEUNIX


@dataclass(frozen=True, slots=True)
class Glob:
    """A compiled glob."""

    text: str
    patterns: tuple["regex.Pattern[str]", ...]

    def matches(self, path: str) -> bool:
        """Whether the whole path matches. Raises ToolError if that takes too long to say."""
        try:
            return any(each.fullmatch(path, timeout=SECONDS) for each in self.patterns)
        except TimeoutError as error:
            raise ToolError(f"{self.text} takes too long to match", "Use fewer stars") from error


@lru_cache(maxsize=256)
def within(text: str) -> Glob:
    """A glob over relative paths whose `*` stays within a folder and whose `**` does not.

    Without a slash it matches in every folder. Raises ToolError if its braces mean too many.
    """
    choices = [each.removeprefix("./") for each in _choices(text)]
    anywhere = [each if "/" in each else f"**/{each}" for each in choices]
    return _compiled(text, glob.translate(anywhere, flags=WITHIN))


@lru_cache(maxsize=256)
def across(text: str) -> Glob:
    """A glob whose `*` spans folders too, and whose `**/` may stand for none.

    Raises ToolError if its braces mean too many.
    """
    return _compiled(text, fnmatch.translate(_choices(text.replace("**/", "{,*/}")), flags=ACROSS))


def literally(text: str) -> str:
    """A glob that matches this text and no other."""
    return fnmatch.escape(text)


def folded(text: str) -> str:
    """A path, or a glob, as disks see it that tell neither capitals nor forms of Unicode apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _choices(text: str) -> list[str]:
    try:
        return bracex.expand(text, keep_escapes=True, limit=CHOICES)
    except bracex.ExpansionLimitException as error:
        raise ToolError(f"{text} means over {CHOICES} globs", "Use fewer braces") from error


def _compiled(text: str, translated: tuple[list[str], list[str]]) -> Glob:
    return Glob(text, tuple(regex.compile(each) for each in translated[0]))
