"""`skills`: the owner's procedures, each in a separate folder."""

import json
import re
from difflib import get_close_matches
from importlib import resources

import typer

from assistant.cli.help import did_you_mean
from assistant.cli.options import AsJson, answer
from assistant.cli.palette import echo
from assistant.disk import storage
from assistant.errors import UsageError
from assistant.skills import loading
from assistant.skills.loading import SKILL_FILE, Skills

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
LONGEST_NAME = 64
"""The limit of the Agent Skills format."""
UNDESCRIBED = "Describe what this skill does, and when to use it."


def list_(
    context: typer.Context,
    name: str | None = None,
    as_json: AsJson = False,
) -> None:
    """List the skills, and what is wrong with them.

    Arguments:
      [NAME]: Show this one, as the model reads it.
    """
    chosen = context.obj.settings().skills
    skills = loading.load(context.obj.workspace(), chosen.disabled, chosen.folders)
    if name is not None:
        return _show(skills, name)
    listed = [
        {
            "name": skill.name,
            "description": skill.description,
            "path": skill.path,
            "triggers": [trigger.text for trigger in skill.triggers],
        }
        for skill in skills.skills
    ]
    answer({"skills": listed, "disabled": skills.disabled, "faults": skills.faults})
    for skill in skills.skills:
        triggers = ", ".join(f"“{trigger.text}”" for trigger in skill.triggers)
        facts = f"({skill.path}{f'; triggered by {triggers}' if triggers else ''})"
        echo(f"{skill.name}: {skill.description}")
        echo(f"  {facts}", faint=True)
    for name in skills.disabled:
        echo(f"{name} is disabled (skills.disabled)", faint=True)
    for fault in skills.notices:
        echo(fault)
    if not skills.skills and not skills.faults:
        echo("No skills yet. `assistant skills new NAME` creates one.", err=True)
    if skills.faults:
        raise typer.Exit(1)


def _show(skills: Skills, name: str) -> None:
    """Print a skill as the model reads it, with its files."""
    skill = skills.named(name)
    if skill is None:
        known = ", ".join(skill.name for skill in skills.skills) or "none"
        near = get_close_matches(name, [skill.name for skill in skills.skills], n=1)
        raise UsageError(f"there is no skill {name!r}", did_you_mean(near) or f"Available: {known}")
    text, files = loading.body(skill), loading.bundled(skill)
    answer({"name": skill.name, "path": skill.path, "text": text, "files": files})
    echo(f"{skill.line}\n\n{text}")
    for file in files:
        echo(file, faint=True)


def new(
    context: typer.Context,
    name: str,
    description: str = "",
) -> None:
    """Create a skill in the workspace.

    Arguments:
      NAME: Lower-case letters, digits and hyphens.
      --description TEXT: What it does, and when to use it.

    Examples:
      assistant skills new weekly-review
      assistant skills new tea --description 'How I take my tea'
    """
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise UsageError(
            f"{name!r} cannot be the name of a skill",
            f"Use lower-case letters, digits and hyphens, at most {LONGEST_NAME}",
        )
    file = context.obj.workspace().skills / name / SKILL_FILE
    if file.exists():
        raise UsageError(f"{file} exists", "Choose another name, or edit it")
    words = name.replace("-", " ")
    file.parent.mkdir(parents=True, exist_ok=True)
    quoted = json.dumps(" ".join((description or UNDESCRIBED).split()), ensure_ascii=False)
    template = resources.files("assistant.skills").joinpath("template.md").read_text("utf-8")
    text = template.format(name=name, description=quoted, words=words, title=words.capitalize())
    storage.replace(file, text.encode())
    echo(f"Written: {file}")
