"""A purge names what it could not take away, with the command that does."""

import gzip
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.memory.base import Fact
from assistant.memory.writing.purge import Purge
from assistant.memory.writing.review import Review
from assistant.session import transcript
from assistant.session.entries import UserEntry
from assistant.workspace.folder import Workspace
from tests.memory.writing.addressed import AddressedLedger
from tests.memory.writing.saves import TODAY, memory

SAFE = "The safe opens with zanzibar-17"


def purged(
    workspace: Workspace, notes: Path, fact: str = SAFE, *, sessions: bool = True
) -> tuple[str, ...]:
    ledger = AddressedLedger(workspace, lambda: TODAY)
    purge = Purge(ledger, Review(ledger), lambda: None, notes=(notes,))
    line = memory(workspace).split("\n").index(f"- {fact}") + 1
    return purge.forget([ledger.locate(f"MEMORY.md:{line}")], sessions=sessions).left


def past(ledger: AddressedLedger, words: str) -> tuple[str, ...]:
    """What is left after words that no file contains are purged from past conversations."""
    return Purge(ledger, Review(ledger), lambda: None).forget((), past=[words], sessions=True).left


def talk(workspace: Workspace, *messages: str) -> Path:
    record = transcript.create(workspace.sessions)
    for message in messages:
        record.append(UserEntry(message))
    record.close()
    return workspace.sessions / f"{record.session}.jsonl"


def git(root: Path, *arguments: str) -> None:
    named = ("-c", "user.name=o", "-c", "user.email=o@example.org")
    subprocess.run(["git", "-C", str(root), *named, *arguments], check=True, capture_output=True)


def test_backups_notes_and_commits_are_named_with_what_removes_them(
    workspace: Workspace, tmp_path: Path
) -> None:
    notes = tmp_path / "my notes"
    notes.mkdir()
    (notes / "house.md").write_text(f"# House\n\n{SAFE}, says Eve.\n")
    AddressedLedger(workspace, lambda: TODAY).remember([Fact("Older"), Fact(SAFE)])
    root = workspace.root
    (root / "MEMORY.md~").write_text(memory(workspace))
    (root / ".MEMORY.md.swp").write_bytes(b"b0VIM\0\0" + memory(workspace).encode() + b"\0\xff")
    (root / "USER.md").write_text("I am Ada.\nWith zanzibar 17 my safe opens!\n")
    git(root, "init", "-q")
    git(root, "add", "-f", "MEMORY.md", "USER.md")
    git(root, "commit", "-q", "-m", "one")
    left = purged(workspace, notes)
    named = [line.split(": ")[0] for line in left]
    assert named == [
        str(root / ".MEMORY.md.swp"), str(root / "MEMORY.md~"), f"{root / 'USER.md'}:2",
        f"{notes / 'house.md'}:3", "git's history",
    ]  # fmt: skip
    assert "filter-repo" in left[-1]
    for line in left[:-1]:
        subprocess.run(shlex.split(line.split(": ", 1)[1]), check=True)
    again = [path for path in (*root.glob("*"), *notes.glob("*")) if path.is_file()]
    assert not [path for path in again if b"zanzibar" in path.read_bytes()]
    assert (root / "USER.md").read_text() == "I am Ada.\n"


def test_a_recorded_prompt_is_named_and_cleared_with_the_conversations(
    workspace: Workspace, tmp_path: Path
) -> None:
    AddressedLedger(workspace, lambda: TODAY).remember([Fact(SAFE)])
    prompt = talk(workspace, "Good morning").with_suffix(".prompts")
    prompt.write_text(json.dumps({"text": f"[MEMORY]\n- {SAFE}\n\nGood morning"}) + "\n")
    (left,) = purged(workspace, tmp_path / "none", sessions=False)
    assert left == "past conversations: assistant forget --purge --sessions WORDS"
    assert past(AddressedLedger(workspace, lambda: TODAY), SAFE) == ()
    assert "zanzibar" not in prompt.read_text() and "Good morning" in prompt.read_text()


