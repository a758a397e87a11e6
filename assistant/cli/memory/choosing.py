"""Which fact is meant: by its name, its own words, or the owner's choice; never by likeness."""

from collections.abc import Sequence

from assistant.cli.asking import ask, confirm, say
from assistant.cli.memory.shown import one_line
from assistant.cli.options import at_terminal
from assistant.display import counted
from assistant.errors import LedgerError, UsageError
from assistant.memory.base import Located, Passage
from assistant.memory.protocol import Keeper


def the_very(memory: Keeper, target: str) -> Passage:
    """The one fact that has this id, stands at this `FILE:LINE`, or says just this.

    Raises LedgerError if there is none, or more than one; what is like it is named.
    """
    found = _found(memory, target)
    if found.exact and len(found.passages) == 1:
        return found.passages[0]
    many = f"{len(found.passages)} facts say {target!r}"
    said = many if found.exact else f"no fact says just {target!r}, but"
    like = "; ".join(map(_line, found.passages))
    raise LedgerError(f"{said}: {like}", "Name one by FILE:LINE, or choose it without --yes")


def choice(memory: Keeper, target: str) -> Passage | None:
    """The fact that the owner picks at the terminal from those the target may mean, or none.

    Raises LedgerError if there are none, and UsageError without a terminal.
    """
    found = _found(memory, target)
    passages = found.passages
    for number, passage in enumerate(passages, start=1):
        said = _line(passage) if len(passages) == 1 else f"{number}. {_line(passage)}"
        say(said)
    if at_terminal():
        return _picked(passages)
    if len(passages) == 1 and found.exact:
        raise UsageError("this needs a yes", "Run it again with --yes")
    raise UsageError(
        f"{counted(len(passages), 'fact')} may be meant",
        "Run it again with its FILE:LINE and --yes",
    )


def _found(memory: Keeper, target: str) -> Located:
    found = memory.locate(target)
    if not found.passages:
        raise LedgerError(f"memory holds nothing for {target!r}", "Try `assistant recall` first")
    return found


def _picked(found: Sequence[Passage]) -> Passage | None:
    if len(found) == 1:
        return found[0] if confirm("Forget this?") else None
    answer = ask("Forget which one? (Enter for none)", "")
    if answer.isdecimal() and 1 <= int(answer) <= len(found):
        return found[int(answer) - 1]
    return None


def _line(passage: Passage) -> str:
    return one_line(f"{passage.citation}  {passage.text}")
