"""The prompt of a turn, built once from sections. `assistant context` prints exactly these.

The stable sections are the cacheable prefix: they change only when the workspace's files do. What
changes with each turn (recalled memory, working memory, the date) is the briefing: it comes after
the history, before the owner's latest message, so a provider can cache everything before it.
"""

import json
import platform
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

import msgspec

from assistant.agent.memory_text import PromptMemory, clean, memory_text, shorter, whole_procedures
from assistant.errors import StorageError
from assistant.memory.base import Recall
from assistant.messages import Given, Message, estimate_tokens
from assistant.model.base import SMALL_WINDOW, ChatModel, ToolSpec
from assistant.model.text_tools import describe
from assistant.quoting import neutralised, one_line, quoted
from assistant.session.history import shown_attachment
from assistant.settings.sections import REST, ContextSettings, SectionSettings
from assistant.tables import table_of
from assistant.workspace.folder import BOOTSTRAP_FILE, PROCEDURES_FILE, Workspace, read_text

BEARING = "What Bears on This Message"
DUE = "What Is Due Then"
NOTES = "Your Notes of This Session"
TOOLS = "Tools"
FILE_LIMIT = 50_000
"""Maximum number of characters of one file."""
ALL_LIMIT = 200_000
"""Maximum number of characters of all files together."""
LEAST_FOR_FILES = 2_000
"""Characters that all files together may always have, however small the window."""
CHARACTERS_PER_TOKEN = 4
"""Characters per token, as budgets count them."""
FIRST = ("SOUL.md", "USER.md")
"""The files that get room in the prompt before the others."""
FILE_SHARES = (2, 4)
"""How many parts a file is cut into, of which the first is kept, where a message has no room."""
PROGRAM = "the program"
"""The source of sections that come from no file."""
File = tuple[str, str, str]
"""A file's name, its text for the prompt, and an error message or ""."""
NO_MEMORY = PromptMemory()


@dataclass(frozen=True, slots=True)
class Part:
    """A section of the recipe: the contents of `files` that exist, else `text`.

    `given` are files that were already read, instead of `files`. `budget` limits each file, in
    tokens; 0 means no limit.
    """

    name: str
    title: str
    files: tuple[str, ...] = ()
    text: str = ""
    framing: str = ""
    budget: int = 0
    given: tuple[File, ...] = ()


_data = table_of(__file__)
TEXT: Mapping[str, str] = _data["text"]
KNOWN = msgspec.convert(_data["part"], tuple[Part, ...])
HOW = next(part.text for part in KNOWN if part.name == "rules")
"""The text of that part if the workspace has no RULES.md."""
UNATTENDED = ("identity", "guardrails", "rules", "sensitive", "memory", "skills")
"""The sections in the prompt of an unattended task."""


def unattended_recipe() -> tuple[Part, ...]:
    """Return the recipe of an unattended task."""
    return (
        *(part for part in KNOWN if part.name in UNATTENDED),
        Part("alone", "This Turn", text=TEXT["unattended_task"]),
    )


def without_owner(recipe: Iterable[Part]) -> tuple[Part, ...]:
    """Return the recipe of a turn without the owner: their first conversation waits."""
    return tuple(part for part in recipe if BOOTSTRAP_FILE not in part.files)


def with_identity(recipe: Sequence[Part], name: str, text: str) -> tuple[Part, ...]:
    """Return the recipe with the text of another file in place of IDENTITY.md."""
    first = next(part for part in KNOWN if part.name == "identity")
    others = (part for part in recipe if part.name != first.name)
    return (replace(first, given=((name, clean(text), ""),)), *others)


def recipe_of(settings: ContextSettings) -> tuple[Part, ...]:
    """Return the parts that the settings ask for, in order."""
    if not settings.sections:
        return KNOWN
    named = {section.name for section in settings.sections}
    return tuple(part for section in settings.sections for part in _parts_of(section, named))


