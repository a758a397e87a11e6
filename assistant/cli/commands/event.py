"""`event` and `listen`: what happened outside, answered as a turn."""

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.cli.commands.heartbeat import send_news
from assistant.cli.help import TOOLS, examples
from assistant.cli.options import AsJson, at_terminal, input_bytes, print_json
from assistant.display import counted, spelled
from assistant.errors import AssistantError, UsageError

if TYPE_CHECKING:
    from assistant.heartbeat.events.answering import Answered
    from assistant.heartbeat.events.incoming import Incoming

PAUSE = 1.0
"""Seconds between two looks at the folder."""
REST = 30.0
"""Seconds between two looks at the queue for what has to be tried again."""


def register(cli: typer.Typer) -> None:
    """Add the commands to the tree."""
    cli.command(
        rich_help_panel=TOOLS,
        epilog=examples(
            "curl -s https://ci.example/last | assistant event --source ci",
            "cat event.json | assistant event --source mail --reply-to 'tee answer.txt'",
        ),
    )(event)
    cli.command(
        rich_help_panel=TOOLS,
        epilog=examples(
            "assistant listen --folder ~/events",
            "assistant listen --port 8722",
        ),
    )(listen)


def event(
    context: typer.Context,
    source: Annotated[
        str, typer.Option("--source", metavar="NAME", help="Its sender, such as `github`.")
    ],
    reply_to: Annotated[
        str | None,
        typer.Option("--reply-to", metavar="COMMAND", help="Pipe the answer into this command."),
    ] = None,
    id: Annotated[
        str, typer.Option("--id", metavar="ID", help="Take an event of this id once.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Answer an event: a JSON object on standard input, handled as AGENTS.md says.

    Its content is untrusted data. While another process answers events, it waits in the queue.
    """
    from assistant.heartbeat.events import queue
    from assistant.heartbeat.events.answering import answered, check
    from assistant.heartbeat.events.incoming import MOST_BYTES, incoming

    place = context.obj.place()
    check(place)
    if at_terminal():
        raise UsageError("no event on standard input", "Pipe one JSON object into it")
    came = incoming(source, input_bytes(MOST_BYTES + 1))
    own = queue.put(place, came, id=id, reply_to=reply_to)
    done = None
    for each in answered(place, own=own, no_daemon=context.obj.no_daemon) if own else ():
        if each.queued.name == own:
            done = each
    if done:
        _show(done, as_json)
    elif as_json:
        print_json({"source": source, "state": "queued" if own else "known"})
    elif own:
        typer.echo("Queued: another process is answering events, and goes on with this.", err=True)
    else:
        typer.echo(f"An event {id} from {source} was taken before.", err=True)


def listen(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="DIR", help="Take the files of DIR/SOURCE/ as events."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=1, max=65535, help="Take HTTP requests of this machine."),
    ] = None,
) -> None:
    """Answer events as they come, until Ctrl-C."""
    from assistant.heartbeat.events import listening, queue
    from assistant.heartbeat.events.answering import check

    place = context.obj.place()
    check(place)
    if folder is None and port is None:
        raise UsageError("there is nothing to listen to", "Give --folder, --port, or both")
    if folder and not folder.is_dir():
        raise UsageError(f"{folder} is no folder", f"mkdir -p {folder}/mail")
    came = threading.Event()

    def put(event: "Incoming", id: str = "") -> None:
        queue.put(place, event, id=id)
        came.set()

    if port is not None:
        secret, where = listening.token(place)
        door = listening.Door(port, secret, put)
        threading.Thread(target=door.serve_forever, daemon=True).start()
        typer.echo(f"POST http://{listening.HERE}:{port}/SOURCE, with the token in {where}")
    if folder:
        typer.echo(f"Files in {folder.absolute()}/SOURCE/")
    sys.stdout.flush()
    while True:
        for fault in listening.taken(folder, put) if folder else ():
            typer.echo(f"note: {spelled(fault)}", err=True)
        _answer(context)
        came.wait(PAUSE if folder else REST)
        came.clear()


def _answer(context: typer.Context) -> None:
    """Answer what waits; that it cannot be answered is said once."""
    from assistant.heartbeat.events.answering import answered

    place = context.obj.place()
    try:
        for each in answered(place, no_daemon=context.obj.no_daemon):
            told = f"{each.came.state} · session {each.came.session} · "
            cost = counted(each.came.tokens, "token")
            typer.echo(spelled(f"{each.queued.event.title}: {told}{cost}"))
            sys.stdout.flush()
    except AssistantError as error:
        if context.meta.get("fault") != str(error):
            typer.echo(f"note: {spelled(str(error))}; what comes in waits", err=True)
        context.meta["fault"] = str(error)
    else:
        context.meta.pop("fault", None)
    send_news(place)


def _show(done: "Answered", as_json: bool) -> None:
    """Print an answer; exit with 1 if there is none, or it was not passed on."""
    came, source = done.came, done.queued.source
    fault = came.said if came.state in ("failed", "waiting") else done.fault
    if as_json:
        print_json(
            {
                "source": source,
                "state": came.state,
                "answer": came.said,
                "session": came.session,
                "tokens": came.tokens,
                "instructed": done.instructed,
            }
        )
    elif came.state in ("done", "silent"):
        typer.echo(spelled(came.said))
        told = "" if done.instructed else f"; AGENTS.md has no section for {source}"
        cost = counted(came.tokens, "token")
        typer.echo(f"session {came.session} · {cost}{told}", err=True)
    if fault:
        typer.echo(f"assistant: {spelled(fault)}", err=True)
        raise typer.Exit(1)
