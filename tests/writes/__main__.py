"""`scripts/writes`: the figures of a year of writes, with each defence and without."""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from assistant.memory.embedding import compile
from assistant.settings.sections import EmbeddingSettings
from assistant.workspace.folder import Workspace
from tests.writes.chats import Chats, live_in_chats
from tests.writes.talks import hold, talks
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


def _print_chats(found: Chats) -> None:
    """What the chats of a year left behind."""
    duplicate, _, loop, refused = found.year.rates
    _print(
        f"{found.chats} chats, {found.said} facts said: {found.recallable:.1%} are recalled in the "
        f"next chat, {duplicate:.1%} doubled, {loop:.1%} looped, {refused:.1%} refused;",
        f"{found.requests / found.chats:.2f} requests a chat to read it",
    )


def _print_talks() -> None:
    """What became of what was said in chats in four languages."""
    with _workspace() as place:
        found = hold(talks(), place, compile.load(EmbeddingSettings()))
    right = found.facts - len(found.lost) - len(found.waiting)
    _print(
        f"{len(talks())} chats: {right} of {found.facts} facts kept, {len(found.waiting)} wait, "
        f"{len(found.misdated)} under a wrong day, {len(found.beside)} beside what they replace, "
        f"{len(found.planted)} planted, {len(found.overwritten)} of the owner's overwritten"
    )


@contextmanager
def _workspace() -> Iterator[Workspace]:
    """An empty memory that goes again."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
        yield Workspace(Path(directory).resolve())


def main() -> None:
    """Print one row of the table for each composition."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the year's sentences")
    parser.add_argument("--without", choices=[*SWITCHES, "each"], help="leave a defence out")
    parser.add_argument("--chats", action="store_true", help="as chats of one to four turns")
    parser.add_argument("--talks", action="store_true", help="sixty chats in four languages")
    chosen = parser.parse_args()
    if chosen.talks:
        _print_talks()
        return
    embedder = compile.load(EmbeddingSettings())
    world = partial(year, chosen.seed, chosen.share)
    if chosen.chats:
        with _workspace() as place:
            _print_chats(live_in_chats(world(), place, embedder))
        return
    rows = {None: "as it is"} if not chosen.without else {}
    if chosen.without == "each":
        rows |= {None: "as it is"} | {each: CHANGES[each] for each in SWITCHES}
    elif chosen.without:
        rows |= {chosen.without: CHANGES[chosen.without]}
    _print(f"{HEAD}\n|{'---|' * 7}")
    for off, name in rows.items():
        with _workspace() as place:
            started = time.monotonic()
            found = live(world(), place, embedder, off)
        duplicate, stale, loop, refused = found.rates
        _print(
            f"| {name} | {found.said} | {found.facts} | {found.duplicates} ({duplicate:.1%}) "
            f"| {found.stale} of {found.asked} ({stale:.1%}) "
            f"| {found.loops} of {found.echoes} ({loop:.1%}) "
            f"| {found.refused} of {found.true} ({refused:.1%}) |",
            f"{found.unanswered} unanswered, {found.waiting} wait, MEMORY.md {found.size:,} bytes,",
            f"{time.monotonic() - started:.0f} s",
        )


main()