def _parts_of(section: SectionSettings, named: set[str]) -> Iterator[Part]:
    if section.name == REST:
        yield from (part for part in KNOWN if part.name not in named)
        return
    own = Part(section.name, section.name.replace("-", " ").capitalize())
    part = next((part for part in KNOWN if part.name == section.name), own)
    yield replace(
        part,
        title=section.title or part.title,
        files=section.files or part.files,
        budget=section.budget or part.budget,
    )


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of the prompt.

    `source` names its origin; `cut` tells the owner what was left out of it.
    """

    title: str
    text: str
    source: str = PROGRAM
    cut: str = ""

    @property
    def tokens(self) -> int:
        """The estimated cost."""
        return estimate_tokens(self.rendered)

    @property
    def rendered(self) -> str:
        """The section as it is sent."""
        return f"# {self.title}\n\n{self.text}"

    def shortened(self, share: int) -> "Section":
        """Return the section with one part in `share` of its text, unless the program wrote it, or
        it holds memory, whose end is marked."""
        if self.source == PROGRAM or self.source.startswith("memory"):
            return self
        text = f"{self.text[: len(self.text) // share]}\n[Cut for lack of room.]"
        if TEXT["briefed"] in self.text:
            text += TEXT["briefed"]
        return replace(self, text=text)


@dataclass(frozen=True)
class Prompt:
    """The sections of one turn, built once: the `stable` ones, which form the cacheable prefix, and
    those that change with the `turn`. Only the session's notes change during it."""

    stable: tuple[Section, ...]
    turn: tuple[Section, ...]

    @cached_property
    def system(self) -> Message:
        """The system message."""
        text = "\n\n".join(section.rendered for section in self.stable)
        return Message("system", text, cache=True)

    @cached_property
    def briefing(self) -> str:
        """The sections that change, which precede the owner's message."""
        return self._as_briefing(self.turn)

    def ever_shorter(self) -> Iterator[tuple[Message, str]]:
        """Yield the system message and the briefing, then shorter ones, for lack of room: briefings
        with fewer and fewer passages, keeping the best ones, then only with the time and the
        workspace; and finally system messages with the beginnings of the files."""
        yield self.system, self.briefing
        bearing, *_, now = self.turn
        for text in (*shorter(bearing.text), TEXT["no_room"]):
            briefing = self._as_briefing((replace(bearing, text=text), now))
            yield self.system, briefing
        for share in FILE_SHARES:
            stable = tuple(section.shortened(share) for section in self.stable)
            yield replace(self, stable=stable).system, briefing

    def _as_briefing(self, sections: Iterable[Section]) -> str:
        turn = "\n\n".join(section.rendered for section in sections)
        return f"[BRIEFING]\n{turn}\n[/BRIEFING]"

    def with_notes(self, sections: Sequence[Section]) -> "Prompt":
        """Return a copy with the current notes of the session."""
        *others, last = (section for section in self.turn if section.title != NOTES)
        return replace(self, turn=(*others, *sections, last))

    def whole(
        self, model: ChatModel, specs: Sequence[ToolSpec], history: Sequence[Message] = ()
    ) -> list[Section]:
        """Return every section of a request in sending order, with the tools and the history."""
        transcript = "\n\n".join(f"{message.role}: {message.content}" for message in history)
        tools = tools_section(model, specs)
        past = Section("History", transcript, source="the session")
        first, before = ([tools], [past]) if model.tools_in_prompt else ([], [tools, past])
        sections = (*first, *self.stable, *before, *self.turn)
        return [section for section in sections if section.text]


def redacted(sections: Iterable[Section], redact: Callable[[str], str]) -> tuple[Section, ...]:
    """Return the sections with their secrets redacted."""
    return tuple(replace(section, text=redact(section.text)) for section in sections)


def tools_section(model: ChatModel, specs: Sequence[ToolSpec]) -> Section:
    """Return the tools as this model gets them: as JSON with the prompt, or described in it."""
    if model.tools_in_prompt and specs:
        return Section(TOOLS, describe(specs).removeprefix(f"# {TOOLS}\n\n"))
    lines = (json.dumps(spec.wire, ensure_ascii=False) for spec in specs)
    return Section(TOOLS, "\n".join(lines))


def message_sections(message: str, attached: Given) -> list[Section]:
    """Return the owner's message and its attachments as sections."""
    attachments = (
        (title, shown_attachment(title, str(content))) for title, content in attached.items()
    )
    pairs = [("Message", message), *attachments]
    return [Section(title, text, source="you") for title, text in pairs if text]


# The sections of a turn


def turn_sections(
    recall: Recall | None,
    *,
    due: str = "",
    working_memory: str = "",
    now: datetime,
    workspace: Workspace,
    model: str = "",
    shown: Collection[str] = (),
) -> list[Section]:
    """Return the sections that change with each turn.

    `recall` is None if memory could not be queried. Passages already `shown` in the prompt, by file
    or by FILE:LINE, are only cited. `due` is what is due on the days that the message names.
    """
    sources = (
        ", ".join(dict.fromkeys(passage.source for passage in recall.passages)) if recall else ""
    )
    cited = f"memory: {sources}" if sources else "memory"
    memory = Section(BEARING, memory_text(recall, shown), source=cited)
    environment = (
        f"It is {now:%A, %Y-%m-%d %H:%M} ({now.tzname() or 'local time'}). "
        f"The workspace is {one_line(str(workspace.root))}; the system is {platform.system()}."
    )
    if model:
        environment += f" You are the language model {one_line(model)}."
    dated = [Section(DUE, f"{TEXT['due_framing']}\n\n{due}", source="the agenda")] if due else []
    return [memory, *dated, *notes_sections(working_memory), Section("Now", environment)]


