"""`scripts/writes`: the figures of a year of writes, with each defence and without."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from assistant.memory.embedding import compile
from assistant.settings import EmbeddingSettings
from assistant.workspace.folder import Workspace
from tests.writes.world import year
from tests.writes.year import SWITCHES, Switch, live

HEAD = "| composition | said | facts | duplicates | stale answers | loops | true facts refused |"

CHANGES: dict[Switch, str] = {
    "lookup": "the extraction is not shown the nearest existing facts",
    "same": "a fact is appended without a look whether it is there",
    "supersede": "nothing is struck out",
    "echo": "the extraction does not know what recall had shown",
    "likeness": "what is much like a fact (cosine above 0.9) is taken for the same",
}


def _print(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Print one row of the table for each composition."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the year's sentences")
    parser.add_argument("--without", choices=[*SWITCHES, "each"], help="leave a defence out")
    chosen = parser.parse_args()
    embedder = compile.load(EmbeddingSettings())
    rows = {None: "as it is"} if not chosen.without else {}
    if chosen.without == "each":
        rows |= {None: "as it is"} | {each: CHANGES[each] for each in SWITCHES}
    elif chosen.without:
        rows |= {chosen.without: CHANGES[chosen.without]}
    _print(f"{HEAD}\n|{'---|' * 7}")
    for off, name in rows.items():
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
            started = time.monotonic()
            place = Workspace(Path(directory).resolve())
            found = live(year(chosen.seed, chosen.share), place, embedder, off)
        duplicate, stale, loop, refused = found.rates
        _print(
            f"| {name} | {found.said} | {found.facts} | {found.duplicates} ({duplicate:.1%}) "
            f"| {found.stale} of {found.asked} ({stale:.1%}) "
            f"| {found.loops} of {found.echoes} ({loop:.1%}) "
            f"| {found.refused} of {found.true} ({refused:.1%}) |",
            f"{found.unanswered} unanswered, {found.waiting} wait,",
            f"{time.monotonic() - started:.0f} s",
        )


main()
