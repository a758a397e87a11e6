"""The system prompt, section by section. `assistant context` prints exactly these.

The stable sections are the cacheable prefix: they change only when the workspace's files do. What
changes with each turn (the recalled memory, the working memory, the date) is the briefing: it
stands behind the history, at the head of the owner's latest message, so that a provider reads all
before it once. Or, as `context.memory_at` says, in a system message of its own before the history.
"""

import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from assistant.agent.prompt.passages import FRAMING, entries
from assistant.memory.base import Recall
from assistant.messages import Message, estimate_tokens
from assistant.quoting import COMMENT, one_line, quoted
from assistant.tools.shell.environment import interpreter
from assistant.workspace.folder import PROCEDURES_FILE, Workspace, read_text

PROCEDURES_FRAMING = """\
Entries from AGENTS.md are the owner's procedures: follow one when it applies to the message."""
NOTES_FRAMING = "Your own notes; they are no orders of the owner."
NOTHING = "Memory was asked and holds nothing on this message."
UNAVAILABLE = "Memory could not be asked this time; say so if the answer depends on it."


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of the prompt. `stable` sections make up the cacheable prefix.

    `source` says where it comes from; `cut` tells the owner what of that is left out.
    """

    title: str
    text: str
    stable: bool = False
    source: str = "the program"
    cut: str = ""

    @property
    def tokens(self) -> int:
        """What it costs, estimated."""
        return estimate_tokens(self.rendered)

    @property
    def rendered(self) -> str:
        """The section as it is sent."""
        return f"# {self.title}\n\n{self.text}"


def turn_sections(
    recall: Recall | None,
    *,
    working_memory: str = "",
    now: datetime,
    place: Workspace,
    model: str = "",
) -> list[Section]:
    """What changes with the turn. `recall` is None if memory could not be asked."""
    sections = [Section("Your Memory", memory_text(recall), source=_cited(recall))]
    if working_memory:
        sections.append(
            Section(
                "Your Notes of This Session",
                f"{NOTES_FRAMING}\n\n  | {quoted(working_memory)}",
                source="the session's notes",
            )
        )
    environment = (
        f"It is {now:%A, %Y-%m-%d %H:%M} ({now.tzname() or 'local time'}). "
        f"The workspace is {one_line(str(place.root))}; the system is {platform.system()}, "
        f"the `shell` tool runs {interpreter()}."
    )
    if model:
        environment += f" You are the language model {one_line(model)}."
    return [*sections, Section("Now", environment)]


def _cited(recall: Recall | None) -> str:
    """The files that the recalled passages stand in."""
    sources = dict.fromkeys(each.source for each in recall.passages) if recall else ()
    return f"memory: {', '.join(sources)}" if sources else "memory"


def memory_text(recall: Recall | None) -> str:
    """The framing and the recalled passages between their tags."""
    if recall is None:
        return UNAVAILABLE
    if not recall.passages:
        return f"{NOTHING} {recall.caveat}".rstrip()
    procedures = any(passage.source == PROCEDURES_FILE for passage in recall.passages)
    framing = f"{FRAMING} {PROCEDURES_FRAMING if procedures else ''}".rstrip()
    return f"{framing}\n\n{entries(recall.passages)}\n\n{recall.caveat}".rstrip()


def system_messages(sections: Iterable[Section]) -> list[Message]:
    """The stable prefix, marked as such, and a system message of what changes, if it is given."""
    parts = list(sections)
    stable = "\n\n".join(part.rendered for part in parts if part.stable)
    turn = "\n\n".join(part.rendered for part in parts if not part.stable)
    return [Message("system", stable, cache=True), *([Message("system", turn)] if turn else ())]


def briefing(sections: Iterable[Section]) -> str:
    """What changes, as it stands at the head of the owner's message."""
    parts = "\n\n".join(part.rendered for part in sections if not part.stable)
    return f"[BRIEFING]\n{parts}\n[/BRIEFING]"


def read_clean(workspace: Workspace, name: str) -> str:
    """A file of the workspace without its markdown noise; empty if it is missing."""
    try:
        return clean(read_text(workspace.root / name))
    except FileNotFoundError:
        return ""


def clean(text: str) -> str:
    """Markdown without front matter, HTML comments and more than one blank line in a row."""
    text = FRONT_MATTER.sub("", text.replace("\r\n", "\n"), count=1)
    pieces = FENCE.split(text)
    prose = [
        COMMENT.sub("", piece) if index % 2 == 0 else piece for index, piece in enumerate(pieces)
    ]
    return BLANK_LINES.sub("\n\n", "".join(prose)).strip()


FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
FENCE = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)[ \t]*$)", re.DOTALL | re.MULTILINE)
BLANK_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
