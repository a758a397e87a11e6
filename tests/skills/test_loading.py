"""The index of skills: what is listed, and what is said about the rest."""

from pathlib import Path

import pytest

from assistant.skills import loading as skills
from assistant.skills.loading import HOW, Skill, Skills
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
    assert found.disabled == ("off",)
    assert found.index == (
        f"{HOW}\n"
        "- bread: Bake bread (skills/bread/SKILL.md)\n"
        "- weekly-review: Look back on it (skills/review/SKILL.md)"
    )


def test_a_workspace_without_skills(workspace: Workspace) -> None:
    assert skills.load(workspace) == Skills()


def test_values_stay_what_was_written(workspace: Workspace) -> None:
    write(workspace, "a", "---\nname: no\ndescription: 2023-99-99\n---\n")
    assert skills.load(workspace).skills == (
        Skill("no", "2023-99-99", "skills/a/SKILL.md", workspace.skills / "a" / "SKILL.md"),
    )


def test_what_slips_in_a_front_matter_is_named_with_its_line(workspace: Workspace) -> None:
    listed = "---\ndescription: x\ntriggers:\n  - boats\n  - a\n  - you\n---\n"
    write(workspace, "a", listed)
    write(workspace, "b", "---\ndescription: x\ntriger: sail\n---\n")
    write(workspace, "c", "---\ndescription: x\ntriggers: {sail: boat}\n---\n")
    inline = "---\ndescription: x\ntriggers: [boats,\n  you]\nmetadata:\n  - a\n  - b\n---\n"
    write(workspace, "d", inline)
    found = skills.load(workspace)
    assert [(each.path[7], each.line, each.fatal) for each in found.faults] == [
        ("a", 5, False),
        ("a", 6, False),
        ("b", 3, False),
        ("c", 3, False),
        ("d", 4, False),
    ]
    assert "field 'triger' is unknown. Did you mean trigger" in found.notices[2]
    assert [trigger.text for trigger in found.skills[0].triggers] == ["boats"]


def test_two_of_a_name(workspace: Workspace) -> None:
    write(workspace, "a", "---\nname: same\ndescription: first\n---\n")
    write(workspace, "b", "---\nname: same\ndescription: second\n---\n")
    found = skills.load(workspace)
    assert [each.description for each in found.skills] == ["first"]
    assert found.notices == (
        "skills/b/SKILL.md:1 is not used: skills/a/SKILL.md has the same name. "
        "Give one of them another `name:`",
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            '---\nname: x\ndescription: "a" b\n---\n',
            ":3 is not used: its front matter is not valid YAML",
        ),
        ("# no front matter\n", "does not begin with front matter"),
        ("---\ndescription: never closed\n", "does not begin with front matter"),
        ("", "does not begin with front matter"),
        ("---\nname: [a\n---\n", "not valid YAML"),
        ("---\ndescription: !!python/object/apply:os.getcwd []\n---\n", "no description"),
        ("---\n- a list\n---\n", "no fields"),
        ("---\nname: x\n---\n", "no description"),
        ("---\ndescription: [a, list]\n---\n", "no description"),
        ("---\ndescription: " + "[" * 5_000 + "\n---\n", "not valid YAML"),
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
    assert "1,024 are shown" in skills.load(workspace).notices[0]


@pytest.mark.parametrize(
    "trigger",
    ["", "  ", ".*", "the", "/.*/", "/\\w/", "/a|e|o/", "/[/", "you", "umbrella", "/(?:)/",
     "und", "die", "ist", "est", "la", "que", "Rechnung", "carta"],
)  # fmt: skip
def test_a_trigger_that_matches_everything_is_named_and_left_out(
    workspace: Workspace, trigger: str
) -> None:
    write(workspace, "a", f"---\ndescription: fine\ntriggers:\n  - '{trigger}'\n---\n")
    found = skills.load(workspace)
    (skill,) = found.skills
    broad = not skill.triggers
    assert broad == (trigger not in ("umbrella", "Rechnung", "carta"))
    assert [each.line for each in found.faults] == [4] * broad


@pytest.mark.parametrize(
    ("trigger", "message", "matches"),
    [
        ("weekly review", "Time for my Weekly  Review!", True),
        ("weekly review", "A biweekly reviewer came", False),
        ("rückblick", "wochen-RUCKBLICK bitte", True),
        ("会議", "昨日の会議の件", True),
        ("/invoice\\s+#?\\d+/", "pay Invoice #42 now", True),
        ("/(a+)+$/", "a" * 5_000 + "b", False),
    ],
)
def test_triggers(workspace: Workspace, trigger: str, message: str, matches: bool) -> None:
    write(workspace, "a", f"---\ndescription: fine\ntriggers: ['{trigger}']\n---\nDo it.\n")
    assert [each.name for each, _ in skills.load(workspace).triggered(message)] == ["a"] * matches


def test_folders_elsewhere_count_only_if_they_are_listed(
    workspace: Workspace, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "tea" / "references").mkdir(parents=True)
    (elsewhere / "tea" / "SKILL.md").write_text("---\ndescription: Tea\n---\nBrew it.\n")
    (elsewhere / "tea" / "references" / "kinds.md").write_text("Assam")
    workspace.skills.mkdir()
    (workspace.skills / "tea").symlink_to(elsewhere / "tea")
    found = skills.load(workspace)
    assert found.skills == () and "leads out of the workspace" in found.notices[0]
    (workspace.skills / "tea").unlink()
    (skill,) = skills.load(workspace, folders=[str(elsewhere)]).skills
    assert skills.body(skill) == "Brew it."
    assert skills.bundled(skill) == [f"{elsewhere}/tea/references/kinds.md"]


def test_a_folder_that_is_not_there_is_named(workspace: Workspace, tmp_path: Path) -> None:
    missing = [str(tmp_path / "none"), "~nobody-of-this-name/skills"]
    found = skills.load(workspace, folders=missing)
    assert found.skills == () and skills.further(missing) == []
    assert [notice.partition(" ")[0] for notice in found.notices] == missing


def test_a_description_with_an_unquoted_colon_is_read_as_it_stands(workspace: Workspace) -> None:
    said = 'Use when: the owner says "bake", or asks: how?'
    write(workspace, "a", f"---\nname: a\ndescription: {said}\nlicense: MIT\n---\nKnead.\n")
    found = skills.load(workspace)
    assert (found.notices, found.skills[0].description) == ((), said)


def test_a_repository_of_skills_is_read_as_it_is_published(
    workspace: Workspace, tmp_path: Path
) -> None:
    for at, name in (
        (workspace.skills / "published/skills/tea", "SKILL.md"),
        (tmp_path / "repo/skills/bread", "skill.md"),
        (tmp_path / "repo/.git", "HEAD"),
    ):
        at.mkdir(parents=True)
        (at / name).write_text(f"---\ndescription: {at.name}\n---\nDo it.\n")
    (tmp_path / "repo/skills/bread/.git").mkdir()
    (tmp_path / "repo/skills/bread/.git/HEAD").touch()
    for number in range(120):
        (tmp_path / f"repo/skills/bread/{number:03}.txt").touch()
    gone = str(tmp_path / "gone")
    found = skills.load(workspace, folders=[str(tmp_path / "repo"), gone])
    assert [each.name for each in found.skills] == ["bread", "tea"]
    assert found.skills[1].path == "skills/published/skills/tea/SKILL.md"
    files = skills.bundled(found.skills[0])
    assert files[0].endswith("bread/000.txt") and files[-1] == "and 20 more" and len(files) == 101
    assert [each.split(" is not")[0] for each in found.notices] == [gone]
