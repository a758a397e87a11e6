"""Memory and markdown files rendered for a model: quoted, each passage with its position and date.

The stable prefix of every prompt, which providers cache, contains all of memory if it is small,
else its core. A turn adds the passages relevant to the message, and only cites those of the prefix.
MCP and hooks render memory in the same way, so this module imports nothing heavy.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, takewhile

from assistant.errors import StorageError
from assistant.memory.annotations import is_core, recorded, without
from assistant.memory.base import Passage, Recall, readable
from assistant.messages import estimate_tokens
from assistant.quoting import COMMENT, one_line, quoted
from assistant.tables import table_of
from assistant.workspace.folder import (
    ARCHIVE,
    PROCEDURE_FILES,
    PROCEDURES_FILE,
    Workspace,
    read_text,
)

TEXT: Mapping[str, str] = table_of(__file__)
WHOLE_TOKENS = 1_500
"""AGENTS.md is included in the cached prefix entirely up to this many tokens, some 35 procedures.
Procedures lose against facts in recall: a task seldom mentions what its procedure says."""
BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+")
FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
FENCE = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)[ \t]*$)", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#{1,5} ", re.MULTILINE)
TOP_HEADING = re.compile(r"^# ", re.MULTILINE)
BOLD = re.compile(r"`[^`\n]*`|(?<![\w*\\])\*\*(?=[^\s*])([^\n]*?[^\s*])\*\*(?![\w*])")
"""Code, which stays, and bold text. One mark alone may be a glob's, and stays too."""
ITEM = re.compile(r"^- .*$", re.MULTILINE)
BLANK_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
MOST_CITED = 8
"""The maximum number of entries that the briefing cites from the memory already in the prompt."""


def entries(passages: Iterable[Passage]) -> str:
    """Render the passages between the memory tags."""
    return "\n".join(["[MEMORY]", *map(entry, passages), "[/MEMORY]"])


def entry(passage: Passage) -> str:
    """Render a passage as `- (FILE:LINE, DATE) text`, with further lines quoted after a bar."""
    date = f", {passage.date}" if passage.date else ""
    text = BULLET.sub("", passage.readable.strip(), count=1)
    return f"- ({one_line(passage.citation)}{date}) {quoted(text)}"


def framed(passages: Sequence[Passage], more: str = "") -> str:
    """Render the passages after an introductory text."""
    framing = f"{TEXT['framing']} {more}".rstrip()
    return f"{framing}\n\n{entries(passages)}"


