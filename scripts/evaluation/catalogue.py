"""Which suites there are: the memory each is asked of, and by what it is measured."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from scripts.evaluation import probes, suites
from scripts.evaluation.distractors import notes, papers
from scripts.evaluation.probes import Probe

UNRELATED_TALK = (
    "write me a haiku about rain",
    "Grey thread from the eaves, / the gutter learns an old song, / boots wait by the door.",
)
"""What was said before a new topic."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A row group of the report: the questions of a suite, asked of the workspaces of some.

    So many chunks of distractors are added to the memory, of the kind of notes that `bulk` names,
    and so many long documents.
    """

    name: str
    suite: str
    workspaces: tuple[str, ...]
    probes: tuple[Probe, ...]
    distractors: int = 0
    bulk: str = "notes"
    documents: int = 0

    def files(self) -> Mapping[str, str]:
        """The memory's files."""
        return {
            **suites.workspace(*self.workspaces),
            **notes.files(self.distractors, self.bulk),
            **papers.papers(self.documents),
        }


FACTS = ("facts",)
SIZES = (0, 1_000, 10_000)
"""Facts that a person's own stand among."""


def _among(suite: str, own: int, *asked: Probe) -> Iterator[Plan]:
    """A person's facts alone, and among so many others."""
    for size in SIZES:
        name = f"{suite}, {size:,}" if size else suite
        yield Plan(name, suite, (suite,), asked, distractors=max(0, size - own))


LANGUAGES = (
    "german",
    "spanish",
    "french",
    "russian",
    "chinese",
    "japanese",
    "korean",
    "arabic",
    "hindi",
)

FOREIGN = 500
"""Notes in a language beside the 73 that are asked for."""


def _language(name: str) -> tuple[Plan, Plan]:
    """Notes in a language among English ones, asked in that language and in English; and messages
    in it that they have nothing on."""
    suite = f"languages/{name}"
    asked = Plan(name, suite, ("facts", suite), (probes.turn(), probes.ranked()), FOREIGN, name)
    disturbing = replace(
        asked, name=f"unrelated, {name}", suite=f"unrelated/{name}", probes=(probes.disturbed(),)
    )
    return asked, disturbing


PLANS = (
    Plan("facts", "facts", FACTS, (probes.turn(), probes.ranked())),
    Plan("typos", "typos", FACTS, (probes.ranked(),)),
    Plan("new topic", "facts", FACTS, (probes.turn(UNRELATED_TALK),)),
    Plan("unrelated", "unrelated", FACTS, (probes.disturbed(),)),
    Plan("unrelated, english", "unrelated/english", FACTS, (probes.disturbed(),)),
    Plan("follow-ups", "followups", FACTS, (probes.turn(),)),
    Plan("procedures", "procedures", ("facts", "procedures"), (probes.whole(),)),
    Plan("strings", "strings", ("strings",), (probes.ranked(),)),
    Plan("strings, many", "strings", ("strings",), (probes.ranked(),), distractors=19_000),
    Plan("typos, many", "typos", FACTS, (probes.ranked(),), distractors=22_000),
    Plan("unrelated, many", "unrelated", FACTS, (probes.disturbed(),), distractors=22_000),
    *_among("preferences", 120, probes.turn(), probes.within(450, 1000)),
    *_among(
        "life", 155, probes.turn(), probes.within(450, 1000), probes.ranked(), probes.current()
    ),
    Plan("latest", "latest", ("latest",), (probes.ranked(),)),
    Plan("wordings", "wordings", ("facts", "wordings"), (probes.complete(), probes.ranked())),
    *chain.from_iterable(map(_language, LANGUAGES)),
    Plan(
        "documents",
        "documents",
        ("documents",),
        (probes.within(500, 1000), probes.ranked()),
        documents=205,
    ),
)
