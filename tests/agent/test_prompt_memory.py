"""Memory that stands in every prompt: all of a small one, else its core."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from assistant.agent.memory_text import CORE_TOKENS, PromptMemory, memory_text, prompt_memory
from assistant.memory.base import Passage, Recall
from assistant.workspace.folder import Workspace

MEMORY = """# Memory

## Home -- 2026-05-08 <!-- filed -->

- The door code is 4711. <!-- core --> <!-- for: guests, deliveries -->
- ~~The rent is 900 euros~~ (superseded 2026-06-01: The rent is 950 euros)
- The rent is 950 euros
"""
MOST = 4_000


def write(place: Workspace, name: str, text: str) -> None:
    path: Path = place.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def shown(
    place: Workspace, most: int = MOST, hidden: str = "", facts: Sequence[Passage] = ()
) -> PromptMemory:
    return prompt_memory(place, most, str, lambda source: source == hidden, lambda _: facts)


def fact(source: str, line: int, text: str) -> Passage:
    return Passage(f"{source}:{line}", text, text, source, line, line, 0, len(text))


def test_a_small_memory_stands_whole_without_what_is_superseded_and_marks(
    workspace: Workspace,
) -> None:
    write(workspace, "MEMORY.md", MEMORY)
    write(workspace, "memory/people.md", "# People\n\n- Ada keeps bees\n  and hens\n")
    write(workspace, "AGENTS.md", "- When planning: ask first\n")
    found = shown(workspace)
    assert "MEMORY.md › Memory › Home\n- (:5, 2026-05-08) The door code is 4711.\n" in found.text
    assert "- (:7, 2026-05-08) The rent is 950 euros\n" in found.text
    assert "memory/people.md › People\n- (:3) Ada keeps bees\n" in found.text
    assert not [each for each in ("<!--", "900", "guests", "ask first") if each in found.text]
    assert found.shown == {"MEMORY.md", "memory/people.md"}


def test_of_a_large_memory_the_core_stands_in_the_prompt(workspace: Workspace) -> None:
    write(workspace, "MEMORY.md", MEMORY)
    write(workspace, "memory/many.md", "".join(f"- fact {n} of many\n" for n in range(9_000)))
    found = shown(workspace)
    assert "\nMEMORY.md › Home\n- (:5) The door code is 4711.\n[/MEMORY]" in found.text
    assert "rent" not in found.text and "of many" not in found.text
    assert (found.sources, found.shown) == (("MEMORY.md",), {"MEMORY.md:5"})
    assert shown(workspace, most=0).text == found.text


@pytest.mark.parametrize("most", [MOST, 0])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_a_line_feed_begins_another_line(workspace: Workspace, end: str, most: int) -> None:
    text = f"# Memory{end}{end}- one\u2028\x0c\x85piece{end}- two <!-- core -->{end}  and more{end}"
    (workspace.root / "MEMORY.md").write_bytes(text.encode())
    found = shown(workspace, most)
    assert "MEMORY.md › Memory\n" in found.text and "- (:4) two\n  |   and more\n" in found.text


def test_the_core_has_its_limit_and_what_is_left_out_is_told(workspace: Workspace) -> None:
    facts = "".join(f"- fact {n} that matters always <!-- core -->\n" for n in range(500))
    write(workspace, "MEMORY.md", f"{facts}- ~~gone~~ <!-- core -->\n")
    found = shown(workspace, most=0)
    assert len(found.text) / 4 < CORE_TOKENS + 200
    assert found.cut.startswith("500 facts are marked as core; the first ")


def test_what_shapes_answers_stands_beside_what_is_marked(workspace: Workspace) -> None:
    write(workspace, "MEMORY.md", MEMORY)
    bo = fact("memory/bo.md", 3, "- Bo eats no gluten")
    door = fact("MEMORY.md", 5, "- The door code is 4711. <!-- core -->")
    many = [fact("memory/z.md", line, f"- fact {line} " + "z" * 80) for line in range(1, 200)]
    found = shown(workspace, most=0, facts=[bo, door, *many])
    assert found.text.count("4711") == 1
    assert "memory/bo.md\n- (:3) Bo eats no gluten\n" in found.text
    assert found.shown >= {"memory/bo.md:3", "MEMORY.md:5", "memory/z.md:1"}
    assert "memory/z.md:100" not in found.shown
    assert len(found.text) / 4 < CORE_TOKENS + 200
    assert "Bo" not in shown(workspace, most=0, hidden="memory/bo.md", facts=[bo, door]).text


def test_denied_files_and_secrets_are_left_out(workspace: Workspace) -> None:
    write(workspace, "MEMORY.md", MEMORY)
    write(workspace, "memory/private.md", "- Diagnosis: none of your business <!-- core -->\n")
    for most in (MOST, 0):
        assert "Diagnosis" not in shown(workspace, most, hidden="memory/private.md").text
        redacted = prompt_memory(workspace, most, lambda text: text.replace("4711", "[[secret:X]]"),
                            lambda _: False, lambda _: ())  # fmt: skip
        assert "4711" not in redacted.text


def test_no_memory_is_no_section(workspace: Workspace) -> None:
    write(workspace, "MEMORY.md", "# Memory\n")
    assert shown(workspace) == PromptMemory()


@pytest.mark.parametrize("weak", [False, True])
def test_what_stands_in_the_prompt_is_cited_in_a_turn(weak: bool) -> None:
    there = Passage("p", "- The door code", "The door code", "MEMORY.md", 5, 5, 0, 1)
    note = Passage("q", "- A note", "A note", "vault:a.md", 1, 1, 0, 1)
    said = memory_text(Recall("q", (there, note), weak=weak), {"MEMORY.md"})
    assert "The door code" not in said and "- (vault:a.md:1) A note" in said
    assert ("MEMORY.md:5" in said) is not weak
    assert memory_text(Recall("q", (there, note), weak=weak), {"MEMORY.md:5"}) == said
