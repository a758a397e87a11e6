"""Loads the skills of a workspace and of the folders in the owner's configuration."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import yaml

from assistant.errors import StorageError
from assistant.skills.base import SKILL_FILE, Fault, Skill, Skills, Trigger, trigger
from assistant.workspace.folder import Workspace, read_text


class Malformed(Exception):
    """A problem, its line in the file, and its cure."""

    def __init__(self, line: int, message: str, cure: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.cure = cure


_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n|)---[ \t]*(?:\n(.*)|)\Z", re.DOTALL)


def parts(text: str) -> tuple[str, str]:
    """Return the front matter, between the first line of `---` and the next one, and the body
    after it."""
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


def fields(block: str) -> dict[str, Any]:
    """Return the fields by name; every scalar is text, whatever its type in YAML."""
    block = _UNQUOTED.sub(
        lambda match: f"{match[1]}: {json.dumps(match[2], ensure_ascii=False)}", block
    )
    try:
        values = yaml.load(block.rstrip(), Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = str(getattr(error, "problem", "") or "it cannot be read")
        raise Malformed(
            mark.line + 2 if mark else 2,
            f"its front matter is not valid YAML ({reason})",
            "Quote a value that holds a colon or a bracket",
        ) from error
    except RecursionError as error:
        raise Malformed(
            2, "its front matter is not valid YAML (nested too deep)", "Keep it to plain fields"
        ) from error
    if not isinstance(values, dict):
        raise Malformed(2, "its front matter has no fields", "Write `description: …` in it")
    return values


def _line(block: str, name: str) -> int:
    """Return the line of a field in its file, 2 for one that is missing."""
    lines = enumerate(block.split("\n"), start=2)
    return next((number for number, line in lines if line.startswith(f"{name}:")), 2)


def _on_one_line(value: Any) -> str:
    """Return a text on one line, so that it cannot start another line of the prompt; "" for what
    is no text."""
    return " ".join(value.split()) if isinstance(value, str) else ""


MAX_DESCRIPTION = 1024
"""The most characters of a description in the prompt, as in the Agent Skills format."""
MAX_BODY = 50_000
"""The most characters of a skill that the model is given."""
FIELDS = (
    *("name", "description", "trigger", "triggers"),
    *("license", "compatibility", "metadata", "allowed-tools", "version", "author"),
)
"""Fields of front matter: ours, and the others of the Agent Skills format."""
SPELLINGS = (SKILL_FILE, SKILL_FILE.lower(), SKILL_FILE.title())
MOST_FILES = 100
"""The most files of a skill that the model is told of."""
NOT_LISTED = "Correct `skills.folders`: `assistant config edit`"


def load(
    workspace: Workspace, disabled: Collection[str] = (), folders: Sequence[str] = ()
) -> Skills:
    """Load the skills in `skills/NAME/SKILL.md`, of the workspace first and then of further
    folders."""
    skills: dict[str, Skill] = {}
    faults: list[Fault] = []
    for location in _locate(workspace, folders, faults):
        try:
            skill = _read(location, faults)
        except (StorageError, Malformed) as error:
            line = error.line if isinstance(error, Malformed) else 1
            faults.append(Fault(location.shown, line, error.message, error.cure))
            continue
        if skill.name in skills:
            other = f"{skills[skill.name].path} has its name"
            faults.append(Fault(location.shown, 1, other, "Give one of them another `name:`"))
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
    beside = f"\n\nFiles of this skill: {', '.join(files)}" if files else ""
    return f"{body(skill)}{beside}"


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
    paths = (Path(folder).expanduser().resolve() for folder in folders)
    return [path for path in paths if path.is_dir()]


@dataclass(frozen=True, slots=True)
class _Location:
    """A SKILL.md, and its path as shown to the model and the owner."""

    file: Path
    shown: str


def _locate(
    workspace: Workspace, folders: Sequence[str], faults: list[Fault]
) -> Iterator[_Location]:
    """Yield every SKILL.md, by folder, also of repositories that keep theirs in `skills/`."""
    listed = further(folders)
    missing = (name for name in folders if not Path(name).expanduser().is_dir())
    faults += [Fault(name, 0, "there is no such folder", NOT_LISTED) for name in missing]
    allowed = [workspace.root, *listed]
    for folder in (workspace.skills, *listed):
        prefix = "skills" if folder == workspace.skills else str(folder)
        for directory in (folder, folder / "skills", *sorted(folder.glob("*/skills"))):
            for file in _skill_files(directory):
                location = _Location(file, f"{prefix}/{file.relative_to(folder).as_posix()}")
                if any(file.resolve().is_relative_to(root) for root in allowed):
                    yield location
                else:
                    cure = f"List {file.parent.resolve().parent} in `skills.folders` if it is yours"
                    faults.append(Fault(location.shown, 1, "it leads out of the workspace", cure))


def _skill_files(folder: Path) -> list[Path]:
    """Return the SKILL.md of each subfolder, however its name is spelled."""
    try:
        entries = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    candidates = ([entry / name for name in SPELLINGS] for entry in entries)
    skill_files = (next((file for file in files if file.is_file()), None) for files in candidates)
    return [file for file in skill_files if file is not None]


def _read(location: _Location, faults: list[Fault]) -> Skill:
    folder = location.file.parent.name
    if not folder.isprintable():
        raise Malformed(1, "the name of its folder cannot be shown", "Rename the folder")
    block = parts(read_text(location.file))[0]
    values = fields(block)
    text, line = _on_one_line(values.get("description")), _line(block, "description")
    if not text:
        raise Malformed(line, "it has no description", "Write `description: …`: when to use it")
    if len(text) > MAX_DESCRIPTION:
        message = f"its description has {len(text):,} characters; {MAX_DESCRIPTION:,} are shown"
        faults.append(Fault(location.shown, line, message, "Shorten it", fatal=False))
    for name in (name for name in values if name not in FIELDS):
        if nearest := get_close_matches(name, set(FIELDS) - values.keys(), n=1):
            message, cure = f"its field {name!r} is unknown", f"Did you mean {nearest[0]}?"
            faults.append(Fault(location.shown, _line(block, name), message, cure, fatal=False))
    name = _on_one_line(values.get("name")) or folder
    triggers = _triggers(location, block, values, faults)
    return Skill(name, text[:MAX_DESCRIPTION], location.shown, location.file, triggers)


def _triggers(
    location: _Location, block: str, values: Mapping[str, Any], faults: list[Fault]
) -> tuple[Trigger, ...]:
    """Return the usable triggers; others are faults, and the skill works without them."""
    field = "triggers" if "triggers" in values else "trigger"
    value, line = values.get(field), _line(block, field)
    items = value if isinstance(value, list) else [value]
    texts = [text for text in items if isinstance(text, str)]
    usable = []
    if field in values and not texts:
        cure = "Write each on a line of its own behind a hyphen"
        faults.append(Fault(location.shown, line, "its triggers are not a list", cure, fatal=False))
    following = enumerate(block.split("\n")[line - 1 :], start=line + 1)
    lines = [number for number, text in following if text.lstrip().startswith("-")]
    if not isinstance(value, list):
        lines = []
    for text, number in zip(texts, chain(lines, repeat(line)), strict=False):
        try:
            usable.append(trigger(text))
        except ValueError as error:
            cure = "Give it words that only such messages hold"
            faults.append(Fault(location.shown, number, str(error), cure, fatal=False))
    return tuple(usable)
