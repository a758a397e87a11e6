"""`event` and `listen`: events from outside, each answered as a turn."""

import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from assistant.cli.commands.heartbeat import send_news
from assistant.cli.options import AsJson, Globals, answer, at_terminal, input_bytes, note, option
from assistant.display import counted, spelled
from assistant.errors import AssistantError, ConfigError, UsageError
from assistant.heartbeat import listening, queue
from assistant.heartbeat.incoming import MOST_BYTES, Incoming, incoming
from assistant.heartbeat.queue import Answered, answer_waiting
from assistant.heartbeat.unattended import check_trust

PAUSE = 1.0
"""Seconds between two checks of the folder."""
REST = 30.0
"""Seconds between two checks of the queue for retries."""


def event(
    context: typer.Context,
    source: Annotated[str, option("--source NAME", "Its sender, such as `github`.")],
    reply_to: Annotated[
        str | None, option("--reply-to COMMAND", "Pipe the answer into this command.")
    ] = None,
    id: Annotated[str, option("--id ID", "Answer an event of this id only once.")] = "",
    as_json: AsJson = False,
) -> None:
    """Answer an event: a JSON object on standard input, handled as AGENTS.md says.

    Its content is untrusted data. While another process answers events, it waits in the queue.

    Examples:
      curl -s https://ci.example/last | assistant event --source ci
      cat event.json | assistant event --source mail --reply-to 'tee answer.txt'
    """
    options: Globals = context.obj
    check_trust(options.workspace())
    if at_terminal():
        raise UsageError("no event on standard input", "Pipe one JSON object into it")
    received = incoming(source, input_bytes(MOST_BYTES + 1))
    own = queue.put(options.workspace(), received, id=id, reply_to=reply_to)
    state, reply = "queued", None
    message = "Queued: another process is answering events, and will answer this one."
    if not own:
        state, message = "known", f"Event {id} from {source} was queued before."
    else:
        try:
            for answered in answer_waiting(
                options.workspace(), own=own, no_daemon=options.no_daemon
            ):
                reply = answered if answered.queued.name == own else reply
        except ConfigError as error:  # no model, or no tokens
            message = f"Queued for the next `heartbeat run` or `listen`: {error}"
    if reply:
        return _show(reply)
    typer.echo(message, err=True)
    answer({"source": source, "state": state})


def _show(reply: Answered) -> None:
    """Print an answer; exit with 1 if it failed, or was not passed on."""
    outcome, source = reply.outcome, reply.queued.source
    fault = outcome.text if outcome.state in ("failed", "waiting") else reply.fault
    answer(
        {
            "source": source,
            "state": outcome.state,
            "answer": outcome.text,
            "session": outcome.session,
            "tokens": outcome.tokens,
            "instructed": reply.instructed,
        }
    )
    if outcome.state in ("done", "silent"):
        typer.echo(spelled(outcome.text))
        hint = "" if reply.instructed else f"; AGENTS.md has no section for {source}"
        cost = counted(outcome.tokens, "token")
        typer.echo(f"session {outcome.session} · {cost}{hint}", err=True)
    if fault:
        typer.echo(f"assistant: {spelled(fault)}", err=True)
        raise typer.Exit(1)


def listen(
    context: typer.Context,
    folder: Annotated[
        Path | None, option("--folder DIR", "Read files in DIR/SOURCE/ as events.")
    ] = None,
    port: Annotated[
        int | None,
        option("--port PORT", "Accept HTTP requests from this machine.", min=1, max=65535),
    ] = None,
) -> None:
    """Answer events as they come, until Ctrl-C.

    Examples:
      assistant listen --folder ~/events
      assistant listen --port 8722
    """
    workspace = context.obj.workspace()
    check_trust(workspace)
    if folder is None and port is None:
        raise UsageError("there is nothing to listen to", "Give --folder, --port, or both")
    if folder and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", f"mkdir -p {folder}/mail")
    if folder and workspace.root.is_relative_to(folder.resolve()):
        raise UsageError(
            f"{folder} contains the workspace, and files that were read are deleted",
            "Name a folder that is only for events",
        )
    arrived = threading.Event()

    def put(event: Incoming, id: str = "") -> None:
        queue.put(workspace, event, id=id)
        arrived.set()

    if port is not None:
        secret, token_file = listening.token(workspace)
        server = listening.EventServer(port, secret, put)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        typer.echo(f"POST http://{listening.HOST}:{port}/SOURCE, with the token in {token_file}")
    if folder:
        typer.echo(f"Files in {folder.absolute()}/SOURCE/")
    sys.stdout.flush()
    fault = ""
    while True:
        arriving = listening.take_files(folder, put) if folder else ()
        before, fault = fault, _answer(context.obj, arriving)
        if fault and fault != before:
            note(f"{fault}; events wait in the queue")
        arrived.wait(PAUSE if folder else REST)
        arrived.clear()


def _answer(options: Globals, arriving: Iterable[str]) -> str:
    """Answer the queue, and what is arriving; return why that is not possible."""
    fault = ""
    try:
        for refused in arriving:
            note(refused)
        for answered in answer_waiting(options.workspace(), no_daemon=options.no_daemon):
            outcome = answered.outcome
            cost = counted(outcome.tokens, "token")
            line = f"{outcome.state} · session {outcome.session} · {cost}"
            typer.echo(spelled(f"{answered.queued.title}: {line}"))
            sys.stdout.flush()
    except AssistantError as error:
        fault = str(error)
    send_news(options)
    return fault
