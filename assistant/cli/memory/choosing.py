"""Which fact is meant: by its name, its own words, or the owner's choice; never by likeness."""

from collections.abc import Sequence

import typer

from assistant.cli.memory.shown import one_line
from assistant.cli.options import at_terminal
from assistant.display import counted
from assistant.errors import LedgerError, UsageError
from assistant.memory.base import Passage
from assistant.memory.protocol import Keeper


def the_very(memory: Keeper, target: str) -> Passage:
    """The one fact that has this id, stands at this `FILE:LINE`, or says just this.

    Raises LedgerError if there is none, or more than one; what is like it is named.
    """
    found = _found(memory, target)
    named = [passage for passage in found if _is_named(passage, target)]
    if len(named) == 1:
        return named[0]
    said = f"{len(named)} facts say {target!r}" if named else f"no fact says just {target!r}, but"
    like = "; ".join(_line(passage) for passage in named or found)
    raise LedgerError(f"{said}: {like}", "Name one by FILE:LINE, or choose it without --yes")


def choice(memory: Keeper, target: str) -> Passage | None:
    """The fact that the owner picks at the terminal from those the target may mean, or none.

    Raises LedgerError if there are none, and UsageError without a terminal.
    """
    found = _found(memory, target)
    for number, passage in enumerate(found, start=1):
        typer.echo(_line(passage) if len(found) == 1 else f"{number}. {_line(passage)}", err=True)
    if at_terminal():
        return _picked(found)
    if len(found) == 1 and _is_named(found[0], target):
        raise UsageError("this needs a yes", "Run it again with --yes")
    raise UsageError(
        f"{counted(len(found), 'fact')} may be meant", "Run it again with its FILE:LINE and --yes"
    )


def _found(memory: Keeper, target: str) -> tuple[Passage, ...]:
    found = memory.locate(target)
    if not found:
        raise LedgerError(f"memory holds nothing for {target!r}", "Try `assistant recall` first")
    return found


def _picked(found: Sequence[Passage]) -> Passage | None:
    if len(found) == 1:
        return found[0] if typer.confirm("Forget this?", err=True) else None
    answer = typer.prompt("Forget which one? (Enter for none)", default="", err=True).strip()
    if answer.isdecimal() and 1 <= int(answer) <= len(found):
        return found[int(answer) - 1]
    return None


def _is_named(passage: Passage, target: str) -> bool:
    """Whether the target is the passage's id, a line of it, or its own words."""
    from assistant.memory.text.identity import fact_key  # a markdown parser: not for `remember`
    from assistant.memory.text.words import plain

    places = (f"{passage.source}:{n}" for n in range(passage.start_line, passage.end_line + 1))
    own = fact_key(plain(passage.text))
    return target in (passage.id, *places) or own in (fact_key(target), fact_key(plain(target)))


def _line(passage: Passage) -> str:
    return one_line(f"{passage.citation}  {passage.text}")
