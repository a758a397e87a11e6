"""`import` and `export`."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from assistant.cli.options import AsJson, Yes, answer, argument, at_terminal
from assistant.cli.palette import echo
from assistant.cli.progress import ProgressLine
from assistant.display import counted, exactly
from assistant.errors import UsageError
from assistant.importing import archive
from assistant.importing.formats import Export
from assistant.importing.importer import Importer, Report, Tally
from assistant.importing.package import Package
from assistant.memory.base import Keeper
from assistant.secrets.registered import redactor
from assistant.workspace.folder import path_of

SHOWN = 20
"""Maximum number of problems listed; the rest are counted."""


def import_(
    context: typer.Context,
    path: Annotated[Path, partial(argument, parser=path_of)],
    dry_run: bool = False,
    yes: Yes = False,
    again: bool = False,
    as_json: AsJson = False,
) -> None:
    """Import conversations and facts from ChatGPT, Claude, OpenClaw, mem0 and others.

    Conversations become sessions, facts wait for your review, notes become files in
    memory/imported. Importing again adds only what is new.

    Arguments:
      PATH: An export: a zip, a folder or a file.
      --dry-run: Show what would be imported, without importing it.
      --again: Also import what you have deleted or refused here.

    Examples:
      assistant import chatgpt.zip --dry-run
      assistant import chatgpt.zip
    """
    if dry_run and yes:
        raise UsageError("--dry-run and --yes cannot be combined", "Give one of them")
    if not yes:
        report = _run(context, path, None, again=again)
        _show(report)
        if dry_run or not at_terminal() or as_json:
            return _end(report, path)
        if not typer.confirm("Import this?", err=True):
            raise typer.Exit(1)
    with context.obj.memory() as memory:
        done = _run(context, path, memory, again=again)
    _show(done)
    _end(done, path)


def _run(context: typer.Context, path: Path, memory: Keeper | None, *, again: bool) -> Report:
    export = Export(Package(path))
    importer = Importer(
        context.obj.workspace(), export.kind, redactor().redact, memory, again=again
    )
    with ProgressLine() as progress:
        return importer.run(export.items(), lambda number: progress("Reading", number, 0))


def _show(report: Report) -> None:
    answer({**asdict(report), "cut": report.cut})
    echo(f"{report.kind}:")
    when = f", {report.first[:10]} to {report.last[:10]}" if report.first else ""
    size = f" ({counted(report.messages, 'message')}{when})" if report.messages else ""
    _line(report.conversations, "conversation", size)
    _line(report.facts, "fact", ", for your review" if report.facts.new else "")
    _line(report.documents, "note", "")
    for why, number in sorted(report.left_out.items()):
        names = report.left_out_names[why]
        if names and number > len(names):
            names = [*names, "…"]
        echo(f"  {number:,} left out: {why}" + (f" ({', '.join(names)})" if names else ""))
    for problem in report.problems[:SHOWN]:
        echo(f"  not read: {problem.where}: {problem.why}", err=True)
    if (more := len(report.problems) - SHOWN) > 0:
        echo(f"  and {more:,} more that could not be read", err=True)


def _line(tally: Tally, what: str, more: str) -> None:
    if tally.found:
        parts = {
            "new": tally.new,
            "updated": tally.grown,
            "already here": tally.known,
            "imported before": tally.gone,
        }
        counts = ", ".join(f"{number:,} {name}" for name, number in parts.items() if number)
        echo(f"  {counted(tally.found, what)}{more}: {counts}")


def _end(report: Report, path: Path) -> None:
    tallies = (report.conversations, report.facts, report.documents)
    if any(tally.gone for tally in tallies):
        echo("--again also imports what you have deleted or refused here since.")
    if not report.written and any(tally.new or tally.grown for tally in tallies):
        echo(f"Nothing was written. `assistant import {quote(str(path))} --yes` imports it.")
    elif report.written and report.facts.new:
        echo("`assistant memory review` shows the facts that wait for you.")
    if report.problems:
        raise typer.Exit(1)


def export(
    context: typer.Context,
    path: Annotated[Path, partial(argument, parser=path_of)],
    as_json: AsJson = False,
) -> None:
    """Write the workspace, sessions included, to an archive; `init --from` restores it.

    Arguments:
      PATH: The zip archive to write.

    Examples:
      assistant export mind.zip
    """
    names, left_out = archive.export(context.obj.workspace(), path)
    answer({"path": str(path), "files": names, "left_out": left_out})
    for name, why in left_out.items():
        echo(f"left out: {exactly(name)}, {why}", err=True)
    echo(f"Written to {path}: {counted(len(names), 'file')}.")
    echo(f"`assistant init --from {quote(str(path))} DIR` restores it.")
