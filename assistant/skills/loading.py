"""The skills of a workspace and of the folders that the owner's configuration lists."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import yaml

from assistant.errors import StorageError
from assistant.skills.base import SKILL_FILE, Fault, Skill, Skills, Trigger, trigger
from assistant.workspace.folder import Workspace, read_text


class Malformed(Exception):
    """What is wrong, on which line of the file, and what to do about it."""

    def __init__(self, line: int, message: str, cure: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.cure = cure


@dataclass(frozen=True, slots=True)
class Field:
    """A field's texts, one for a plain value, its line, and in a list that of each text."""

    texts: tuple[str, ...]
    line: int
    is_list: bool = False
    lines: tuple[int, ...] = ()

    @property
    def line_of_text(self) -> str:
        """A plain value on one line, so that it cannot begin another line of the prompt."""
        return "" if self.is_list else " ".join(" ".join(self.texts).split())


_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n|)---[ \t]*(?:\n(.*)|)\Z", re.DOTALL)


def parts(text: str) -> tuple[str, str]:
    """The front matter, between a first line of `---` and the next one, and the body behind it."""
    found = _FRONT_MATTER.match(text.replace("\r\n", "\n"))
    if not found:
        raise Malformed(
            1,
            "it does not begin with front matter between two lines of ---",
            "Begin the file with ---, a line `description: …`, and ---",
        )
    return found[1], found[2] or ""


_UNQUOTED = re.compile(
    r"^([A-Za-z][\w-]*):[ \t]+(?![\"'|>\[{&*!#])(.*: .*?|.*:)[ \t]*$", re.MULTILINE
)
"""A plain value that holds a colon, which YAML takes for another field."""


