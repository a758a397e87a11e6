"""`eval`: does recall find what the owner's own memory holds?"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assistant.cli.memory.shown import one_line
from assistant.cli.options import AsJson, print_json
from assistant.display import counted, local_time
from assistant.errors import UsageError
from assistant.memory.base import Progress
from assistant.memory.protocol import Keeper
from assistant.workspace.folder import Workspace, read_text

if TYPE_CHECKING:
    from assistant.upkeep.evaluate import Outcome, Question
    from assistant.upkeep.results import Figures

SHOWN_FIGURES = 10
"""The latest evaluations of a kind that are shown beside this one."""
EXPLAINED = {
    "self-retrieval": "made by rules from the facts' own words: yours would be worded otherwise",
    "asked by the model": "made by the model from the facts",
}


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command("eval")(evaluate)


def evaluate(
    context: typer.Context,
    count: Annotated[
        int, typer.Option("-n", metavar="N", min=1, help="Ask for at most so many facts.")
    ] = 100,
    with_model: Annotated[
        bool,
        typer.Option(
            "--with-model", help="Let the model make the questions: it is sent these facts."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask memory for what it holds, show what recall misses, and keep the figures.

    The questions are made from your facts by rules, on this machine; only with --with-model do
    facts go to the configured model. The same memory is asked the same questions each time.
    """
    place = context.obj.place()
    with context.obj.memory() as memory:
        held, asked = _questions(place, count, with_model, context.obj.progress)
        outcomes = _asked(memory, asked, context.obj.progress)
    now, past = _kept(place, held, outcomes)
    missed = [each for each in outcomes if not each.found]
    if as_json:
        print_json({**asdict(now), "missed": list(map(_missed, missed)), "past": _plain(past)})
        return
    _show(now, outcomes)
    _show_missed(place, missed)
    _show_past(past)


def _questions(
    place: Workspace, count: int, with_model: bool, progress: Progress
) -> "tuple[int, list[Question]]":
    """How many facts memory holds, and what is asked of it."""
    from assistant.upkeep import quiz  # a markdown parser and numpy: not for clients

    held = quiz.facts({name: read_text(place.root / name) for name in place.sources()})
    sample = quiz.sample(held, count)
    if with_model:
        made = _by_model(place, [each.plain for each in sample], progress)
        pairs = zip(sample, made, strict=True)
        kind = quiz.BY_MODEL
        asked = [quiz.to_question(fact, text, kind) for fact, text in pairs if text]
    else:
        asked = quiz.by_rules(sample)
    if not asked:
        raise UsageError("memory holds no fact to ask for", "Let it `assistant remember` some")
    return len(held), asked


def _by_model(place: Workspace, facts: Sequence[str], progress: Progress) -> Sequence[str | None]:
    from assistant.app import models  # not for clients

    asker = models.asker(place, progress)
    if asker is None:
        raise UsageError(
            "no model may be asked: none is configured, or the workspace is not trusted",
            "Set model.name and run `assistant trust`, or leave --with-model out",
        )
    return asker(facts)


def _asked(memory: Keeper, questions: "Sequence[Question]", progress: Progress) -> "list[Outcome]":
    from assistant.upkeep.evaluate import examine

    outcomes = []
    for done, question in enumerate(questions, start=1):
        outcomes.append(examine(memory.recall, question))
        progress("Asking memory", done, len(questions))
    return outcomes


def _kept(
    place: Workspace, held: int, outcomes: "Sequence[Outcome]"
) -> "tuple[Figures, list[Figures]]":
    """The figures of this time, kept from now on, and those of past times that compare."""
    from assistant.upkeep import results
    from assistant.upkeep.evaluate import MEASURES

    means = [
        sum(column) / len(outcomes) for column in zip(*(o.scores for o in outcomes), strict=True)
    ]
    now = results.Figures(
        time=datetime.now().astimezone().isoformat(timespec="seconds"),
        kind=outcomes[0].question.category,
        facts=held,
        questions=len(outcomes),
        found=round(sum(each.found for each in outcomes) / len(outcomes), 4),
        measures={name: round(mean, 4) for name, mean in zip(MEASURES, means, strict=True)},
    )
    past = [each for each in results.read(place.evaluations) if each.kind == now.kind]
    results.keep(place.evaluations, now)
    return now, past


def _missed(outcome: "Outcome") -> dict[str, Any]:
    asked = outcome.question
    return {
        "question": asked.text,
        "source": asked.source,
        "line": min(asked.lines),
        "place": outcome.place,
    }


def _plain(past: "Sequence[Figures]") -> list[dict[str, Any]]:
    return [asdict(each) for each in past]


# For a person


def _show(now: "Figures", outcomes: "Sequence[Outcome]") -> None:
    import numpy as np

    from assistant.upkeep.evaluate import interval

    found = sum(each.found for each in outcomes)
    head = f"{now.kind}: {counted(now.questions, 'question')} of {counted(now.facts, 'fact')}"
    typer.echo(f"{typer.style(head, bold=True)}, {EXPLAINED[now.kind]}")
    typer.echo(f"A recall returns what answers it: {found} of {now.questions}")
    lows, highs = interval(np.array([each.scores for each in outcomes]))
    typer.echo("Evidence recall, with its 95 % interval:")
    for (name, mean), low, high in zip(now.measures.items(), lows, highs, strict=True):
        typer.echo(f"  {name:>12}  {100 * mean:5.1f} %  ({100 * low:.0f} to {100 * high:.0f})")


def _show_missed(place: Workspace, missed: "Sequence[Outcome]") -> None:
    if not missed:
        typer.echo("Nothing was missed.")
        return
    typer.echo("Missed:")
    for each in missed:
        line = min(each.question.lines)
        text = read_text(place.root / each.question.source).splitlines()[line - 1]
        where = f"stands at {each.place}" if each.place else "not found at all"
        typer.echo(f"  {one_line(each.question.text)}  ({where})")
        typer.echo(
            typer.style(f"    {one_line(f'{each.question.source}:{line}  {text}')}", dim=True)
        )


def _show_past(past: "Sequence[Figures]") -> None:
    if past:
        typer.echo("Before, of this kind:")
    for each in past[-SHOWN_FIGURES:]:
        shares = {"returned": each.found, **each.measures}
        said = "  ".join(f"{name} {100 * share:.1f}" for name, share in shares.items())
        typer.echo(f"  {local_time(each.time)}  {counted(each.questions, 'question')}  {said}")
