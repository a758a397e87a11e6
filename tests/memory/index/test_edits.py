"""A file that is indexed edit by edit is indexed as it would be at once."""

import random
from pathlib import Path

import pytest

from assistant.memory.index.refresh import Synchronizer
from assistant.secrets.redactor import Redactor
from assistant.settings.sections import IndexSettings
from assistant.workspace.folder import Workspace
from tests.memory.index.reading import state
from tests.support.hashing import HashingEmbedder

LINES = (
    "- The ferry {n} leaves at noon", "- Größe {n}: 雨 🙂", "- said twice", "- a | b {n}",
    "## Day -- 2026-01-{day:02}", "# Part {few}", "### said twice", "", "", "plain words {n}",
    "  - nested {n}", "```", "~~~ text", "<!-- {n}", "-->", "---", "| {n} | c |", "1. first {n}",
    "<<<<<<< ours", "=======", ">>>>>>> theirs", "~~- gone~~ (superseded 2026-01-02: new)",
    "- the door code is 4711", "password: tr0ub4dor&{n}", "> quoted {n}", "Ann: hello", "Bob: hi",
)  # fmt: skip
PLAIN = (
    f"- The boat {{n}} is red{', and blue' * 40}",
    "- Anna {n} has a dog",
    "- It is {few}",
    "## Day -- 2026-02-{day:02}",
    "",
)


def line(draw: random.Random, forms: tuple[str, ...]) -> str:
    return draw.choice(forms).format(
        n=draw.randrange(10**6), few=draw.randrange(3), day=draw.randint(1, 28)
    )


def edited(draw: random.Random, text: str) -> str:
    """A text with a stretch taken out and perhaps another put in, or with other line ends."""
    at = draw.choice([0, len(text), draw.randrange(len(text) + 1)])
    stop = min(len(text), at + draw.choice([0, 0, 1, 40, 400]))
    new = draw.choice(["", "\n", text[at - 50 : at], line(draw, LINES), f"\n{line(draw, LINES)}\n"])
    if draw.random() < 0.05:
        return text.replace("\r\n", "\n") if "\r" in text else text.replace("\n", "\r\n")
    return text[:at] + new + text[stop:]


def opened(root: Path) -> Synchronizer:
    root.mkdir()
    return Synchronizer(
        Workspace(root),
        HashingEmbedder(),
        IndexSettings(),
        redactor=lambda: Redactor({"SAFE": "4711-horse-staple"}),
    )


SLOW = pytest.mark.slow


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=SLOW) for seed in (1, 2, 3))])
def test_edit_by_edit_is_as_at_once(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    forms = (*LINES, *PLAIN * 20) if seed % 2 else PLAIN
    text = "".join(f"{line(draw, forms)}\n" for _ in range(300))
    roots = [tmp_path / name for name in ("kept", "anew")]
    kept, anew = map(opened, roots)
    for _ in range(30):
        for root in roots:
            (root / "MEMORY.md").write_text(text, encoding="utf-8", newline="")
        kept.refresh()
        anew.rebuild()
        kept.store.catalog.database.check()
        assert state(kept.store.catalog) == state(anew.store.catalog)
        text = edited(draw, text)
    kept.close()
    anew.close()


def test_an_edit_writes_the_rows_of_what_it_changed(tmp_path: Path) -> None:
    index = opened(tmp_path / "workspace")
    path = tmp_path / "workspace" / "MEMORY.md"
    facts = [f"- Fact number {n} is about boat {n * 7}.\n" for n in range(2000)]
    path.write_text("# Memory\n\n" + "".join(facts))
    index.refresh()
    seen: list[str] = []
    with index.store.catalog.database.using() as db:
        db.set_trace_callback(seen.append)
    facts.insert(0, "- The spare key hangs in the shed.\n")
    path.write_text("# Memory\n\n" + "".join(facts))
    index.refresh()
    with index.store.catalog.database.using() as db:
        db.set_trace_callback(None)
    index.close()
    assert sum("INSERT INTO chunks" in each for each in seen) == 1
    assert not any("DELETE FROM chunks" in each for each in seen)
