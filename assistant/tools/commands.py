"""A command line as the plain commands in it, for the owner's rules. Pure.

It knows the plain spellings of a command; whoever means to hide one can. A rule over commands is
no wall (docs/security.md).
"""

import re
import shlex
from collections.abc import Iterator

from assistant.tools.places import BEFORE_COMMANDS, READERS, SHELLS

OPERATORS = re.compile(r"[;&|<>`\n(){}]|\$\(")
"""What joins or nests shell commands."""
ASSIGNED = re.compile(r"\w+=")
MOST_OPTIONS = 6
"""Words that may be a program's options."""


def plain_commands(line: str) -> set[str]:
    """Each command in a line, its words one space apart: without what stands before it
    (`FOO=1 time git push`), the path of its program, and its program's options (`git -C x push`).
    """
    found: set[str] = set()
    text = line.replace("\\\n", "")
    for part in {text, *OPERATORS.split(text)}:
        for words in _commands(part):
            for program, *rest in _beginnings(words):
                has_options = bool(rest) and rest[0].startswith("-")
                for skipped in range(min(len(rest), MOST_OPTIONS) + 1 if has_options else 1):
                    found.add(" ".join([program.rpartition("/")[2], *rest[skipped:]]))
                if program.rpartition("/")[2] in SHELLS:
                    inner = (plain_commands(word) for word in rest if " " in word)
                    found = found.union(*inner)
    return found


def _beginnings(words: list[str]) -> Iterator[list[str]]:
    """The words from where a command may begin."""
    first = next((at for at, word in enumerate(words) if not ASSIGNED.match(word)), len(words))
    if first < len(words):
        is_before = words[first].rpartition("/")[2] in BEFORE_COMMANDS
        yield from (words[at:] for at in range(first, len(words) if is_before else first + 1))


def only_reads(line: str) -> bool:
    """Whether no command in a line can change a file; what is not known to only read may."""
    parts = (part.split() for part in OPERATORS.split(line))
    return ">" not in line and all(words[0] in READERS for words in parts if words)


def _commands(text: str) -> Iterator[list[str]]:
    """The words of each command between operators that are not quoted."""
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
    except ValueError:  # a quotation mark that nothing closes
        words = text.split()
    yield words
