"""Which suites there are: the memory each is asked of, and by what it is measured."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scripts.evaluation import notes, probes, suites
from scripts.evaluation.probes import Probe

UNRELATED_TALK = (
    "write me a haiku about rain",
    "Grey thread from the eaves, / the gutter learns an old song, / boots wait by the door.",
)
"""What was said before a new topic."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A row group of the report: the questions of a suite, asked of the workspaces of some, among
    so many generated notes."""

    name: str
    suite: str
    workspaces: tuple[str, ...]
    probes: tuple[Probe, ...]
    distractors: int = 0

    def files(self) -> Mapping[str, str]:
        """The memory's files."""
        return {**suites.workspace(*self.workspaces), **notes.files(self.distractors)}


FACTS = ("facts",)
FILLER = "filler"
"""A thousand facts about other people."""


def _among(suite: str, *asked: Probe, notes: int = 0) -> Iterator[Plan]:
    """A person's facts alone, among a thousand others, and among so many generated notes too."""
    yield Plan(suite, suite, (suite,), asked)
    yield Plan(f"{suite}, 1,000", suite, (suite, FILLER), asked)
    if notes:
        yield Plan(f"{suite}, {notes + 1_000:,}", suite, (suite, FILLER), asked, notes)


def _documents(project: str) -> Plan:
    """The documentation of one project; the figures of all are told together."""
    suite = f"documents/{project}"
    return Plan("documents", suite, (suite,), (probes.within(500, 1000), probes.ranked()))


PLANS = (
    Plan("facts", "facts", FACTS, (probes.turn(), probes.ranked())),
    Plan("typos", "typos", FACTS, (probes.ranked(),)),
    Plan("new topic", "facts", FACTS, (probes.turn(UNRELATED_TALK),)),
    Plan("follow-ups", "followups", FACTS, (probes.turn(),)),
    Plan("procedures", "procedures", ("facts", "procedures"), (probes.whole(),)),
    Plan("wordings", "wordings", ("facts", "wordings"), (probes.complete(), probes.ranked())),
    Plan("strings", "strings", ("strings",), (probes.ranked(),)),
    Plan("strings, 10,000", "strings", ("strings",), (probes.ranked(),), 10_000),
    *_among("life", probes.turn(), probes.within(450, 1000), probes.ranked(), notes=9_000),
    *_among("preferences", probes.turn(), probes.within(450, 1000), notes=9_000),
    *_among("names", probes.turn(), probes.ranked()),
    *_among("stale", probes.turn(), probes.current()),
    Plan("small talk", "smalltalk", ("life", FILLER), (probes.disturbed(),)),
    Plan("languages", "languages", ("languages", FILLER), (probes.turn(), probes.ranked())),
    *map(_documents, ("alertmanager", "click", "httpx", "mkdocs", "restic", "ripgrep")),
)