def notes_sections(working_memory: str) -> list[Section]:
    """Return the session's notes, if any."""
    if not working_memory:
        return []
    text = f"{TEXT['notes_framing']}\n\n  | {quoted(working_memory)}"
    return [Section(NOTES, text, source="the session's notes")]


# The prefix


def room_for_files(window: int) -> int:
    """Return the characters that files may take: half of the window, a quarter of a small one."""
    share = 4 if window < SMALL_WINDOW else 2
    return max(LEAST_FOR_FILES, min(ALL_LIMIT, window * CHARACTERS_PER_TOKEN // share))


def stable_sections(
    workspace: Workspace,
    *,
    recipe: Sequence[Part] = KNOWN,
    skills: str = "",
    off_the_record: bool = False,
    trusted: bool = True,
    most: int = ALL_LIMIT,
    memory: PromptMemory = NO_MEMORY,
) -> list[Section]:
    """Return the prefix, in the recipe's order; files take at most `most` characters in all.

    A file that is too long is cut; the text itself tells the model, `cut` the owner. Raises
    StorageError.
    """
    sections = []
    files_of = {
        part.name: part.given
        or [file for name in part.files if trusted and (file := _file(workspace, name))]
        for part in recipe
    }
    limits = _limits(recipe, files_of, most)
    for part in recipe:
        if part.name == "skills":
            text = neutralised(skills) if trusted else ""
            sections.append(Section(part.title, text, "skills/"))
            continue
        if part.name == "memory":
            source = f"memory: {', '.join(memory.sources)}"
            sections.append(Section(part.title, memory.text, source, memory.cut))
            continue
        files = files_of[part.name]
        texts, cuts = [], []
        for name, text, fault in files:
            if fault:
                cuts.append(fault)
            limit = limits[name]
            if name == PROCEDURES_FILE and not limit:
                continue  # its relevant passages are recalled
            if len(text) > limit:
                size = f"{name} has {len(text):,} characters"
                cuts.append(f"{size}, of which the first {limit:,} are in the prompt")
                text = f"{text[:limit]}\n[Cut: {size}; the first {limit:,} are here.]"
            texts.append(text)
        text = part.framing + "\n\n".join(texts) if texts else part.text
        if text == HOW and most < room_for_files(SMALL_WINDOW):
            text = TEXT["behaviour_in_short"]
        if part.name == "rules" and TEXT["briefed"] not in text:  # a copy of the program's has it
            text += TEXT["briefed"]
        source = ", ".join(name for name, *_ in files) or PROGRAM
        sections.append(Section(part.title, text, source, "; ".join(cuts)))
    if not trusted:
        sections.append(Section("Untrusted Workspace", TEXT["untrusted"]))
    if off_the_record:
        sections.append(Section("Off the Record", TEXT["off_the_record"]))
    return [section for section in sections if section.text]


def _limits(
    recipe: Sequence[Part], files_of: Mapping[str, Sequence[File]], most: int
) -> dict[str, int]:
    """Return how many characters of each file fit into the prompt: those of `FIRST` come first,
    AGENTS.md last, which is included whole or not at all.

    No other takes more than half of what is left, unless the others do not need it.
    """
    wanted: dict[str, int] = {}
    for part in recipe:
        for name, text, _ in files_of[part.name]:
            limit = part.budget * CHARACTERS_PER_TOKEN or FILE_LIMIT
            wanted[name] = min(len(text), FILE_LIMIT, limit)
    procedures = wanted.pop(PROCEDURES_FILE, 0)
    needed, remaining = sum(wanted.values()), most
    limits: dict[str, int] = {}
    for name in sorted(wanted, key=lambda name: name not in FIRST):
        needed -= wanted[name]
        limits[name] = min(wanted[name], max(remaining // 2, remaining - needed))
        remaining -= limits[name]
    return limits | {PROCEDURES_FILE: procedures if procedures <= remaining else 0}


def _file(workspace: Workspace, name: str) -> File | None:
    """Read a file of the workspace for the prompt; None if it is missing or empty.

    A turn can do without AGENTS.md, whose text then says that it cannot be read; for any other
    unreadable file this raises StorageError.
    """
    try:
        raw = read_text(workspace.root / name)
    except FileNotFoundError:
        return None
    except StorageError as error:
        if name != PROCEDURES_FILE:
            raise
        return name, f"[{name} cannot be read; tell the owner]", str(error)
    text = clean(raw)
    if name == PROCEDURES_FILE:
        text = whole_procedures(text)
    return (name, text, "") if text else None
