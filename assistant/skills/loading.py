"""Skills: a folder with a SKILL.md, represented in the prompt by one line until it is needed.

A trigger loads the skill when a message contains its words, or matches its pattern between slashes.
A trigger that most messages match is refused, since it would put its skill into every prompt.

Skills are loaded from a workspace, and from the folders in the owner's configuration.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import yaml

from assistant.characters import plain_words
from assistant.disk import storage
from assistant.errors import AssistantError, StorageError
from assistant.workspace.folder import Workspace, read_text

SECONDS = 0.05
"""Timeout for matching a pattern against a message."""
LONGEST_MESSAGE = 20_000
"""Maximum characters of a message that triggers are matched against."""
SAMPLES = Path(__file__).with_name("samples.txt").read_text("utf-8").splitlines()
"""Messages with little in common: a trigger that matches three of them matches nearly anything."""
MANY = 3


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger as written, and its test."""

    text: str
    matches: Callable[[str], bool]


def trigger(text: str) -> Trigger:
    """Parse a trigger: words in this order, or `/a pattern/`. Raises ValueError."""
    text = text.strip()
    is_pattern = len(text) > 1 and text[0] == text[-1] == "/"
    result = Trigger(text, _pattern(text[1:-1]) if is_pattern else _words(text))
    if sum(map(result.matches, SAMPLES)) >= MANY:
        raise ValueError(f"the trigger {text!r} matches nearly every message")
    return result


def _words(text: str) -> Callable[[str], bool]:
    words = plain_words(text)
    if not words:
        raise ValueError(f"the trigger {text!r} contains no word, so every message would match")
    space = " " if words.isascii() or any(map(_is_spaced, words)) else ""
    phrase = f"{space}{words}{space}"
    return lambda message: phrase in f" {plain_words(message[:LONGEST_MESSAGE])} "


def _is_spaced(char: str) -> bool:
    """Return whether a letter belongs to a script that puts spaces between words."""
    return unicodedata.name(char, "").startswith(("LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW"))


def _pattern(source: str) -> Callable[[str], bool]:
    import regex  # supports timeouts; few skills need it

    try:
        compiled = regex.compile(source, regex.IGNORECASE)
    except regex.error as error:
        raise ValueError(f"the trigger /{source}/ is not a valid pattern: {error}") from error
    if compiled.search(""):
        raise ValueError(f"the trigger /{source}/ matches every message, even an empty one")

    def matches(message: str) -> bool:
        try:
            return compiled.search(message[:LONGEST_MESSAGE], timeout=SECONDS) is not None
        except TimeoutError:
            return False

    return matches


SKILL_FILE = "SKILL.md"
MOST_TRIGGERED = 3
"""Maximum number of skills that one message triggers."""
HOW = """\
Skills are procedures that the owner keeps for certain tasks. When a task calls for one, fetch it \
with `load_skills` before you begin, several at once if several fit, and do as it says."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem with a skill, its line, and its cure. Unless it is `fatal` the skill is used."""

    path: str
    line: int
    message: str
    cure: str
    fatal: bool = True

    @property
    def notice(self) -> str:
        """The fault on one line."""
        verdict = "is not used: " if self.fatal else ""
        location = f"{self.path}:{self.line}" if self.line else self.path
        return f"{location} {verdict}{self.message}. {self.cure}"


@dataclass(frozen=True, slots=True)
class Skill:
    """A usable skill. `path` is the path of its SKILL.md for tools, in POSIX form."""

    name: str
    description: str
    path: str
    file: Path
    triggers: tuple[Trigger, ...] = ()

    @property
    def line(self) -> str:
        """The skill's line in the prompt until it is loaded."""
        return f"- {self.name}: {self.description} ({self.path})"

    def trigger(self, message: str) -> str | None:
        """Return the first of its triggers that matches a message, as written."""
        return next(
            (candidate.text for candidate in self.triggers if candidate.matches(message)), None
        )


@dataclass(frozen=True, slots=True)
class Skills:
    """The skills by name, the names of disabled ones, and the faults of others."""

    skills: tuple[Skill, ...] = ()
    faults: tuple[Fault, ...] = ()
    disabled: tuple[str, ...] = ()

    @property
    def index(self) -> str:
        """The prompt's section: how to use skills, and a line for each; empty if there are none."""
        return "\n".join([HOW, *(skill.line for skill in self.skills)]) if self.skills else ""

    @property
    def notices(self) -> tuple[str, ...]:
        """A line for each fault."""
        return tuple(fault.notice for fault in self.faults)

    def named(self, name: str) -> Skill | None:
        """Return the skill with a name, ignoring case."""
        folded_name = name.strip().casefold()
        return next((skill for skill in self.skills if skill.name.casefold() == folded_name), None)

    def triggered(self, message: str) -> Iterator[tuple[Skill, str]]:
        """Yield the skills that a message triggers, each with the trigger that matched."""
        candidates = ((skill, skill.trigger(message)) for skill in self.skills)
        matched = [(skill, trigger) for skill, trigger in candidates if trigger is not None]
        yield from matched[:MOST_TRIGGERED]


