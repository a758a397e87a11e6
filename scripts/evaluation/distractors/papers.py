"""Long documents, from a seed, that answer none of the questions: what to find others among.

What they are made of lies in tests/recall/bulk/papers.txt: kinds of documents, each with a title,
sections, and the sentences that a section is drawn from.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scripts.evaluation.distractors.notes import SEED, Filler, read
from scripts.evaluation.suites import SUITES

LEAST, MOST = 6, 14
"""Sentences of a section: some sixty in a document."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what may stand under it."""

    heading: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of document: the folder of its files, and what they hold."""

    folder: str
    title: str
    sections: tuple[Section, ...]


def papers(count: int) -> dict[str, str]:
    """So many documents, of each kind by turns, by their paths."""
    words, _ = read("notes")
    filler = Filler(random.Random(SEED), words)
    kinds = list(_kinds())
    found = {}
    for number in range(count):
        kind = kinds[number % len(kinds)]
        title = filler.fill(kind.title)
        name = re.sub(r"\W+", "-", title.lower()).strip("-")
        found[f"memory/{kind.folder}/{number:03}-{name}.md"] = _paper(title, kind.sections, filler)
    return found


def _paper(title: str, sections: Sequence[Section], filler: Filler) -> str:
    parts = [f"# {title}"]
    for section in sections:
        parts.append(f"## {filler.fill(section.heading)}")
        some = [
            filler.fill(filler.draw.choice(section.sentences))
            for _ in range(filler.draw.randint(LEAST, MOST))
        ]
        in_list = filler.draw.random() < 0.5
        parts.append("\n".join(f"- {each}" for each in some) if in_list else "\n\n".join(some))
    return "\n\n".join(parts) + "\n"


def _kinds() -> Iterator[Kind]:
    text = (SUITES / "bulk" / "papers.txt").read_text(encoding="utf-8")
    for block in text.split("\n\n"):
        first, *rest = block.strip().split("\n## ")
        folder, title = first.removeprefix("# ").split(": ", 1)
        sections = (each.split("\n") for each in rest)
        yield Kind(folder, title, tuple(Section(s[0], tuple(s[1:])) for s in sections))
