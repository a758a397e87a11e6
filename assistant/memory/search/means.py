"""What recall does beyond matching words and meanings: an evaluation leaves out one at a time."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Means:
    """All are in use unless an evaluation says otherwise."""

    spelling: bool = True
    """A misspelt word gives way to a known one."""
    strings: bool = True
    """Numbers and identifiers are found however they are written."""
    naming: bool = True
    """"My husband" is read with his name."""
    events: bool = True
    """"Before the move" is a time."""
    general: bool = True
    """Of what anybody could answer, more is asked."""
    headings: bool = True
    """The path and the headings above a fact count."""
    coverage: bool = True
    """So does how much of the question a fact covers."""
    namesakes: bool = True
    """A name that a fact has in common with the question counts less than its other words."""
    understanding: bool = True
    """A meaning counts by how far the model knows the language."""
    letters: bool = True
    """In other languages than English, so do the letters that words share."""
    abroad: bool = True
    """For what is in another language than the question its meaning speaks alone."""
    bridges: bool = True
    """A name that a fact near the top brings in leads to the facts that hold it."""
    later: bool = True
    """The later of two answers comes first."""
    room: bool = True
    """Another wording of what was said gives room."""
    before: bool = True
    """Memory is asked with the message before, too."""
    abstaining: bool = True
    """A weak match is worth nothing."""
    floor: bool = True
    """What lies far below the best is left out."""


ALL = Means()
