"""`doctor`: is everything well, and if not, what cures it?"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.cli.options import AsJson, Globals, at_terminal, print_json
from assistant.display import spelled
from assistant.errors import WorkspaceError

if TYPE_CHECKING:
    from assistant.cli.doctor.check import Finding

MARKS = {"well": "✓", "remark": "!", "fault": "✗"}


def register(cli: typer.Typer) -> None:
    """Add the command to the tree."""
    cli.command()(doctor)


def doctor(
    context: typer.Context,
    with_model: Annotated[
        bool | None,
        typer.Option(
            "--with-model/--without-model",
            help="Ask the model for a word, or not; else you are asked about it.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check every part; each fault comes with its cure, and the next chat mentions it."""
    findings = []
    asks = with_model is None and not as_json and at_terminal()
    for finding in _findings(context.obj, None if asks else bool(with_model)):
        findings.append(finding)
        if not as_json:
            typer.echo(f"{MARKS[finding.state]} {spelled(finding.line)}")
    if as_json:
        print_json([asdict(each) for each in findings])
    faults = [each.line for each in findings if each.state == "fault"]
    _keep(context.obj, faults)
    if faults:
        raise typer.Exit(1)


def _findings(options: Globals, with_model: bool | None) -> "Iterator[Finding]":
    from assistant.cli.doctor import (  # every heavy part of the program
        files,
        machine,
        programs,
        reach,
        services,
    )
    from assistant.cli.doctor.check import Finding, examined

    told: dict[str, str] = {}
    for part in (machine, files, services, reach, programs):
        for name, check in part.CHECKS.items():
            finding = examined(name, check, options)
            if finding.state == "fault" and told.setdefault(finding.said, name) != name:
                finding = Finding(name, "remark", f"cannot be known: see {told[finding.said]}")
            yield finding
    if with_model is None and (model := services.model_name()):
        with_model = typer.confirm(f"Send {model} a word, to see whether it answers?", err=True)
    if with_model:
        yield examined("answer", services.answer, options)


def _keep(options: Globals, faults: list[str]) -> None:
    """For the next chat, if there is a workspace to chat in."""
    from assistant.upkeep import findings

    try:
        findings.keep(options.place(), faults)
    except WorkspaceError:
        return
