"""Daily upkeep: what leaves MEMORY.md, where it goes, and that undo takes it back."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from assistant.memory.base import Fact, Upkept
from assistant.memory.text.chunk import chunks_of, passage
from assistant.memory.writing.ledger import Ledger
from assistant.workspace.folder import Workspace

TODAY = date(2026, 11, 23)
TYPED = """\
# Memory

## People

- ~~Bo lives in Turin~~ (superseded 2024-05-01: Bo lives in Rome)
- The lease was signed before the fair on 2024-05-09
"""
LIVES = "Lena lives in Porto"


@pytest.fixture
def ledger(workspace: Workspace) -> Ledger:
    (workspace.root / "MEMORY.md").write_text(TYPED)
    return Ledger(workspace, today=lambda: TODAY)


def nowhere(fact: str, headings: Sequence[str]) -> str:
    return ""


def write(ledger: Ledger, day: str, *facts: str, under: str | None = None) -> None:
    ledger.remember([Fact(each, "Auto-captured", recorded=day, under=under) for each in facts])


def said(place: Workspace) -> dict[str, str]:
    return {name: (place.root / name).read_text() for name in place.sources()}


def test_what_was_superseded_goes_to_the_archive_and_comes_back_by_undo(
    workspace: Workspace, ledger: Ledger
) -> None:
    write(ledger, "2026-11-20", LIVES, "Has a dog")
    memory = workspace.root / "MEMORY.md"
    (old,) = (each for each in chunks_of(memory.read_text(), "MEMORY.md") if each.plain == LIVES)
    new = Fact("Lena lives in Rome", "Auto-captured", replaces="p", recorded="2026-11-22")
    ledger.remember([new], replaced={"p": [passage(old)]})
    before = said(workspace)
    assert ledger.upkeep(nowhere) == Upkept(archived=1)
    text = memory.read_text()
    assert LIVES not in text and text.startswith(TYPED)
    assert "- Has a dog\n" in text and "- Lena lives in Rome\n" in text
    archive = (workspace.root / "memory/archive/2026.md").read_text()
    (gone,) = chunks_of(archive, "memory/archive/2026.md")
    assert (gone.plain, gone.status, gone.until) == (LIVES, "superseded", "2026-11-22")
    assert gone.date == "2026-11-20"
    assert ledger.upkeep(nowhere) == Upkept() and ledger.erased() == ()
    assert ledger.journals.log(1)[0].origin.kind == "upkeep"
    ledger.undo()
    assert said(workspace) == before
    assert ledger.upkeep(nowhere) == Upkept() and said(workspace) == before
    write(ledger, "2026-11-21", "Le dentiste est le 9 octobre 2026 à 9h30")
    write(ledger, "2026-10-01", "The dentist is on 9 October 2026 at 9:30")
    assert ledger.upkeep(nowhere) == Upkept(archived=1)


@pytest.mark.parametrize(
    ("fact", "passed"),
    [
        ("The dentist is on 9 October 2026 at 9:30", True),
        ("The dentist is on 20 November 2026 at 9:30", False),
        ("The boiler was serviced on 3 September 2026", False),
        ("Lena was born on 3 May 1990", False),
        ("The fair runs from 9 October 2026 to 3 January 2027", False),
        ("Tea with Bo every Friday from 9 October 2026", False),
        ("Ana works at Siemens from 2026-10-01", False),
        ("Moves to Berlin on 3 October 2026", False),
        ("The new number is 555-123 from 2026-10-01", False),
        ("Prefers tea", False),
        ("Le dentiste est le 9 octobre 2026 à 9h30", True),
        ("Zahnarzttermin mit Anna am 9. Oktober 2026 um 14:15 Uhr", True),
        ("From 2 October 2026 at 6:00 the gate code is 7741", False),
        ("The gate opens by card from 2 October 2026 at 6:00", False),
        ("Ab 2. Oktober 2026 um 6 Uhr wohnt Lena in Porto", False),
        ("A partir del 2 de octubre de 2026 a las 6:00 Lena vive en Oporto", False),
        ("The dog Bruno, a poodle, gets his shot on 9 October 2026 at 9:00", False),
        ("The shop moves to Rua Nova 5 on 9 October 2026 at 10:00", False),
        ("Lena moves to Kiel on 9 October 2026 at 9:00", False),
        ("Lena zieht am 9. Oktober 2026 um 9 Uhr nach Kiel", False),
        ("Lena se muda a Kiel el 9 de octubre de 2026 a las 9:00", False),
        ("Lena heiratet am 5. Oktober 2026 um 14 Uhr", False),
        ("Oma starb am 5. Oktober 2026 um 4 Uhr", False),
        ("The meeting moves to 9 October 2026 at 10:00", True),
        ("Der Schornsteinfeger kommt am 9. Oktober 2026 um 7 Uhr", True),
    ],
)
def test_what_lay_ahead_when_it_was_said_is_archived_when_it_has_passed(
    workspace: Workspace, ledger: Ledger, fact: str, passed: bool
) -> None:
    write(ledger, "2026-09-25", fact, under="People")
    ledger.upkeep(nowhere)
    archive = workspace.root / "memory/archive/2026.md"
    assert archive.exists() is passed
    assert (fact in (workspace.root / "MEMORY.md").read_text()) is not passed
    if passed:
        (there,) = chunks_of(archive.read_text(), "memory/archive/2026.md")
        assert (there.plain, there.status, there.date) == (fact, "current", "2026-09-25")


def test_what_stands_twice_becomes_one(workspace: Workspace, ledger: Ledger) -> None:
    write(ledger, "2026-11-20", LIVES)
    memory = workspace.root / "MEMORY.md"
    memory.write_text(memory.read_text() + f"- {LIVES.upper()}\n- {LIVES}.\n")
    assert ledger.upkeep(nowhere) == Upkept()  # nobody knows who typed the others
    memory.write_text(memory.read_text() + f"\n- {LIVES}\n")
    assert ledger.upkeep(nowhere) == Upkept(archived=1)
    assert memory.read_text().count(f"- {LIVES}\n") == 1


def test_what_a_day_left_is_sorted_in_after_a_month(workspace: Workspace, ledger: Ledger) -> None:
    write(ledger, "2025-12-30", LIVES, "Has a dog")
    write(ledger, "2026-11-20", "Has a cat")
    assert ledger.upkeep(lambda fact, there: "People" if "Lena" in fact else "") == Upkept(sorted=2)
    text = (workspace.root / "MEMORY.md").read_text()
    assert f"- {LIVES} <!-- 2025-12-30 -->\n\n## Auto-captured -- 2026-11-20\n" in text
    assert "2025-12-30\n" not in text
    other = (workspace.root / "memory/2025.md").read_text()
    assert other == "## Auto-captured -- 2025-12-30\n\n- Has a dog\n"


def test_what_is_of_a_project_is_sorted_in_below_its_own_heading(
    workspace: Workspace, ledger: Ledger
) -> None:
    heading = "Project: ~/code/shop -- 2025-12-30"
    ledger.remember([Fact(LIVES, heading.partition(" -- ")[0], recorded="2025-12-30")])
    assert ledger.upkeep(lambda fact, there: "People") == Upkept(sorted=1)
    assert (workspace.root / "memory/2025.md").read_text() == f"## {heading}\n\n- {LIVES}\n"


def test_nothing_that_was_typed_is_moved(workspace: Workspace, ledger: Ledger) -> None:
    old = "## Remembered -- 2024-05-08\n\n- Has a dog\n- The fair is on 9 May 2024\n"
    path = workspace.root / "MEMORY.md"
    path.write_text(TYPED + "\n" + old + f"- {LIVES}\n- {LIVES}\n")
    before = path.read_bytes()
    assert ledger.upkeep(nowhere) == Upkept()
    assert path.read_bytes() == before


def test_what_was_moved_is_not_offered_as_erased_and_deletions_are_understood(
    workspace: Workspace, ledger: Ledger
) -> None:
    write(ledger, "2025-12-30", LIVES, "Has a dog")
    write(ledger, "2026-11-20", "Has a cat", "Sings")
    path = workspace.root / "MEMORY.md"
    ledger.upkeep(nowhere)
    _save(ledger, path, path.read_text() + "\n- typed\n")
    _save(ledger, path, path.read_text().replace("- Sings\n", ""))
    assert ledger.erased() == ()


def _save(ledger: Ledger, path: Path, text: str) -> None:
    path.write_text(text)
    from assistant.memory.text.identity import digest

    ledger.observe("MEMORY.md", text, digest(text))


def test_facts_go_below_a_heading_that_holds_no_list(workspace: Workspace, ledger: Ledger) -> None:
    (workspace.root / "MEMORY.md").write_text(
        "# Memory\n\n## Health\n\n## Home\n\nWe moved in May.\n"
    )
    write(ledger, "2026-10-01", "Sleeps badly", "Runs on Sundays")
    assert ledger.upkeep(lambda fact, there: "Health") == Upkept(sorted=2)
    text = (workspace.root / "MEMORY.md").read_text()
    health = text.partition("## Health")[2].partition("## Home")[0]
    assert "- Sleeps badly" in health and "- Runs on Sundays" in health


def test_the_same_under_another_heading_is_another_fact(
    workspace: Workspace, ledger: Ledger
) -> None:
    path = workspace.root / "MEMORY.md"
    path.write_text("# Memory\n\n## Lena\n\n- Plays chess\n\n## Tom\n\n- Plays go\n")
    write(ledger, "2026-11-20", "Allergic to nuts", under="Lena")
    path.write_text(path.read_text() + "- Allergic to nuts\n")
    assert ledger.upkeep(nowhere) == Upkept()
    assert path.read_text().count("- Allergic to nuts") == 2


def test_the_same_fact_of_two_projects_is_two(workspace: Workspace, ledger: Ledger) -> None:
    for section in ("Project: ~/shop", "Project: ~/blog", "Remembered"):
        ledger.remember([Fact("Tests need TZ=UTC", section, recorded="2026-11-20")])
    assert ledger.upkeep(nowhere) == Upkept()
    assert (workspace.root / "MEMORY.md").read_text().count("- Tests need TZ=UTC\n") == 3
