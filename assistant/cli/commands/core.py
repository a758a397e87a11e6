"""`memory core`: shows and changes the facts in every prompt."""

from typing import Annotated

import typer

from assistant.agent.memory_text import CORE_TOKENS, Standing, standing
from assistant.cli.commands.facts import locate, pick
from assistant.cli.memory_text import one_line
from assistant.cli.options import AsJson, Globals, answer, argument, at_terminal
from assistant.display import counted, spelled
from assistant.errors import LedgerError, UsageError
from assistant.memory.annotations import CORE, NOT_CORE
from assistant.memory.base import Keeper, Mark, Passage
from assistant.secrets.registered import redactor
from assistant.workspace.folder import ARCHIVE, PROCEDURE_FILES

ADD, DROP = "add", "drop"


def core(
    context: typer.Context,
    change: Annotated[
        list[str] | None, argument("[add|drop ID|FILE:LINE|WORDS...]", "The fact to add or drop.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show or change which facts are in every prompt.

    A small memory is in every prompt as a whole. Of a larger one, the facts that you add are, then
    those that say most about health, diet, people, home and strong preferences; a fact that you
    drop is never chosen. Each choice is a comment at the end of the fact's line.

    Examples:
      assistant memory core
      assistant memory core add I am allergic to nuts
      assistant memory core drop MEMORY.md:12
    """
    with context.obj.memory() as memory:
        if change:
            _change(context.obj, memory, change[0], " ".join(change[1:]))
        else:
            _show(context.obj, memory)


def _standing(options: Globals, memory: Keeper, most: int) -> Standing:
    """What of memory is in every prompt if it may take so many tokens as a whole."""
    redact, hidden = redactor().redact, options.hidden()
    return standing(options.workspace(), most, redact, hidden, memory.core)


def _show(options: Globals, memory: Keeper) -> None:
    settings = options.settings()
    whole = _standing(options, memory, settings.memory.whole)
    chosen = _standing(options, memory, 0)
    answer(_as_json(whole, chosen))
    if whole.text and not whole.core:
        typer.echo(
            "All of memory is in every prompt as long as it takes at most "
            f"{counted(settings.memory.whole, 'token')} (memory.whole). Beyond that, these facts "
            "would be:"
        )
    for entry in chosen.core:
        yours = ", added by you" if entry.marked else ""
        about = typer.style(f"  ({counted(entry.tokens, 'token')}{yours})", dim=True)
        typer.echo(f"{spelled(entry.citation)}  {one_line(entry.plain)}{about}")
    total = sum(entry.tokens for entry in chosen.core)
    facts = counted(len(chosen.core), "fact")
    typer.echo(f"{facts}, {total} of at most {counted(CORE_TOKENS, 'token')}", err=True)
    if chosen.cut:
        typer.echo(f"note: {chosen.cut}", err=True)


def _as_json(whole: Standing, chosen: Standing) -> dict[str, object]:
    return {
        "whole": bool(whole.text and not whole.core),
        "tokens": sum(entry.tokens for entry in chosen.core),
        "facts": [
            {
                "source": entry.source,
                "line": entry.line,
                "text": entry.plain,
                "tokens": entry.tokens,
                "added": entry.marked,
            }
            for entry in chosen.core
        ],
    }


def _change(options: Globals, memory: Keeper, what: str, target: str) -> None:
    if what not in (ADD, DROP) or not target.strip():
        raise UsageError(
            "`memory core` takes `add` or `drop`, and a fact",
            "`assistant memory core add I am allergic to nuts`",
        )
    located = locate(memory, target)
    if at_terminal() and not (located.exact and len(located.passages) == 1):
        fact = pick(located.passages, "Which one?")
    else:
        fact = located.one(target)
    if fact is None:
        raise typer.Exit(1)
    if fact.source in PROCEDURE_FILES or fact.source.startswith(ARCHIVE):
        raise LedgerError(f"{fact.source} is never part of the core", "Name a fact of memory")
    changed = memory.mark([Mark(fact, core=CORE if what == ADD else NOT_CORE)])
    answer({"source": fact.source, "line": fact.start_line, "changed": bool(changed)})
    if changed:
        effect = "Now in every prompt" if what == ADD else "No longer in the core"
        typer.echo(f"{effect}: {_line(fact)}")
        stands = _standing(options, memory, options.settings().memory.whole)
        if what == DROP and stands.text and not stands.core:
            typer.echo(
                "All of memory is in every prompt while it is small (memory.whole).", err=True
            )
        typer.echo("`assistant memory undo` reverses it.", err=True)
    else:
        already = "in every prompt" if what == ADD else "kept out"
        typer.echo(f"Already {already}: {_line(fact)}", err=True)


def _line(fact: Passage) -> str:
    return f"{spelled(fact.citation)}  {one_line(fact.plain)}"
