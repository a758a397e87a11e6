"""A command line as the plain commands in it, for the owner's rules. Pure.

It knows the plain spellings of a command; whoever means to hide one can. A rule over commands is
no wall (docs/security.md).
"""

import re
import shlex
from collections.abc import Iterator

OPERATORS = re.compile(r"[;&|<>`\n(){}]|\$\(")
"""What joins or nests shell commands."""
ASSIGNED = re.compile(r"\w+=")
ASSIGNMENT = re.compile(r"(?:^|(?<=[\s;&|(]))(\w+)=([^\s;&|()'\"`$]+)")
BEFORE = frozenset(
    re.findall(
        r"\S+",
        "time command exec builtin nohup env sudo doas nice ionice stdbuf setsid timeout xargs "
        "watch coproc trap parallel ssh-agent if then elif else while until do ! { eval",
    )
)
"""Words that may stand before a command."""
SHELLS = frozenset(["bash", "sh", "dash", "zsh", "ksh"])
READERS = frozenset(
    re.findall(
        r"\S+",
        "basename cat cd cmp cut date df diff dirname du echo false grep head ls md5sum nl od "
        "printf pwd readlink realpath rev seq sha256sum sleep stat strings tac tail test tr true "
        "uname wc which whoami",
    )
)
"""Programs that change no file, whatever their arguments."""
DEPTH = 3
"""Shells within shells that are looked into."""
MOST_OPTIONS = 5


def plain_commands(line: str, depth: int = DEPTH) -> set[str]:
    """Each command in a line, its words one space apart: without what stands before it
    (`FOO=1 time git push`), the path of its program, and its program's options (`git -C x push`).
    """
    found: set[str] = set()
    text = line.replace("\\\n", "")
    for name, value in ASSIGNMENT.findall(text):
        for spelled in (rf"\$\{{{name}\}}", rf"\${name}\b"):
            text = re.sub(spelled, value.replace("\\", r"\\"), text)
    for part in {text, *OPERATORS.split(text)}:
        for words in _commands(part):
            for variant in _variants(words):
                found.add(" ".join(variant))
                if variant[0] in SHELLS and depth:
                    for inner in variant[1:]:
                        found |= plain_commands(inner, depth - 1) if " " in inner else set()
                if variant[0] == "eval" and depth:
                    found |= plain_commands(" ".join(variant[1:]), depth - 1)
    return found


def only_reads(line: str) -> bool:
    """Whether no command in a line can change a file; what is not known to only read may."""
    parts = (part.split() for part in OPERATORS.split(line))
    return ">" not in line and all(words[0] in READERS for words in parts if words)


def _commands(text: str) -> Iterator[list[str]]:
    """The words of each command between operators that are not quoted."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>\n`")
    lexer.whitespace, lexer.commenters = " \t\r", ""
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


def _variants(words: list[str]) -> Iterator[list[str]]:
    """The words from where a command may begin, with and without its program's options."""
    at = next((n for n, word in enumerate(words) if not ASSIGNED.match(word)), len(words))
    starts = [at]
    if at < len(words) and words[at].rpartition("/")[2] in BEFORE:
        starts += range(at + 1, len(words))
    for start in starts:
        for program in words[start : start + 1]:
            for rest in _less_options(words[start + 1 :]):
                yield [program.rpartition("/")[2], *rest]


def _less_options(words: list[str], most: int = MOST_OPTIONS) -> Iterator[list[str]]:
    """The words as they are, and without each option in front, which may take a word."""
    yield words
    if most and words and words[0].startswith("-"):
        for taken in (1, 2):
            yield from _less_options(words[taken:], most - 1)
