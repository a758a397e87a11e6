"""`skills list|show|check|new`: the procedures that the owner keeps in folders of their own."""

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.cli.help import commands
from assistant.cli.options import AsJson, Globals, print_json
from assistant.display import counted, spelled
from assistant.errors import UsageError

if TYPE_CHECKING:
    from assistant.skills.base import Skills


NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
LONGEST_NAME = 64
"""As in the Agent Skills format."""
TEMPLATE = """\
---
name: {name}
description: {description}
# A message that holds one of these brings the skill in by itself:
# triggers:
#   - {words}
---

# {title}

1. Say here, step by step, what is to be done.
2. Put longer material into `references/` and programs into `scripts/` beside this file, and name
   them here: they are read and run when they are needed.
"""
UNDESCRIBED = "Say here what this skill does, and when it is to be used."

skill_commands = commands("The assistant's skills: see them, check them, begin a new one.")


def register(cli: typer.Typer) -> None:
    """Add the commands to the tree."""
    cli.add_typer(skill_commands, name="skills")
    for command in (list_, show, check, new):
        skill_commands.command(command.__name__.rstrip("_"))(command)


def list_(context: typer.Context, as_json: AsJson = False) -> None:
    """List the skills there are, and what is wrong with others."""
    found = _loaded(context.obj)
    if as_json:
        listed = [
            {
                "name": each.name,
                "description": each.description,
                "path": each.path,
                "triggers": [trigger.text for trigger in each.triggers],
            }
            for each in found.skills
        ]
        faults = [asdict(each) for each in found.faults]
        print_json({"skills": listed, "disabled": list(found.disabled), "faults": faults})
        return
    for each in found.skills:
        said = ", ".join(f"“{trigger.text}”" for trigger in each.triggers)
        place = f"({each.path}{f'; comes in at {said}' if said else ''})"
        typer.echo(f"{spelled(each.name)}: {spelled(each.description)}")
        typer.echo(typer.style(f"  {spelled(place)}", dim=True))
    for name in found.disabled:
        typer.echo(typer.style(f"{spelled(name)} is switched off (skills.disabled)", dim=True))
    for fault in found.notices:
        typer.echo(spelled(fault), err=True)
    if not found.skills and not found.faults:
        typer.echo("No skills yet: `assistant skills new NAME` begins one.", err=True)


def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The name of a skill.")],
    as_json: AsJson = False,
) -> None:
    """Show a skill as the model is given it, with the files that it brings."""
    from assistant.skills import loading

    found = _loaded(context.obj)
    skill = found.named(name)
    if skill is None:
        known = ", ".join(each.name for each in found.skills) or "none"
        raise UsageError(f"there is no skill {name!r}", f"There are: {known}")
    text, files = loading.body(skill), loading.bundled(skill)
    if as_json:
        print_json({"name": skill.name, "path": skill.path, "text": text, "files": files})
        return
    typer.echo(f"{spelled(skill.line)}\n\n{spelled(text)}")
    for file in files:
        typer.echo(typer.style(spelled(file), dim=True))


def check(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Only this skill or folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check every skill; what is wrong comes with its file, its line and the cure."""
    found = _loaded(context.obj)
    faults = [each for each in found.faults if name is None or name in each.path.split("/")]
    if name and not faults and found.named(name) is None:
        raise UsageError(f"there is no skill {name!r}", "Run `assistant skills list`")
    if as_json:
        print_json([asdict(each) for each in faults])
    else:
        for fault in faults:
            typer.echo(spelled(fault.notice))
        if not faults:
            number = 1 if name else len(found.skills)
            typer.echo(f"{counted(number, 'skill')}, nothing wrong.")
    if faults:
        raise typer.Exit(1)


def new(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its name: small letters, digits and hyphens.")],
    description: Annotated[
        str, typer.Option("--description", help="What it does, and when it is to be used.")
    ] = UNDESCRIBED,
) -> None:
    """Begin a skill in the workspace."""
    from assistant.disk import storage
    from assistant.skills.base import SKILL_FILE

    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise UsageError(
            f"{name!r} cannot be the name of a skill",
            f"Use small letters, digits and hyphens, at most {LONGEST_NAME}",
        )
    file = context.obj.place().skills / name / SKILL_FILE
    if file.exists():
        raise UsageError(f"{file} is there already", "Choose another name, or edit it")
    words = name.replace("-", " ")
    file.parent.mkdir(parents=True, exist_ok=True)
    said = '"' + " ".join(description.split()).replace("\\", "\\\\").replace('"', '\\"') + '"'
    text = TEMPLATE.format(name=name, description=said, words=words, title=words.capitalize())
    storage.replace(file, text.encode())
    typer.echo(f"Written: {spelled(str(file))}")


def _loaded(options: Globals) -> "Skills":
    """The skills as a conversation would have them. What reads them is slow to load."""
    from assistant import config
    from assistant.settings import tree as settings
    from assistant.skills import loading
    from assistant.workspace import trust

    place = options.place()
    recipe = place.recipe if trust.is_trusted(place) else None
    chosen = settings.validate(config.load(recipe=recipe), recipe).skills
    return loading.load(place, chosen.disabled, chosen.folders)
