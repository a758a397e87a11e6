"""Measures how well recall finds answers: on the suites in tests/recall, or on the cases of a
folder.

Without a folder it prints a row for each measure of each suite, for the development half and the
held-out one, with 95 % bootstrap intervals; and for the cases in $ASSISTANT_EVAL_DATA, if that is
set. With a folder, it prints the report on its */MEMORY.md with qa.json.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from assistant.errors import AssistantError, UsageError
from assistant.memory.embedding import compile
from assistant.settings.sections import EmbeddingSettings
from scripts.evaluation import report
from scripts.evaluation.cases import report as cases
from scripts.evaluation.cases import rows as conversations
from scripts.evaluation.catalogue import PLANS, Plan
from scripts.evaluation.kept import KeptEmbedder
from scripts.evaluation.misses import misses
from scripts.evaluation.report import Row
from scripts.evaluation.suites import ROOT

KEPT = ROOT / ".cache" / "recall"


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and run it."""
    options = _parser().parse_args(arguments)
    if options.folder:
        cases.run(options.folder, ablate=not options.quick, plot_to=options.plot)
        return
    plans = _chosen(options.suite)
    embedder = KeptEmbedder(compile.load(EmbeddingSettings()), KEPT)
    if options.misses:
        for plan in plans:
            print(*misses(plan, embedder), sep="\n\n")
        return
    rows = report.together(report.rows(plans, embedder, kinds=options.kinds))
    if (folder := os.environ.get("ASSISTANT_EVAL_DATA")) and not options.suite:
        rows = chain(rows, conversations.rows(Path(folder), embedder))
    results = list(_printed(rows))
    if options.record:
        report.record(results)


def _printed(rows: Iterable[Row]) -> Iterator[Row]:
    before = report.recorded()
    print(report.HEADING)
    for row in rows:
        print(row.line(before.get(row.plan, {}).get(row.measure.name)), flush=True)
        yield row


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/eval", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="cases to measure instead")
    parser.add_argument("--quick", action="store_true", help="for cases: no ablations")
    parser.add_argument("--plot", type=Path, default=cases.PLOT, help="the file for their SVG")
    names = ", ".join(plan.name for plan in PLANS)
    parser.add_argument("--suite", action="append", help=f"only this one: {names}")
    parser.add_argument("--kinds", action="store_true", help="also a row for each kind of question")
    parser.add_argument(
        "--misses", action="store_true", help="list the misses of the development half"
    )
    parser.add_argument("--record", action="store_true", help="record the figures")
    return parser


def _chosen(names: Sequence[str] | None) -> list[Plan]:
    if unknown := set(names or ()) - {plan.name for plan in PLANS}:
        raise UsageError(f"there is no suite {min(unknown)!r}", "`scripts/eval --help` names them")
    return [plan for plan in PLANS if not names or plan.name in names]


if __name__ == "__main__":
    try:
        main()
    except AssistantError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