def test_messages_that_hint_at_the_fact_are_named_with_what_clears_them(
    workspace: Workspace, tmp_path: Path
) -> None:
    fact = "Meine Nachbarin Frau Zwetschke bewahrt den Schuppenschlüssel auf"
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("Der Schlüssel der Nachbarin hängt dort"), Fact(fact)])
    said = talk(
        workspace, "ZWETSCHKE: SCHUPPENSCHLÜSSEL", "Die Nachbarin grüßt",
        "Wer hat den Schuppenschlüssel?\n\nFrau Zwetschke, oder?",
        "Zwetschkes bewahren ja meinen Schuppenschlüssel auf.",
    )  # fmt: skip
    (left,) = purged(workspace, tmp_path / "none", fact)
    place, command = left.rsplit(": ", 1)
    assert place == "past conversations, in other words"
    *options, one, other = shlex.split(command)
    assert options == ["assistant", "forget", "--purge", "--sessions", "--yes"]
    assert past(ledger, f"{one} {other}") == ()
    kept = said.read_text().casefold()
    assert "zwetschke" not in kept and "die nachbarin gr" in kept


def test_what_it_replaced_lines_that_tell_it_and_reminders_are_named_from_the_last(
    workspace: Workspace, tmp_path: Path
) -> None:
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("Nadia rents a flat in Oslo"), Fact("Ben sails"), Fact("Ada sings")])
    line = memory(workspace).split("\n").index("- Nadia rents a flat in Oslo") + 1
    fact = "Quist pulls teeth on 3 March, in Trondheim"
    ledger.remember([Fact(fact, replaces=f"MEMORY.md:{line}")])
    more = f"- They say: {fact}\n- Ada sleeps\n- In Trondheim on 3 March Quist pulls teeth\n"
    (workspace.root / "MEMORY.md").write_text(f"{memory(workspace)}{more}")
    (workspace.root / "HEARTBEAT.md").write_text(
        "# Reminders\n\n- 2 March 9:00: off to Quist in Trondheim\n- every day at 8: floss\n"
    )
    left = purged(workspace, tmp_path / "none", fact)
    assert [each.split(": ")[0] for each in left] == [
        f"MEMORY.md:{line + 5}", f"MEMORY.md:{line + 3}", f"MEMORY.md:{line}, which it replaced",
    ]  # fmt: skip
    for each in left:
        passage = ledger.locate(each.rpartition(" ")[2])
        Purge(ledger, Review(ledger), lambda: None).forget([passage])
    kept = [line for line in memory(workspace).split("\n") if line[:1] == "-"]
    assert kept == ["- Ben sails", "- Ada sings", "- Ada sleeps"]
    assert past(ledger, fact) == (
        "HEARTBEAT.md:3, in other words: assistant forget --purge HEARTBEAT.md:3",
    )


@pytest.mark.parametrize(
    ("standing", "fact", "hints", "others"),
    [
        (
            "Tante Hiltrud hat Schulden in Vechta",
            "Tante Hiltrud hat keine Schulden mehr in Vechta",
            ("Hiltrud ist in Vechta keinem mehr was schuldig", "Hat Hiltrud noch mehr Schulden?"),
            ("Wir brauchen mehr Milch und noch viel mehr Brot", "Hat Tante Hiltrud Schulden?",
             "Tante Hiltrud wohnt in Vechta", "Kein Mehrweg in Vechta"),
        ),
        (
            "My landlord Mr Okafor wants the rent in cash",
            "My landlord Mr Okafor no longer wants the rent in cash, only by transfer",
            ("Does the landlord want a transfer?", "Okafor, cash: no longer. The rent by transfer"),
            ("How much longer does the pasta need?", "I can no longer find the transfer receipt",
             "My landlord Okafor wanted the rent in cash", "A transfer at the station"),
        ),
        (
            "Anna lives in Porto",
            "Anna lived in Porto with Bruno until 2019",
            ("Did Bruno and Anna stay in Porto?",),
            ("Anna lives in Porto, doesn't she?", "Until when does it stay open?"),
        ),
    ],
)  # fmt: skip
def test_words_that_other_facts_or_messages_use_do_not_hint_at_it_alone(
    workspace: Workspace,
    tmp_path: Path,
    standing: str,
    fact: str,
    hints: tuple[str, ...],
    others: tuple[str, ...],
) -> None:
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact(standing), Fact(fact)])
    said = talk(workspace, *hints, *others)
    left = purged(workspace, tmp_path / "none", fact)
    assert len(left) == len(hints)
    for line in left:
        words = shlex.split(line.rpartition("--yes ")[2])
        assert past(ledger, " ".join(words)) == ()
    kept = said.read_text()
    assert [text for text in others if json.dumps(text, ensure_ascii=False) not in kept] == []
    assert [text for text in hints if json.dumps(text, ensure_ascii=False) in kept] == []


