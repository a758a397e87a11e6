"""Names that others chose: of skills, folders, files and headings."""

from pathlib import Path

import pytest

from assistant.agent.memory_text import memory_text, prompt_memory
from assistant.agent.prompt import Prompt, stable_sections, turn_sections
from assistant.memory.base import Passage, Recall
from assistant.messages import Message
from assistant.skills import loading as skills
from assistant.workspace.folder import Workspace
from tests.agent.test_prompt import NOW
from tests.attacks.cases import ATTACKS, ORDER, Attack, names_a_file
from tests.attacks.obedient import look, orders

every_attack = pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.family)


def folder_name(attack: Attack) -> str:
    name = names_a_file(attack.against("MEMORY").replace(ORDER, "") + ORDER)
    return name.replace("/", "")


def prompt(place: Workspace, recall: Recall | None = None) -> list[Message]:
    """The system prompt of a workspace, its skills included."""
    index = skills.load(place).index
    turn = turn_sections(recall, now=NOW, workspace=place)
    built = Prompt(tuple(stable_sections(place, skills=index)), tuple(turn))
    return [built.system, Message("system", built.briefing)]


@every_attack
@pytest.mark.parametrize("field", ["name", "description"])
def test_in_a_skills_name_and_description(attack: Attack, field: str, workspace: Workspace) -> None:
    fields = {"name": "tea", "description": "How to make tea"} | {field: attack.against("MEMORY")}
    lines = "\n".join(f"{key}: {quoted(value)}" for key, value in fields.items())
    folder = workspace.skills / "tea"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\n{lines}\n---\nMake it.\n", encoding="utf-8")
    sent = prompt(workspace)
    assert ORDER.casefold() in look(sent[0].content)
    assert orders(sent) == []


def quoted(value: str) -> str:
    """A YAML string in double quotes, every character escaped."""
    escaped = "".join(
        char
        if char.isascii() and char.isprintable() and char not in '"\\'
        else rf"\U{ord(char):08x}"
        for char in value
    )
    return f'"{escaped}"'


@every_attack
def test_in_a_skills_folder(attack: Attack, workspace: Workspace) -> None:
    folder = workspace.skills / folder_name(attack)
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\ndescription: Tea\n---\nMake it.\n")
    found = skills.load(workspace)
    sent = prompt(workspace)
    assert ORDER.casefold() in look(sent[0].content) or len(found.notices) == 1
    assert orders(sent) == []


@every_attack
def test_in_the_name_of_the_workspace(attack: Attack, tmp_path: Path) -> None:
    root = tmp_path / folder_name(attack)
    root.mkdir()
    sent = prompt(Workspace(root))
    assert ORDER.casefold() in look(sent[1].content)
    assert orders(sent) == []


@every_attack
def test_in_a_memory_files_name_and_heading(attack: Attack, workspace: Workspace) -> None:
    source = f"memory/{attack.against('MEMORY')}.md"
    passage = Passage("p", f"# {attack.against('MEMORY')}", "", source, 1, 1, 0, 1)
    sent = [Message("system", f"# Your Memory\n\n{memory_text(Recall('q', (passage,)))}")]
    assert ORDER.casefold() in look(sent[0].content)
    assert orders(sent) == []


@every_attack
def test_in_memory_that_stands_whole(attack: Attack, workspace: Workspace) -> None:
    text = attack.against("MEMORY")
    (workspace.root / "MEMORY.md").write_text(f"# {text}\n\n- {text}\n", encoding="utf-8")
    shown = prompt_memory(workspace, 100_000, str, lambda _: False, lambda _: ()).text
    assert orders([Message("system", f"# Your Memory\n\n{shown}")]) == []