# Loading


class Malformed(AssistantError):
    """A problem, its line in the file, and its cure."""

    def __init__(self, line: int, message: str, cure: str) -> None:
        super().__init__(message, cure)
        self.line = line


_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n|)---[ \t]*(?:\n(.*)|)\Z", re.DOTALL)


def parts(text: str) -> tuple[str, str]:
    """Return the front matter, between the first line of `---` and the next one, and the body."""
    match = _FRONT_MATTER.match(text.replace("\r\n", "\n"))
    if not match:
        raise Malformed(
            1,
            "it does not begin with front matter between two lines of ---",
            "Begin the file with ---, a line `description: …`, and ---",
        )
    return match[1], match[2] or ""


_UNQUOTED = re.compile(
    r"^([A-Za-z][\w-]*):[ \t]+(?![\"'|>\[{&*!#])(.*: .*?|.*:)[ \t]*$", re.MULTILINE
)
"""A plain value with a colon, which YAML takes for another field."""


class Field(NamedTuple):
    """A field of front matter: its line in the file, and its texts, each with its own line."""

    line: int = 2
    texts: Sequence[tuple[int, str]] = ()

    @property
    def text(self) -> str:
        """Its text on one line, so that it cannot start another line of the prompt; "" if it is not
        text."""
        return " ".join(self.texts[0][1].split()) if len(self.texts) == 1 else ""