def test_a_question_about_the_fact_is_named(workspace: Workspace, tmp_path: Path) -> None:
    ledger = AddressedLedger(workspace, lambda: TODAY)
    ledger.remember([Fact("The secret garden lies behind the mill")])
    talk(workspace, "what about the secret garden?", "The garden is large", "Go behind me")
    (left,) = purged(workspace, tmp_path / "none", "The secret garden lies behind the mill")
    assert left.endswith(" garden secret")


def test_a_history_that_is_too_long_to_be_searched_is_named(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = tmp_path / "bin" / "git"
    endless.parent.mkdir()
    endless.write_text(f"#!{sys.executable}\nwhile True: print('x' * 1_000_000)\n")
    endless.chmod(0o755)
    monkeypatch.setenv("PATH", f"{endless.parent}:{os.environ['PATH']}")
    AddressedLedger(workspace, lambda: TODAY).remember([Fact(SAFE)])
    (left,) = purged(workspace, tmp_path / "none")
    assert left.startswith("git's history: too long to search completely")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "La caja se abre con zanzíbar-17, dice Eva", "one"),
        ("b", "nothing", "Say that\n\nla caja se abre con\nzanzíbar 17"),
        ("c.md", "- otra\n- *La caja* se abre con Zanzíbar-17", "one"),
    ],
)
def test_any_text_of_gits_history_and_its_messages_are_searched(
    workspace: Workspace, tmp_path: Path, name: str, text: str, message: str
) -> None:
    root, fact = workspace.root, "La caja se abre con zanzíbar-17"
    (root / name).write_text(text)
    git(root, "init", "-q")
    git(root, "add", "-f", name)
    git(root, "commit", "-q", "-m", message)
    (root / name).write_text("- otra\n- se abre\n")
    git(root, "commit", "-q", "-a", "--amend", "-m", "two")  # the reflog has what it was
    AddressedLedger(workspace, lambda: TODAY).remember([Fact(fact)])
    (left,) = purged(workspace, tmp_path / "none", fact)
    assert left.startswith("git's history: ")
    assert "filter-repo --replace-text FILE --replace-message FILE" in left


def test_compressed_backups_and_notes_in_utf_16_are_named(
    workspace: Workspace, tmp_path: Path
) -> None:
    AddressedLedger(workspace, lambda: TODAY).remember([Fact(SAFE)])
    (workspace.root / "MEMORY.md.gz").write_bytes(gzip.compress(f"- {SAFE}\n".encode()))
    note = tmp_path / "notes" / "old.txt"
    note.parent.mkdir()
    note.write_text(f"Señas\n{SAFE}\n", encoding="utf-16")
    backup, line = purged(workspace, note.parent)
    assert backup == f"{workspace.root / 'MEMORY.md.gz'}: rm {workspace.root / 'MEMORY.md.gz'}"
    assert line == f"{note}:2: vi +2 {note}"


def test_nothing_is_named_where_nothing_is_left(workspace: Workspace, tmp_path: Path) -> None:
    AddressedLedger(workspace, lambda: TODAY).remember([Fact("The safe is heavy"), Fact(SAFE)])
    assert purged(workspace, tmp_path / "none") == ()
