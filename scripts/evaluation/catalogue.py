"""The suites: the memory of each, and its measures."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from assistant.memory.annotations import mattering, without_phrases
from scripts.evaluation import notes, probes, suites
from scripts.evaluation.probes import Probe

UNRELATED_TALK = (
    "write me a haiku about rain",
    "Grey thread from the eaves, / the gutter learns an old song, / boots wait by the door.",
)
"""A conversation before a change of topic."""


Edit = Callable[[str, str], str]
"""Transforms a file before the questions are asked: called with its name and text."""


_FACT = re.compile(r"^- .*$", re.MULTILINE)


def _as_it_is(name: str, text: str) -> str:
    return text


def _unmarked(name: str, text: str) -> str:
    """Return a file without the marks that say when its facts matter."""
    return without_phrases(text)


OTHERS = {
    "animals": ("visits", "holidays", "gifts"),
    "belongings": ("borrowing", "shopping", "gifts"),
    "dwellings": ("visits", "hotels", "moving house"),
    "events": ("invitations", "parties", "gifts"),
    "hobbies": ("gifts", "birthdays", "day trips"),
    "jobs": ("talks", "interviews", "advice"),
    "people": ("invitations", "seating", "birthdays"),
    "trips-of-others": ("travel", "flights", "sightseeing"),
    "well-being-of-others": ("restaurants", "recipes", "sport", "appointments"),
}
"""Marks for the facts about other people, by their file."""


def _all_marked(name: str, text: str) -> str:
    """Return a file of facts about others, with marks that say when they matter."""
    words = OTHERS.get(name.rpartition("/")[2].removesuffix(".md"), ())
    return _FACT.sub(lambda line: mattering(line[0], words), text) if words else text


@dataclass(frozen=True, slots=True)
class Plan:
    """A row group of the report: the questions of a suite, asked of the workspaces of some suites
    among this many generated notes."""

    name: str
    suite: str
    workspaces: tuple[str, ...]
    probes: tuple[Probe, ...]
    distractors: int = 0
    edit: Edit = _as_it_is

    def files(self) -> Mapping[str, str]:
        """Return the memory's files."""
        own = suites.workspace(*self.workspaces)
        edited = {name: self.edit(name, text) for name, text in own.items()}
        return {**edited, **notes.files(self.distractors)}


FACTS = ("facts",)
FILLER = "filler"
"""A thousand facts about other people."""


def _among(suite: str, *asked: Probe, notes: int = 0) -> Iterator[Plan]:
    """Yield a person's facts alone, among a thousand others, and also among this many generated
    notes."""
    yield Plan(suite, suite, (suite,), asked)
    yield Plan(f"{suite}, 1,000", suite, (suite, FILLER), asked)
    if notes:
        yield Plan(f"{suite}, {notes + 1_000:,}", suite, (suite, FILLER), asked, notes)


def _marks() -> Iterator[Plan]:
    """Yield a person's constraints among a thousand facts about others: with their marks, without,
    and with others' facts marked as well."""
    asked = (probes.turn(), probes.within(450, 1000))
    for name, edit in (
        ("marks, 1,000", _as_it_is),
        ("marks taken off, 1,000", _unmarked),
        ("marks on all, 1,000", _all_marked),
    ):
        yield Plan(name, "marks", ("marks", FILLER), asked, edit=edit)


def _documents(project: str) -> Plan:
    """Return the plan of the documentation of one project; all projects are reported together."""
    suite = f"documents/{project}"
    return Plan("documents", suite, (suite,), (probes.within(500, 1000), probes.ranked()))


def _together(name: str, folder: str, *suites: str) -> Iterator[Plan]:
    """Yield a plan for each of these suites in a folder, among a thousand other facts; all are
    reported together."""
    asked = (probes.turn(), probes.within(450, 1000), probes.ranked())
    for suite in suites:
        path = f"{folder}/{suite}"
        yield Plan(f"{name}, 1,000", path, (path, FILLER), asked)


LANGUAGES = (
    *("arabic", "chinese", "french", "german", "italian"),
    *("japanese", "korean", "portuguese", "russian", "spanish"),
)
KINDS = (
    *("agent", "bilingual", "caregiver", "contacts", "diary"),
    *("household", "madrid", "project", "study"),
)
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
    *_marks(),
    Plan("small talk", "smalltalk", ("life", FILLER), (probes.disturbed(),)),
    *_together("languages", "languages", *LANGUAGES),
    *_together("kinds of notes", "kinds", *KINDS),
    *map(_documents, ("alertmanager", "click", "httpx", "mkdocs", "restic", "ripgrep")),
)