def fields(block: str) -> dict[str, Field]:
    """Return the fields by name; every scalar is text, whatever its type in YAML."""
    block = _UNQUOTED.sub(
        lambda match: f"{match[1]}: {json.dumps(match[2], ensure_ascii=False)}", block
    )
    try:
        mapping = yaml.compose(block.rstrip(), Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or "it cannot be read"
        raise Malformed(
            mark.line + 2 if mark else 2,
            f"its front matter is not valid YAML ({reason})",
            "Quote a value that contains a colon or a bracket",
        ) from error
    if not isinstance(mapping, yaml.MappingNode):
        raise Malformed(2, "its front matter has no fields", "Write `description: …` in it")
    return {
        str(key.value): Field(key.start_mark.line + 2, _texts(node)) for key, node in mapping.value
    }


def _texts(node: yaml.Node) -> list[tuple[int, str]]:
    nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
    scalars = (item for item in nodes if isinstance(item, yaml.ScalarNode))
    return [(scalar.start_mark.line + 2, scalar.value) for scalar in scalars]


MAX_DESCRIPTION = 1024
"""Maximum characters of a description in the prompt, as in the Agent Skills format."""
MAX_BODY = 50_000
"""Maximum characters of a skill that the model is given."""
FIELDS = (
    *("name", "description", "trigger", "triggers"),
    *("license", "compatibility", "metadata", "allowed-tools", "version", "author"),
)
"""Fields of front matter: ours, and the others of the Agent Skills format."""
PATTERNS = tuple(f"{above}*/[Ss][Kk][Ii][Ll][Ll].md" for above in ("", "skills/", "*/skills/"))
"""The skill files below a folder, including those of repositories that keep them in `skills/`."""
MOST_FILES = 100
"""Maximum number of a skill's files that the model is told about."""
NOT_LISTED = "Correct `skills.folders`: `assistant config edit`"


def load(
    workspace: Workspace, disabled: Collection[str] = (), folders: Sequence[str] = ()
) -> Skills:
    """Load the skills in `skills/NAME/SKILL.md`, first of the workspace and then of further
    folders."""
    skills: dict[str, Skill] = {}
    faults: list[Fault] = []
    for file, shown in _locate(workspace, folders, faults):
        try:
            skill = _read(file, shown, faults)
        except (StorageError, Malformed) as error:
            line = error.line if isinstance(error, Malformed) else 1
            faults.append(Fault(shown, line, error.message, error.cure))
            continue
        if skill.name in skills:
            other = f"{skills[skill.name].path} has the same name"
            faults.append(Fault(shown, 1, other, "Give one of them another `name:`"))
        else:
            skills[skill.name] = skill
    disabled_names = tuple(sorted(name for name in disabled if name in skills))
    enabled = tuple(skills[name] for name in sorted(skills) if name not in disabled_names)
    return Skills(enabled, tuple(faults), disabled_names)


def whole(skill: Skill) -> str:
    """Return the current text of a skill and the names of its other files, for a model.

    Raises StorageError if it is gone.
    """
    files = bundled(skill)
    listing = f"\n\nFiles of this skill: {', '.join(files)}" if files else ""
    return f"{body(skill)}{listing}"


def body(skill: Skill) -> str:
    """Return the current text of a skill's file. Raises StorageError if it is gone."""
    try:
        text = parts(read_text(skill.file))[1].strip()
    except (FileNotFoundError, Malformed) as error:
        raise StorageError(
            f"{skill.path} was removed or broken meanwhile", "Run `assistant skills list`"
        ) from error
    if len(text) <= MAX_BODY:
        return text
    cut = f"[Cut: {skill.path} has {len(text):,} characters; the first {MAX_BODY:,} are here.]"
    return f"{text[:MAX_BODY]}\n{cut}"


def bundled(skill: Skill) -> list[str]:
    """Return the other files of a skill, with their paths for tools: references and scripts."""
    folder = skill.file.parent
    prefix = skill.path.removesuffix(skill.file.name)
    relative_paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    files = sorted(
        path.as_posix() for path in relative_paths if not path.as_posix().startswith(".")
    )
    files.remove(skill.file.name)
    more = [f"and {len(files) - MOST_FILES:,} more"] if len(files) > MOST_FILES else []
    return [*(f"{prefix}{file}" for file in files[:MOST_FILES]), *more]


def further(folders: Sequence[str]) -> list[Path]:
    """Return the listed folders that exist."""
    paths = (storage.expanded(folder).resolve() for folder in folders)
    return [path for path in paths if path.is_dir()]


def _locate(
    workspace: Workspace, folders: Sequence[str], faults: list[Fault]
) -> Iterator[tuple[Path, str]]:
    """Yield every SKILL.md, and its path as shown to the model and the owner."""
    listed = further(folders)
    missing = (name for name in folders if not storage.expanded(name).is_dir())
    faults += [Fault(name, 0, "there is no such folder", NOT_LISTED) for name in missing]
    allowed = [workspace.root, *listed]
    for folder in (workspace.skills, *listed):
        prefix = "skills" if folder == workspace.skills else str(folder)
        for file in (file for pattern in PATTERNS for file in sorted(folder.glob(pattern))):
            shown = f"{prefix}/{file.relative_to(folder).as_posix()}"
            if any(file.resolve().is_relative_to(root) for root in allowed):
                yield file, shown
            else:
                cure = f"List {file.parent.resolve().parent} in `skills.folders` if it is yours"
                faults.append(Fault(shown, 1, "it leads out of the workspace", cure))


def _read(file: Path, shown: str, faults: list[Fault]) -> Skill:
    folder = file.parent.name
    if not folder.isprintable():
        raise Malformed(1, "the name of its folder cannot be shown", "Rename the folder")
    values = fields(parts(read_text(file))[0])
    described = values.get("description", Field())
    if not described.text:
        message = "it has no description"
        raise Malformed(described.line, message, "Write `description: …`: when to use it")
    if len(described.text) > MAX_DESCRIPTION:
        size = f"its description has {len(described.text):,} characters"
        message = f"{size}; {MAX_DESCRIPTION:,} are shown"
        faults.append(Fault(shown, described.line, message, "Shorten it", fatal=False))
    for name, unknown in ((n, field) for n, field in values.items() if n not in FIELDS):
        if nearest := get_close_matches(name, set(FIELDS) - values.keys(), n=1):
            message, cure = f"its field {name!r} is unknown", f"Did you mean {nearest[0]}?"
            faults.append(Fault(shown, unknown.line, message, cure, fatal=False))
    name = values.get("name", Field()).text or folder
    triggers = tuple(_triggers(values, shown, faults))
    return Skill(name, described.text[:MAX_DESCRIPTION], shown, file, triggers)


def _triggers(values: dict[str, Field], shown: str, faults: list[Fault]) -> Iterator[Trigger]:
    """Yield the usable triggers; the others become faults, and the skill works without them."""
    field = values.get("triggers") or values.get("trigger")
    if field and not field.texts:
        cure = "Write each on its own line after a hyphen"
        faults.append(Fault(shown, field.line, "its triggers are not a list", cure, fatal=False))
    for line, text in field.texts if field else ():
        try:
            yield trigger(text)
        except ValueError as error:
            cure = "Give it words that only such messages contain"
            faults.append(Fault(shown, line, str(error), cure, fatal=False))