def fields(block: str) -> dict[str, Field]:
    """The fields by name; every value is text, whatever YAML would make of it."""
    block = _UNQUOTED.sub(
        lambda found: f"{found[1]}: {json.dumps(found[2], ensure_ascii=False)}", block
    )
    try:
        node = yaml.compose(block, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = str(getattr(error, "problem", "") or "it cannot be read")
        raise Malformed(
            mark.line + 2 if mark else 2,
            f"its front matter is no YAML ({reason})",
            "Quote a value that holds a colon or a bracket",
        ) from error
    except RecursionError as error:
        raise Malformed(
            2, "its front matter is no YAML (nested too deep)", "Keep it to plain fields"
        ) from error
    if not isinstance(node, yaml.MappingNode):
        raise Malformed(2, "its front matter has no fields", "Write `description: …` in it")
    return {
        key.value: _field(value, key.start_mark.line + 2)
        for key, value in node.value
        if isinstance(key, yaml.ScalarNode)
    }


def _field(node: yaml.Node, line: int) -> Field:
    if isinstance(node, yaml.ScalarNode):
        return Field((node.value,), line, lines=(line,))
    items = node.value if isinstance(node, yaml.SequenceNode) else ()
    texts = [item for item in items if isinstance(item, yaml.ScalarNode)]
    lines = tuple(text.start_mark.line + 2 for text in texts)
    return Field(tuple(text.value for text in texts), line, True, lines)


MAX_DESCRIPTION = 1024
"""Characters of a description that the prompt carries, as in the Agent Skills format."""
MAX_BODY = 50_000
"""Characters of a skill that the model is given."""
FIELDS = (
    *("name", "description", "trigger", "triggers"),
    *("license", "compatibility", "metadata", "allowed-tools", "version", "author"),
)
"""What stands in front matter: ours, and what the Agent Skills format has besides."""
NOTHING = Field((), 2)
SPELLINGS = (SKILL_FILE, SKILL_FILE.lower(), SKILL_FILE.title())
MOST_FILES = 100
"""Files of a skill that the model is told of."""
NOT_LISTED = "Correct `skills.folders`: `assistant config edit`"


def load(
    workspace: Workspace, disabled: Collection[str] = (), folders: Sequence[str] = ()
) -> Skills:
    """The skills in `skills/NAME/SKILL.md`, of the workspace first and of further folders."""
    found: dict[str, Skill] = {}
    faults: list[Fault] = []
    for place in _places(workspace, folders, faults):
        try:
            skill = _read(place, faults)
        except (StorageError, Malformed) as error:
            line = error.line if isinstance(error, Malformed) else 1
            faults.append(Fault(place.shown, line, error.message, error.cure))
            continue
        if skill.name in found:
            other = f"{found[skill.name].path} has its name"
            faults.append(Fault(place.shown, 1, other, "Give one of them another `name:`"))
        else:
            found[skill.name] = skill
    off = tuple(sorted(name for name in disabled if name in found))
    used = tuple(found[name] for name in sorted(found) if name not in off)
    return Skills(used, tuple(faults), off)


def body(skill: Skill) -> str:
    """What a skill says, as it stands in its file now. Raises StorageError if it is gone."""
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
    """The other files of a skill, as tools take their paths: references and scripts."""
    folder = skill.file.parent
    above = skill.path.removesuffix(skill.file.name)
    below = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    files = sorted(each.as_posix() for each in below if not each.as_posix().startswith("."))
    files.remove(skill.file.name)
    more = [f"and {len(files) - MOST_FILES:,} more"] if len(files) > MOST_FILES else []
    return [*(f"{above}{file}" for file in files[:MOST_FILES]), *more]


def further(folders: Sequence[str]) -> list[Path]:
    """The listed folders that are there."""
    paths = (Path(folder).expanduser().resolve() for folder in folders)
    return [path for path in paths if path.is_dir()]


@dataclass(frozen=True, slots=True)
class _Place:
    """A SKILL.md, and its path as the model and the owner are shown it."""

    file: Path
    shown: str


def _places(workspace: Workspace, folders: Sequence[str], faults: list[Fault]) -> Iterator[_Place]:
    """Every SKILL.md, by folder, those of repositories that keep theirs in `skills/` too."""
    listed = further(folders)
    missing = (each for each in folders if not Path(each).expanduser().is_dir())
    faults += [Fault(each, 0, "there is no such folder", NOT_LISTED) for each in missing]
    allowed = [workspace.root, *listed]
    for folder in (workspace.skills, *listed):
        above = "skills" if folder == workspace.skills else str(folder)
        for within in (folder, folder / "skills", *sorted(folder.glob("*/skills"))):
            for file in _skill_files(within):
                place = _Place(file, f"{above}/{file.relative_to(folder).as_posix()}")
                if any(file.resolve().is_relative_to(root) for root in allowed):
                    yield place
                else:
                    cure = f"List {file.parent.resolve().parent} in `skills.folders` if it is yours"
                    faults.append(Fault(place.shown, 1, "it leads out of the workspace", cure))


def _skill_files(folder: Path) -> list[Path]:
    """The SKILL.md of each folder in there, as its name is spelled."""
    try:
        entries = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    spelled = ([entry / name for name in SPELLINGS] for entry in entries)
    found = (next((file for file in files if file.is_file()), None) for files in spelled)
    return [file for file in found if file is not None]


def _read(place: _Place, faults: list[Fault]) -> Skill:
    folder = place.file.parent.name
    if not folder.isprintable():
        raise Malformed(1, "the name of its folder cannot be shown", "Rename the folder")
    said = fields(parts(read_text(place.file))[0])
    described, named = said.get("description", NOTHING), said.get("name", NOTHING)
    text = described.line_of_text
    if not text:
        raise Malformed(
            described.line, "it has no description", "Write `description: …`: when it is to be used"
        )
    if len(text) > MAX_DESCRIPTION:
        long = f"its description has {len(text):,} characters; {MAX_DESCRIPTION:,} are shown"
        faults.append(Fault(place.shown, described.line, long, "Shorten it", fatal=False))
    faults += _misspelled(place, said)
    name = named.line_of_text or folder
    triggers = _triggers(place, said.get("triggers", said.get("trigger", NOTHING)), faults)
    return Skill(name, text[:MAX_DESCRIPTION], place.shown, place.file, triggers)


def _triggers(place: _Place, field: Field, faults: list[Fault]) -> tuple[Trigger, ...]:
    """The triggers that can be used; the others are faults, and the skill does without them."""
    usable = []
    if field is not NOTHING and not field.texts:
        cure = "Write each on a line of its own behind a hyphen"
        faults.append(Fault(place.shown, field.line, "its triggers are no list", cure, fatal=False))
    for line, text in zip(field.lines, field.texts, strict=True):
        try:
            usable.append(trigger(text))
        except ValueError as error:
            cure = "Give it words that only such messages hold"
            faults.append(Fault(place.shown, line, str(error), cure, fatal=False))
    return tuple(usable)


def _misspelled(place: _Place, said: Mapping[str, Field]) -> Iterator[Fault]:
    """The fields whose names are nearly those of others that are not there."""
    for name, field in said.items():
        if name in FIELDS or not (near := get_close_matches(name, set(FIELDS) - said.keys(), n=1)):
            continue
        what = f"its field {name!r} says nothing"
        yield Fault(place.shown, field.line, what, f"Did you mean {near[0]}?", fatal=False)
