"""`eval`: measures recall with questions about the owner's own facts."""

from functools import partial
from typing import Annotated

import typer

from assistant.cli.memory_text import one_line
from assistant.cli.options import AsJson, answer, option
from assistant.cli.palette import echo
from assistant.cli.progress import ProgressLine
from assistant.display import counted
from assistant.errors import UsageError
from assistant.memory.annotations import without
from assistant.workspace.folder import read_text


def eval_(
    context: typer.Context,
    count: Annotated[int, partial(option, min=1)] = 100,
    as_json: AsJson = False,
) -> None:
    """Measure recall: ask memory about its own facts, and show what it misses.

    Rules make the questions from your facts, on this machine and always the same way.

    Arguments:
      -n N: Maximum number of facts to ask about.

    Examples:
      assistant eval -n 50
    """
    from assistant.upkeep import evaluate  # a markdown parser: slow to import

    workspace = context.obj.workspace()
    facts = evaluate.facts({name: read_text(workspace.root / name) for name in workspace.sources()})
    questions = evaluate.questions(evaluate.sample(facts, count))
    if not questions:
        raise UsageError("there are no facts to ask about", "`assistant remember` writes one")
    outcomes = []
    with context.obj.memory() as memory, ProgressLine() as progress:
        for done, question in enumerate(questions, start=1):
            outcomes.append(evaluate.examine(memory.recall, question))
            progress("Asking memory", done, len(questions))
    missed = [outcome for outcome in outcomes if not outcome.found]
    answer(
        {
            "facts": len(facts),
            "questions": len(outcomes),
            "found": round(1 - len(missed) / len(outcomes), 4),
            "missed": [
                {
                    "question": outcome.question.text,
                    "source": outcome.question.fact.source,
                    "line": outcome.question.fact.start_line,
                    "rank": outcome.rank,
                }
                for outcome in missed
            ],
        }
    )
    head = f"{counted(len(outcomes), 'question')} made from {counted(len(facts), 'fact')}"
    echo(head, ", in the facts' own words; your questions would be harder", bold=True)
    echo(f"Answers recalled: {len(outcomes) - len(missed)} of {len(outcomes)}")
    echo("Missed:" if missed else "Nothing was missed.")
    for outcome in missed:
        fact = outcome.question.fact
        rank = f"ranked {outcome.rank}" if outcome.rank else "not found"
        echo(f"  {one_line(outcome.question.text)}  ({rank})")
        where = one_line(f"{fact.source}:{fact.start_line}  {without(fact.text)}")
        echo(f"    {where}", faint=True)
