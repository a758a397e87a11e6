"""`hook`: what coding agents call at their events."""

from typing import Annotated

import typer

from assistant.cli.options import Globals


def register(cli: typer.Typer) -> None:
    """Add the command to the tree; an option that it does not know must not stop a program."""
    lenient = {"ignore_unknown_options": True, "allow_extra_args": True}
    cli.command(context_settings=lenient)(hook)


def hook(
    context: typer.Context,
    event: Annotated[
        str, typer.Argument(metavar="[EVENT]", help="prompt, compact, session-end, session-start.")
    ] = "prompt",
    program: Annotated[
        str, typer.Option("--for", metavar="NAME", help="The program that calls.")
    ] = "",
    quiet: Annotated[
        str | None,
        typer.Option(
            "--quiet-for",
            metavar="once|session",
            help="Give nothing from memory to the next prompt, or to its whole conversation.",
        ),
    ] = None,
    patient: Annotated[bool, typer.Option("--patient", hidden=True)] = False,
) -> None:
    """Answer an event of a coding agent, told as JSON on standard input; `connect` sets it up.

    Whatever is wrong, it says nothing and succeeds; --debug says what it was.
    """
    from assistant.bridge.hooks import quiet as keeping  # behind `--help`
    from assistant.bridge.hooks import run

    options: Globals = context.obj
    call = run.Call(event, program, keeping.named(quiet), patient)
    run.respond(options.place, call, debug=options.debug)
