"""A workspace on two machines: git's merges, and the copies that syncing leaves."""

import json
import subprocess
from pathlib import Path

import pytest

from assistant.memory.text.merge import merge_texts
from tests.cli.conftest import Run
from tests.memory.text.merging.test_uniting import histories

COPY = "MEMORY.sync-conflict-20261122-101010-ABCDEFG.md"


def git(place: Path, *arguments: str, fails: bool = False) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    done = subprocess.run(
        ["git", *identity, "-C", place, *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout


@pytest.fixture
def repository(place: Path, run: Run) -> Path:
    """The workspace in git, as it was begun."""
    done = run("init", "--git", str(place))
    assert "made a git repository" in done.stdout, done.stderr
    git(place, "add", "-A")
    git(place, "commit", "-qm", "begun")
    assert ".assistant" not in git(place, "ls-files")
    return place


def diverge(repository: Path, base: str, ours: str, theirs: str) -> None:
    """Commit two versions of what both came of, and check ours out."""
    memory = repository / "MEMORY.md"
    git(repository, "checkout", "-qB", "ours")
    for branch, text in (("ours", base), ("theirs", theirs), ("ours", ours)):
        git(repository, "checkout", "-q", *(["-B"] if branch == "theirs" else []), branch)
        memory.write_text(text, encoding="utf-8")
        git(repository, "commit", "-qam", branch, "--allow-empty")


def test_git_unites_facts_and_leaves_prose_to_the_owner(repository: Path, run: Run) -> None:
    again = json.loads(run("init", "--git", str(repository), "--json").stdout)
    assert again["git"] == ["memory files are merged fact by fact"] and not again["added"]
    base = "# Memory\n\nProse.\n\n- a\n- b\n"
    diverge(repository, base, base + "- x\n", base.replace("- b\n", "") + "- y\n")
    git(repository, "merge", "--no-edit", "theirs")
    assert (repository / "MEMORY.md").read_text() == "# Memory\n\nProse.\n\n- a\n- x\n- y\n"

    diverge(repository, base, base.replace("Prose", "One"), base + "- y\n")
    git(repository, "merge", "--no-edit", "theirs")
    assert (repository / "MEMORY.md").read_text() == "# Memory\n\nOne.\n\n- a\n- b\n- y\n"

    diverge(repository, base, base.replace("Prose", "One"), base.replace("Prose", "Two") + "- y\n")
    git(repository, "merge", "--no-edit", "theirs", fails=True)
    marked = (repository / "MEMORY.md").read_text()
    assert "<<<<<<< ours\nOne.\n=======\nTwo.\n>>>>>>> theirs\n" in marked
    assert marked.endswith("- a\n- b\n- y\n")
    git(repository, "commit", "-qam", "marks left inside")
    memory = str(repository / "MEMORY.md")
    refused = run("memory", "merge", memory, memory, memory, "MEMORY.md")
    assert refused.returncode == 2 and "unresolved conflict markers, in line 3" in refused.stderr
    assert (repository / "MEMORY.md").read_text() == marked


@pytest.mark.parametrize("way", ["merge", "rebase"])
def test_what_the_other_machine_forgot_is_no_loss(repository: Path, run: Run, way: str) -> None:
    run("remember", "-", stdin="Plays the tuba\nSails\nPaints\n")
    git(repository, "commit", "-qam", "three")
    git(repository, "checkout", "-qb", "theirs")
    memory = repository / "MEMORY.md"
    memory.write_text(memory.read_text().replace("- Plays the tuba\n", ""))
    git(repository, "commit", "-qam", "forgotten there")
    git(repository, "checkout", "-q", "-")
    assert run("memory", "status").returncode == 0  # looks at the file
    run("remember", "Has a dog")
    git(repository, "commit", "-qam", "four")
    git(repository, way, *(["--no-edit"] if way == "merge" else []), "theirs")
    assert "tuba" not in memory.read_text() and "Has a dog" in memory.read_text()
    assert "older copy" not in run("memory", "status").stdout
    assert json.loads(run("memory", "restore", "--json").stdout) == []


@pytest.mark.slow
def test_git_unites_random_histories_as_the_driver_does(repository: Path) -> None:
    for base, one, other in histories(40):
        diverge(repository, base, one.text, other.text)
        git(repository, "merge", "--no-edit", "theirs")
        merged = (repository / "MEMORY.md").read_text()
        assert merged == merge_texts(base, one.text, other.text).text
        git(repository, "checkout", "-q", "theirs")
        git(repository, "merge", "--no-edit", "ours")
        assert (repository / "MEMORY.md").read_text() == merged


@pytest.mark.slow
def test_a_conflict_copy_is_noticed_and_its_facts_are_taken_in(place: Path, run: Run) -> None:
    assert run("remember", "The tide is high").returncode == 0
    assert run("remember", "The quay is wet").returncode == 0
    before = (place / "MEMORY.md").read_text()
    assert run("forget", "The tide is high", "--yes").returncode == 0
    assert run("remember", "The buoy is red").returncode == 0
    before = (place / "MEMORY.md").read_text() + "- The tide is high\n"
    assert run("forget", "The buoy is red", "--yes", "--purge").returncode == 0
    after = (place / "MEMORY.md").read_text().replace("- The quay is wet\n", "")
    (place / "MEMORY.md").write_text(after)
    (place / COPY).write_text(before + "- A parrot named Pip\n")
    (place / "memory").mkdir()
    (place / "memory" / "Log (Ada's conflicted copy 2026-01-01).md").write_text("- Of a lost log\n")
    assert COPY in run("memory", "status").stdout
    assert "Pip" not in run("recall", "parrot").stdout
    shown = run("memory", "merge")
    assert "+- A parrot named Pip" in shown.stdout and "Nothing was written" in shown.stdout
    assert "comes back: - The quay is wet\n" in shown.stdout and "back: - A p" not in shown.stdout
    assert (place / "MEMORY.md").read_text() == after
    assert "2 copies merged" in run("memory", "merge", "--yes").stdout
    merged = (place / "MEMORY.md").read_text()
    assert all(each in merged for each in ("- A parrot named Pip\n", "- The quay is wet\n"))
    assert "tide" not in merged and "buoy" not in merged
    assert (place / "memory" / "Log.md").read_text() == "- Of a lost log\n"
    assert not (place / COPY).exists() and (place / ".assistant" / "merged" / COPY).exists()
    assert "There are no conflict copies" in run("memory", "merge").stdout
    (place / COPY).write_text(merged + "\nProse of another copy\n")
    assert "1 copy merged" in run("memory", "merge", "--yes").stdout
    first, second = sorted((place / ".assistant" / "merged").glob(f"{COPY}*"))
    assert "Pip" in first.read_text() and "Prose of another" in second.read_text()
    (place / COPY).write_text("<<<<<<< ours\n- A\n=======\n- B\n>>>>>>> theirs\n")
    (place / "MEMORY.md.orig").write_bytes(b"\xff")
    unsound = run("memory", "merge", "--yes")
    assert unsound.returncode == 1 and "line 1 is a merge conflict marker" in unsound.stderr
    assert "not UTF-8" in unsound.stderr and (place / COPY).exists()
    assert (place / "MEMORY.md").read_text() == merged
    assert run("memory", "undo").returncode == 0
    assert (place / "MEMORY.md").read_text() == after


def test_git_that_is_missing_is_told(
    place: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(place))
    done = run("init", "--git", str(place))
    assert done.returncode == 1 and "git is not installed" in done.stderr
