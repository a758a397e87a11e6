"""The stable sections of the prompt, made by the recipe: they change only when files do.

A file that is longer than what a prompt should carry is cut, and that is said: to the model where
the text ends, to the owner by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assistant.agent.prompt.context import Section, clean
from assistant.agent.prompt.procedures import whole
from assistant.agent.prompt.recipe import KNOWN, Part
from assistant.agent.prompt.rules import BRIEFED, OFF_THE_RECORD, UNTRUSTED
from assistant.quoting import neutralised
from assistant.workspace.folder import PROCEDURES_FILE, Workspace, read_text

FILE_LIMIT = 50_000
"""Characters of one file."""
ALL_LIMIT = 200_000
"""Characters of all files together."""
LEAST = 8_000
"""They have so many, however small the model's window is."""
CHARACTERS = 4
"""Of a token, as budgets count them."""


def room(window: int) -> int:
    """The characters that files may take of a window in tokens: at most half of it."""
    return max(LEAST, min(ALL_LIMIT, window * CHARACTERS // 2))


def stable_sections(
    workspace: Workspace,
    *,
    recipe: Sequence[Part] = KNOWN,
    skills: str = "",
    off_the_record: bool = False,
    trusted: bool = True,
    briefed: bool = False,
    most: int = ALL_LIMIT,
) -> list[Section]:
    """The prefix, in the order of the recipe; files take `most` characters. Raises StorageError."""
    maker = _Maker(workspace, skills if trusted else "", trusted, briefed, most)
    sections = [maker.section(part) for part in recipe]
    notes = [
        Section("Untrusted Workspace", "" if trusted else UNTRUSTED, stable=True),
        Section("Off the Record", OFF_THE_RECORD if off_the_record else "", stable=True),
    ]
    return [each for each in (*sections, *notes) if each.text]


@dataclass(slots=True)
class _Maker:
    """Makes one section after the other; `left` is what files may still take."""

    workspace: Workspace
    skills: str
    trusted: bool
    briefed: bool
    left: int

    def section(self, part: Part) -> Section:
        if part.name == "skills":
            return Section(part.title, neutralised(self.skills), stable=True, source="skills/")
        found = [text for name in part.files if (text := self._file(name, part))]
        texts, sources = [text for text, _, _ in found], [name for _, name, _ in found]
        said = "\n\n".join(texts) or part.text
        if said and texts:
            said = part.framing + said
        if part.name == "rules" and self.briefed:
            said += BRIEFED
        cut = "; ".join(cut for _, _, cut in found if cut)
        return Section(part.title, said, True, ", ".join(sources) or "the program", cut)

    def _file(self, name: str, part: Part) -> tuple[str, str, str] | None:
        """A file's text, its name, and what to tell the owner if it is cut; None without any."""
        if not self.trusted:
            return None
        try:
            raw = read_text(self.workspace.root / name)
        except FileNotFoundError:
            return None
        text = clean(raw[: FILE_LIMIT * CHARACTERS])
        if name == PROCEDURES_FILE:
            text = whole(text)
        if not text:
            return None
        limit = min(FILE_LIMIT, self.left, part.budget * CHARACTERS or FILE_LIMIT)
        self.left -= min(len(text), limit)
        if len(text) <= limit and len(raw) <= FILE_LIMIT * CHARACTERS:
            return text, name, ""
        length = max(len(raw), len(text))
        cut = f"{name} has {length:,} characters, of which the first {limit:,} are in the prompt"
        notice = f"[Cut: {name} has {length:,} characters; the first {limit:,} stand here.]"
        return f"{text[:limit]}\n{notice}", name, cut
