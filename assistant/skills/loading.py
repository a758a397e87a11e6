"""Loads the skills of a workspace and of the folders in the owner's configuration."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import yaml

from assistant.errors import AssistantError, StorageError
from assistant.skills.base import Fault, Skill, Skills, Trigger, trigger
from assistant.workspace.folder import Workspace, read_text


class Malformed(AssistantError):
    """A problem, its line in the file, and its cure."""

    def __init__(self, line: int, message: str, cure: str) -> None:
        super().__init__(message, cure)
        self.line = line


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


class Field(NamedTuple):
    """A field of front matter: its line in the file, and its texts, each with a line of its own."""

    line: int = 2
    texts: Sequence[tuple[int, str]] = ()

    @property
    def text(self) -> str:
        """Its text on one line, so that it cannot start another line of the prompt; "" for what is
        no text."""
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
            "Quote a value that holds a colon or a bracket",
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
"""The most characters of a description in the prompt, as in the Agent Skills format."""
MAX_BODY = 50_000
"""The most characters of a skill that the model is given."""
FIELDS = (
    *("name", "description", "trigger", "triggers"),
    *("license", "compatibility", "metadata", "allowed-tools", "version", "author"),
)
"""Fields of front matter: ours, and the others of the Agent Skills format."""
PATTERNS = tuple(f"{above}*/[Ss][Kk][Ii][Ll][Ll].md" for above in ("", "skills/", "*/skills/"))
"""The files of skills below a folder, also of repositories that keep theirs in `skills/`."""
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
    for file, shown in _locate(workspace, folders, faults):
        try:
            skill = _read(file, shown, faults)
        except (StorageError, Malformed) as error:
            line = error.line if isinstance(error, Malformed) else 1
            faults.append(Fault(shown, line, error.message, error.cure))
            continue
        if skill.name in skills:
            other = f"{skills[skill.name].path} has its name"
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


def _locate(
    workspace: Workspace, folders: Sequence[str], faults: list[Fault]
) -> Iterator[tuple[Path, str]]:
    """Yield every SKILL.md, and its path as shown to the model and the owner."""
    listed = further(folders)
    missing = (name for name in folders if not Path(name).expanduser().is_dir())
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
    """Yield the usable triggers; others are faults, and the skill works without them."""
    field = values.get("triggers") or values.get("trigger")
    if field and not field.texts:
        cure = "Write each on a line of its own behind a hyphen"
        faults.append(Fault(shown, field.line, "its triggers are not a list", cure, fatal=False))
    for line, text in field.texts if field else ():
        try:
            yield trigger(text)
        except ValueError as error:
            cure = "Give it words that only such messages hold"
            faults.append(Fault(shown, line, str(error), cure, fatal=False))
