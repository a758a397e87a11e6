"""Skills: procedures in folders of their own, of which the prompt lists only name and purpose."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import yaml

from assistant.errors import StorageError
from assistant.workspace.folder import Workspace, read_text

SKILL_FILE = "SKILL.md"
MAX_DESCRIPTION = 1024
"""Characters of a description that the prompt carries, as in the Agent Skills format."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill's line in the index. `path` leads from the workspace to its text, in POSIX form."""

    name: str
    description: str
    path: str


@dataclass(frozen=True, slots=True)
class Skills:
    """The skills there are, by name, and one line for each that could not be used."""

    skills: tuple[Skill, ...]
    notices: tuple[str, ...] = ()

    @property
    def index(self) -> str:
        """The prompt's list: the model reads a skill's file when its purpose fits."""
        lines = (f"- {each.name}: {each.description} ({each.path})" for each in self.skills)
        return "\n".join(lines)


def load(workspace: Workspace, disabled: Collection[str] = ()) -> Skills:
    """The skills in `skills/NAME/SKILL.md`, except the disabled; a malformed one is a notice."""
    found: dict[str, Skill] = {}
    notices = []
    for path in _paths(workspace):
        try:
            skill = _read(workspace, path)
        except (StorageError, _MalformedError) as error:
            notices.append(f"{path} is not used: {error.message}")
            continue
        if skill.name in found:
            notices.append(f"{path} is not used: {found[skill.name].path} has its name")
        elif skill.name not in disabled:
            found[skill.name] = skill
    return Skills(tuple(found[name] for name in sorted(found)), tuple(notices))


class _MalformedError(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def _paths(workspace: Workspace) -> Iterator[str]:
    """Every skill's file, by folder; a folder without one is no skill."""
    try:
        folders = sorted(workspace.skills.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    for folder in folders:
        if (folder / SKILL_FILE).is_file():
            yield f"skills/{folder.name}/{SKILL_FILE}"


def _read(workspace: Workspace, path: str) -> Skill:
    folder = path.split("/")[1]
    if not folder.isprintable():
        raise _MalformedError("the name of its folder cannot be shown")
    block = _front_matter(read_text(workspace.root / path))
    try:
        fields = yaml.load(block, Loader=yaml.BaseLoader)  # strings only, no objects
    except (yaml.YAMLError, RecursionError) as error:
        reason = str(getattr(error, "problem", "") or "nested too deep")
        raise _MalformedError(f"its front matter is no YAML ({reason})") from error
    if not isinstance(fields, dict):
        raise _MalformedError("its front matter has no fields")
    name, description = (_line(fields.get(key)) for key in ("name", "description"))
    if not description:
        raise _MalformedError("it has no description")
    return Skill(name or folder, description[:MAX_DESCRIPTION], path)


def _front_matter(text: str) -> str:
    """What stands between a first line of `---` and the next one."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---" or "---" not in (rest := [line.rstrip() for line in lines[1:]]):
        raise _MalformedError("it does not begin with front matter between two lines of ---")
    return "\n".join(lines[1 : rest.index("---") + 1])


def _line(value: object) -> str:
    """A field on one line, so that it cannot begin another line of the prompt."""
    return " ".join(value.split()) if isinstance(value, str) else ""