def shorter(text: str) -> Iterator[str]:
    """Yield a framed text with fewer and fewer of its passages, keeping the best ones."""
    framing, *passages = text.split("\n- (")
    while passages := passages[: len(passages) // 2]:
        yield "\n- (".join([framing, *passages]) + "\n[/MEMORY]"


def whole_procedures(text: str) -> str:
    """Return AGENTS.md as included in the prefix; "" if it is too long."""
    if not text.strip() or estimate_tokens(text) > WHOLE_TOKENS:
        return ""
    return f"{TEXT['procedures_framing']}\n\n{text}"


def clean(text: str) -> str:
    """Remove front matter, HTML comments, the marks of bold text and repeated blank lines from
    markdown, and shift its headings below those of the prompt."""
    text = FRONT_MATTER.sub("", text.replace("\r\n", "\n"), count=1)
    deeper = "#" if TOP_HEADING.search(FENCE.sub("", text)) else ""
    prose = [
        HEADING.sub(rf"{deeper}\g<0>", _without_bold(COMMENT.sub("", piece)))
        if index % 2 == 0
        else piece
        for index, piece in enumerate(FENCE.split(text))
    ]
    return BLANK_LINES.sub("\n\n", "".join(prose)).strip()


def _without_bold(text: str) -> str:
    return BOLD.sub(lambda match: match[1] or match[0], text)


def readable_lines(text: str) -> list[str]:
    """Return the lines of a markdown file, with list items as `recall` shows them."""
    pieces = enumerate(FENCE.split(text))
    return "".join(
        piece if index % 2 else ITEM.sub(lambda item: readable(item[0]), piece)
        for index, piece in pieces
    ).split("\n")


def memory_text(recall: Recall | None, shown: Collection[str] = ()) -> str:
    """Render the recalled passages between their tags, with framing.

    Passages already `shown` in the prompt are only cited, unless the recall is weak.
    """
    if recall is None:
        return TEXT["unavailable"]
    present: list[Passage] = []
    new: list[Passage] = []
    for passage in recall.passages:
        is_shown = passage.source in shown or passage.citation in shown
        (present if is_shown else new).append(passage)
    if recall.weak:
        present = []
    parts = []
    if present:
        cited = ", ".join(one_line(passage.citation) for passage in present[:MOST_CITED])
        parts.append(f"{TEXT['cited']} {cited}.")
    if new:
        has_procedures = any(passage.source == PROCEDURES_FILE for passage in new)
        parts.append(framed(new, TEXT["recalled_procedures"] if has_procedures else ""))
        parts.append(TEXT["weak"] if recall.weak else "")
    elif not present:
        parts.append(TEXT["nothing_near"] if recall.passages else TEXT["nothing"])
    return "\n\n".join(filter(None, [*parts, recall.caveat]))


# The memory in the prefix

CORE_TOKENS = 800
"""The maximum number of tokens of the core."""
BYTES_PER_TOKEN = 10
"""The maximum bytes of a file per token in the prompt: larger files need not be read."""
_DATED = re.compile(r"(?:^|\s+--\s+)\d{4}-\d{2}-\d{2}$")
"""The date at the end of a heading that the program wrote; each entry has its own date."""
_BEGINS = re.compile(rf"#|>|\||```|~~~|{BULLET.pattern}")
"""The beginning of a line that begins a separate block."""


@dataclass(frozen=True, slots=True)
class PromptMemory:
    """The memory in the prompt: its `text` and the files that it comes from (`sources`).

    `shown` is what a turn need not repeat: whole files, or facts as FILE:LINE. `cut` tells the
    owner what is left out. `core` are the facts in it if it is only the core.
    """

    text: str = ""
    sources: tuple[str, ...] = ()
    shown: frozenset[str] = frozenset()
    cut: str = ""
    core: tuple["Entry", ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A fact in the prompt; `marked` if its owner has put it there."""

    source: str
    heading: str
    line: int
    text: str
    date: str = ""
    marked: bool = False

    @property
    def rendered(self) -> str:
        """The fact as it is sent."""
        return f"- (:{self.line}{self.date and f', {self.date}'}) {quoted(self.plain)}"

    @property
    def plain(self) -> str:
        """Its text without bullet and annotations."""
        return BULLET.sub("", without(self.text).strip(), count=1)

    @property
    def tokens(self) -> int:
        """Its cost in tokens."""
        return estimate_tokens(self.rendered)

    @property
    def citation(self) -> str:
        """FILE:LINE."""
        return f"{self.source}:{self.line}"


def prompt_memory(
    workspace: Workspace,
    most: int,
    redact: Callable[[str], str],
    hidden: Callable[[str], bool],
    core: Callable[[int], Sequence[Passage]],
) -> PromptMemory:
    """Return all of memory if it takes at most `most` tokens, else its core.

    The archive and `hidden` files are left out. The core are the facts that the owner has marked,
    and as many of `core` (`Memory.core`) as fit in addition. An unreadable file is left out;
    `memory status` reports it.
    """
    sources = [
        source
        for source in workspace.sources()
        if source not in PROCEDURE_FILES and not source.startswith(ARCHIVE) and not hidden(source)
    ]
    if _size(workspace, sources) <= most * BYTES_PER_TOKEN:
        entries = [entry for source in sources for entry in _entries(workspace, source, redact)]
        archived = any(source.startswith(ARCHIVE) for source in workspace.sources())
        text = _text(TEXT["archived_framing"] if archived else TEXT["whole_framing"], entries)
        if entries and estimate_tokens(text) <= most:
            return PromptMemory(text, _sources(entries), frozenset(_sources(entries)))
    marked = [entry for source in sources for entry in _marked(workspace, source, redact)]
    entries, cut = list(_fitting(marked, CORE_TOKENS)), ""
    if len(entries) < len(marked):
        cut = f"{len(marked)} facts are marked as core; the first {len(entries)} are in the prompt"
    remaining = CORE_TOKENS - sum(entry.tokens for entry in entries)
    cited = {entry.citation for entry in entries}
    others = (_of_passage(fact, redact) for fact in core(CORE_TOKENS) if not hidden(fact.source))
    entries += _fitting([other for other in others if other.citation not in cited], remaining)
    if not entries:
        return PromptMemory()
    entries.sort(key=lambda entry: (entry.source, entry.line))
    citations = frozenset(entry.citation for entry in entries)
    text = _text(TEXT["core_framing"], entries)
    return PromptMemory(text, _sources(entries), citations, cut, tuple(entries))


def _fitting(entries: Iterable[Entry], tokens: int) -> Iterator[Entry]:
    """Yield the first entries, as many as fit in `tokens`."""
    for entry in entries:
        tokens -= entry.tokens
        if tokens < 0:
            return
        yield entry


def _size(workspace: Workspace, sources: list[str]) -> int:
    try:
        return sum((workspace.root / source).stat().st_size for source in sources)
    except OSError:
        return 0


def _read(workspace: Workspace, source: str, redact: Callable[[str], str]) -> str:
    try:
        return redact(read_text(workspace.root / source))
    except (StorageError, FileNotFoundError):
        return ""


def _heading(titles: Iterable[str]) -> str:
    return " › ".join(filter(None, (_DATED.sub("", title) for title in titles)))


def _of_passage(fact: Passage, redact: Callable[[str], str]) -> Entry:
    text, heading = redact(fact.text), redact(_heading(fact.heading))
    return Entry(fact.source, heading, fact.start_line, text, fact.date or "")


def _entries(workspace: Workspace, source: str, redact: Callable[[str], str]) -> Iterator[Entry]:
    """Yield the current entries of a file."""
    from assistant.memory.text.chunk import chunks_of  # slow to load, and hooks do not need it

    for chunk in chunks_of(_read(workspace, source, redact), source):
        if chunk.status == "current":
            heading = _heading(chunk.heading)
            yield Entry(source, heading, chunk.start_line, chunk.text, chunk.date or "")


def _marked(workspace: Workspace, source: str, redact: Callable[[str], str]) -> Iterator[Entry]:
    """Yield the facts of a file that are marked as core, without parsing the file."""
    text = _read(workspace, source, redact)
    if not is_core(text):
        return
    heading, lines = "", text.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines):
        if line.startswith("#"):
            heading = _heading([COMMENT.sub("", line).strip("# ")])
        elif is_core(line) and not BULLET.sub("", line.strip()).startswith("~~"):
            more = takewhile(partial(_continues, line), lines[number + 1 :])
            fact = "\n".join(map(without, [line, *more]))
            yield Entry(source, heading, number + 1, fact, recorded(line) or "", marked=True)


def _continues(first: str, line: str) -> bool:
    """Return whether a line belongs to the fact that began with `first`: it is nested, or the next
    of a paragraph."""
    depth = len(line) - len(line.lstrip())
    nested = depth > len(first) - len(first.lstrip())
    return bool(line.strip()) and (nested or not _BEGINS.match(line.lstrip()))


def _text(framing: str, entries: list[Entry]) -> str:
    lines = [framing + TEXT["standing_framing"], "", "[MEMORY]"]
    for (source, heading), members in groupby(
        entries, key=lambda entry: (entry.source, entry.heading)
    ):
        lines.append(one_line(f"{source} › {heading}" if heading else source))
        lines += [entry.rendered for entry in members]
    return "\n".join([*lines, "[/MEMORY]"])


def _sources(entries: list[Entry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.source for entry in entries))
