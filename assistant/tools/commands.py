"""Split a command line into its plain commands, for the owner's rules. Pure.

It knows the plain spellings of a command and can be evaded on purpose: a rule over commands is not
a security boundary (docs/security.md).
"""

import re
import shlex
from collections.abc import Iterator

from assistant.tools.places import BEFORE_COMMANDS, READERS, SHELLS

OPERATORS = re.compile(r"[;&|<>`\n(){}]|\$\(")
"""Operators that join or nest shell commands."""
ASSIGNED = re.compile(r"\w+=")
MOST_OPTIONS = 6
"""The most words that are taken for a program's options."""


def plain_commands(line: str) -> set[str]:
    """Return each command in a line, its words joined by single spaces.

    Prefixes (`FOO=1 time git push`), the path of the program and its options (`git -C x push`) are
    stripped.
    """
    commands: set[str] = set()
    text = line.replace("\\\n", "")
    for part in {text, *OPERATORS.split(text)}:
        for words in _commands(part):
            for program, *rest in _possible_starts(words):
                has_options = bool(rest) and rest[0].startswith("-")
                for skip_count in range(min(len(rest), MOST_OPTIONS) + 1 if has_options else 1):
                    commands.add(" ".join([program.rpartition("/")[2], *rest[skip_count:]]))
                if program.rpartition("/")[2] in SHELLS:
                    nested = (plain_commands(word) for word in rest if " " in word)
                    commands = commands.union(*nested)
    return commands


def _possible_starts(words: list[str]) -> Iterator[list[str]]:
    """Yield the words from each position where a command may begin."""
    first = next(
        (index for index, word in enumerate(words) if not ASSIGNED.match(word)), len(words)
    )
    if first < len(words):
        is_before = words[first].rpartition("/")[2] in BEFORE_COMMANDS
        yield from (words[index:] for index in range(first, len(words) if is_before else first + 1))


def only_reads(line: str) -> bool:
    """Return whether every command in a line only reads; an unknown command may write."""
    parts = (part.split() for part in OPERATORS.split(line))
    return ">" not in line and all(words[0] in READERS for words in parts if words)


def _commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command, split at unquoted operators."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>\n`")
    lexer.whitespace = " \t\r"
    words: list[str] = []
    try:
        for word in lexer:
            if word[:1] and word[0] in ";&|()<>\n`":
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:  # an unclosed quotation mark
        words = text.split()
    yield words
