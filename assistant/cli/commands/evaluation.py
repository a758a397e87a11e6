"""`eval`: does recall find what the owner's own memory holds?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.cli.help import MEMORY, examples
from assistant.cli.memory_text import one_line
from assistant.cli.options import AsJson, print_json
from assistant.display import counted
from assistant.errors import UsageError
from assistant.workspace.folder import Workspace, read_text

if TYPE_CHECKING:
    from assistant.upkeep.evaluate import Outcome


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command("eval", rich_help_panel=MEMORY, epilog=examples("assistant eval -n 50"))(evaluate)


def evaluate(
    context: typer.Context,
    count: Annotated[
        int, typer.Option("-n", metavar="N", min=1, help="Maximum number of facts to ask about.")
    ] = 100,
    as_json: AsJson = False,
) -> None:
    """Measure recall: ask memory about its own facts, and show what it misses.

    The questions are made from your facts by rules, on this machine, always the same.
    """
    from assistant.upkeep import evaluate  # a markdown parser and numpy: not for clients

    place = context.obj.place()
    facts = evaluate.facts({name: read_text(place.root / name) for name in place.sources()})
    questions = evaluate.by_rules(evaluate.sample(facts, count))
    if not questions:
        raise UsageError("there are no facts to ask about", "`assistant remember` writes one")
    outcomes = []
    with context.obj.memory() as memory:
        for done, question in enumerate(questions, start=1):
            outcomes.append(evaluate.examine(memory.recall, question))
            context.obj.progress("Asking memory", done, len(questions))
    columns = zip(*(each.scores for each in outcomes), strict=True)
    means = {
        name: sum(column) / len(outcomes)
        for name, column in zip(evaluate.MEASURES, columns, strict=True)
    }
    missed = [each for each in outcomes if not each.found]
    if as_json:
        print_json(
            {
                "kind": evaluate.SELF_RETRIEVAL,
                "facts": len(facts),
                "questions": len(outcomes),
                "found": round(1 - len(missed) / len(outcomes), 4),
                "measures": {name: round(mean, 4) for name, mean in means.items()},
                "missed": [
                    {
                        "question": each.question.text,
                        "source": each.question.source,
                        "line": min(each.question.lines),
                        "place": each.place,
                    }
                    for each in missed
                ],
            }
        )
        return
    head = f"{counted(len(outcomes), 'question')} made from {counted(len(facts), 'fact')}"
    typer.echo(f"{typer.style(head, bold=True)}, in their own words: yours would differ")
    typer.echo(f"A recall returns the answer: {len(outcomes) - len(missed)} of {len(outcomes)}")
    typer.echo("Share of the evidence within:")
    for name, mean in means.items():
        typer.echo(f"  {name:>12}  {100 * mean:5.1f} %")
    _show_missed(place, missed)


def _show_missed(place: Workspace, missed: "Sequence[Outcome]") -> None:
    typer.echo("Missed:" if missed else "Nothing was missed.")
    for each in missed:
        line = min(each.question.lines)
        text = read_text(place.root / each.question.source).splitlines()[line - 1]
        where = f"ranked {each.place}" if each.place else "not found"
        typer.echo(f"  {one_line(each.question.text)}  ({where})")
        typer.echo(
            typer.style(f"    {one_line(f'{each.question.source}:{line}  {text}')}", dim=True)
        )
