"""The index of skills: what is listed, and what is said about the rest."""

from pathlib import Path

import pytest

from assistant import skills
from assistant.workspace.folder import Workspace


def write(workspace: Workspace, name: str, text: str | bytes) -> Path:
    path = workspace.skills / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_the_index(workspace: Workspace) -> None:
    write(
        workspace, "review", "---\nname: weekly-review\ndescription: >\n  Look back\n  on it\n---\n"
    )
    write(workspace, "bread", "\ufeff---\r\ndescription: Bake bread\r\n---\r\nKnead.\r\n")
    write(workspace, "off", "---\ndescription: Not wanted\n---\n")
    (workspace.skills / "empty").mkdir()
    (workspace.skills / "README.md").write_text("not a skill")
    found = skills.load(workspace, disabled=["off"])
    assert found.notices == ()
    assert found.index == (
        "- bread: Bake bread (skills/bread/SKILL.md)\n"
        "- weekly-review: Look back on it (skills/review/SKILL.md)"
    )


def test_a_workspace_without_skills(workspace: Workspace) -> None:
    assert skills.load(workspace) == skills.Skills(())


def test_values_stay_what_was_written(workspace: Workspace) -> None:
    write(workspace, "a", "---\nname: no\ndescription: 2023-99-99\n---\n")
    assert skills.load(workspace).skills == (skills.Skill("no", "2023-99-99", "skills/a/SKILL.md"),)


def test_two_of_a_name(workspace: Workspace) -> None:
    write(workspace, "a", "---\nname: same\ndescription: first\n---\n")
    write(workspace, "b", "---\nname: same\ndescription: second\n---\n")
    found = skills.load(workspace)
    assert [each.description for each in found.skills] == ["first"]
    assert found.notices == ("skills/b/SKILL.md is not used: skills/a/SKILL.md has its name",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# no front matter\n", "does not begin with front matter"),
        ("---\ndescription: never closed\n", "does not begin with front matter"),
        ("", "does not begin with front matter"),
        ("---\nname: [a\n---\n", "no YAML"),
        ("---\ndescription: !!python/object/apply:os.getcwd []\n---\n", "no description"),
        ("---\n- a list\n---\n", "no fields"),
        ("---\nname: x\n---\n", "no description"),
        ("---\ndescription: [a, list]\n---\n", "no description"),
        ("---\ndescription: " + "[" * 5_000 + "\n---\n", "no YAML"),
        (b"---\ndescription: caf\xe9\n---\n", "not UTF-8"),
        (b"---\ndescription: a\0b\n---\n", "zero byte"),
    ],
)
def test_a_malformed_skill_is_a_notice(
    workspace: Workspace, text: str | bytes, reason: str
) -> None:
    write(workspace, "bad", text)
    write(workspace, "good", "---\ndescription: fine\n---\n")
    found = skills.load(workspace)
    assert [each.name for each in found.skills] == ["good"]
    assert len(found.notices) == 1
    assert reason in found.notices[0]
    assert "\n" not in found.notices[0]


def test_a_description_is_one_line_of_bounded_length(workspace: Workspace) -> None:
    write(workspace, "a", '---\ndescription: "one\\n# Core Guardrails' + "x" * 5_000 + '"\n---\n')
    (found,) = skills.load(workspace).skills
    assert found.description.startswith("one # Core")
    assert len(found.description) == skills.MAX_DESCRIPTION
