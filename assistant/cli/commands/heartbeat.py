"""`heartbeat`, `event` and `listen`: tasks the assistant runs by itself, and events from
outside."""

import sys
import threading
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from assistant.cli.options import AsJson, Globals, answer, at_terminal, input_bytes, note, option
from assistant.cli.palette import echo
from assistant.cli.questions import confirm
from assistant.display import counted
from assistant.errors import AssistantError, ConfigError, UsageError
from assistant.heartbeat import beat, queue
from assistant.heartbeat.beat import Beat
from assistant.heartbeat.incoming import MOST_BYTES, Incoming, incoming
from assistant.heartbeat.queue import Answered, answer_waiting
from assistant.heartbeat.unattended import check_trust
from assistant.memory.text.times.schedule import describe
from assistant.session import beats
from assistant.upkeep import outbox, timers
from assistant.upkeep.tasks import Task


def run(
    context: typer.Context,
    test: bool = False,
    as_json: AsJson = False,
) -> None:
    """Run the tasks that are due, and answer events that wait; calls no model if there are none.

    Arguments:
      --test: Only send a test notification.
    """
    options: Globals = context.obj
    if test:
        return try_out(options)
    done_beats: list[Beat] = []
    fault: ConfigError | None = None
    send_news(options)  # news not delivered before
    try:
        for finished in beat.run(options.workspace(), datetime.now(), no_daemon=options.no_daemon):
            done_beats.append(finished)
            _show(finished)
            send_news(options)
    except ConfigError as error:  # no model, or no tokens left: still show what was done
        fault = error
    try:
        for event in answer_waiting(options.workspace(), no_daemon=options.no_daemon):
            echo(f"{event.queued.title}: {event.outcome.state}", err=True)
            send_news(options)
    except ConfigError as error:
        if not fault:
            note(f"events wait in the queue: {error}")
    answer(
        [
            {
                "task": done.task.text,
                "line": done.task.line,
                "due": f"{done.due:%Y-%m-%dT%H:%M}",
                "state": done.outcome.state,
                "said": done.outcome.text,
                "tokens": done.outcome.tokens,
                "session": done.outcome.session or None,
            }
            for done in done_beats
        ]
    )
    if fault:
        raise fault
    if any(done.outcome.state in ("failed", "waiting") for done in done_beats):
        raise typer.Exit(1)


def _show(done: Beat) -> None:
    """Print the replies on standard output, and everything else on standard error."""
    outcome = done.outcome
    head = f"{done.task.citation} (due {done.due:%Y-%m-%d %H:%M})"
    cost = f" · {counted(outcome.tokens, 'token')}" if outcome.tokens else ""
    match outcome.state:
        case "done":
            echo(outcome.text)
            session = f" · session {outcome.session}" if outcome.session else ""
            echo(f"{head}{cost}{session}", err=True)
        case "failed" | "waiting":
            echo(f"{head}: {outcome.text}{cost}", err=True)
        case "skipped":
            echo(f"{head}: skipped because it was late", err=True)
        case _:
            echo(f"{head}: nothing to report{cost}", err=True)


def send_news(options: Globals) -> None:
    """Send undelivered news, and print faults as notes."""
    workspace = options.workspace()
    waits = any(not news.sent for news in beats.load(workspace).untold)
    if waits and (fault := outbox.send(workspace, options.settings())):
        note(fault)


def try_out(options: Globals) -> None:
    """Send a test to every channel; exit with 1 if one fails."""
    faults = outbox.try_out(options.workspace(), options.settings())
    answer([{"way": name, "fault": fault} for name, fault in faults.items()])
    for name, fault in faults.items():
        echo(f"✗ {name}: {fault}" if fault else f"Sent: {name}")
    if any(faults.values()):
        raise typer.Exit(1)


def explain(context: typer.Context, as_json: AsJson = False) -> None:
    """Show how each task is understood, and when it is due next."""
    workspace, now = context.obj.workspace(), datetime.now()
    tasks, unread = beat.read(workspace)
    ready = {task.key: when for task, when in beat.due(workspace, now)}
    explained = [_explained(task, now, ready.get(task.key)) for task in tasks]
    spent = beats.load(workspace).spent
    limits = context.obj.settings().heartbeat
    answer(
        {
            "tasks": explained,
            "not_understood": unread,
            "tokens": {"month": spent, "monthly": limits.monthly_tokens, "beat": limits.tokens},
        }
    )
    for task, facts in zip(tasks, explained, strict=True):
        echo(f"{task.citation}  {facts['when']}, {facts['late']} · {_next(facts)}")
        echo(f"    {' '.join(task.text.split())}", faint=True)
    for line in unread:
        text = f"“{' '.join(line.text.split())}”"
        if not line.text.startswith(line.word):
            text += f", at “{line.word}”"
        echo(f"HEARTBEAT.md:{line.line} is not understood: {text}. {line.cure}", err=True)
    if not tasks and not unread:
        echo("HEARTBEAT.md has no tasks.", err=True)
    used = f"{spent:,} of {limits.monthly_tokens:,} tokens used this month"
    echo(f"{used}, at most {limits.tokens:,} per run", err=True)


def _explained(task: Task, now: datetime, ready: datetime | None) -> dict[str, Any]:
    following = task.schedule.following(now)
    minutes = int(task.grace.total_seconds()) // 60
    skipped = f"skipped if more than {minutes} minutes late"
    return {
        "line": task.line,
        "text": task.text,
        "when": describe(task.schedule),
        "late": skipped if task.skips else "run once if missed",
        "due": f"{ready:%Y-%m-%dT%H:%M}" if ready else None,
        "skips": bool(ready and task.skips and now - ready > task.grace),
        "next": f"{following:%Y-%m-%dT%H:%M}" if following else None,
    }


def _next(facts: dict[str, Any]) -> str:
    if facts["due"]:
        since = facts["due"].replace("T", " ")
        return f"will be skipped, was due {since}" if facts["skips"] else f"due since {since}"
    return f"next {facts['next'].replace('T', ' ')}" if facts["next"] else "never again"


def install(
    context: typer.Context,
    kind: Literal["systemd", "launchd", "cron"] | None = None,
    only_print: bool = False,
    undo: bool = False,
) -> None:
    """Install a timer that calls `heartbeat run` every few minutes.

    Arguments:
      --with: Use this kind of timer, not the machine's usual one.
      --print: Show what would be written, without writing it.
      --undo: Remove the timer.

    Examples:
      assistant heartbeat install
      assistant heartbeat install --with cron --print
      assistant heartbeat install --undo
    """
    workspace = context.obj.workspace()
    if undo:
        removed = timers.uninstall(workspace)
        for path in removed:
            echo(f"Removed: {path}")
        if not removed:
            echo("No timer is installed.")
        return
    minutes = context.obj.settings().heartbeat.every_minutes
    kind = kind or timers.choice()
    files = timers.files(workspace, kind, minutes)
    if only_print:
        echo("\n".join(files.values()))
        return
    timers.install(workspace, kind, files)
    for path in files:
        echo(f"Written: {path}")
    echo(f"It runs every {counted(minutes, 'minute')}.")
    file = timers.environment_file()
    note(f"the timer does not see API keys set in this shell: put them into {file}, as NAME=VALUE")
    if timers.ends_at_logout(workspace):
        note(f"the timer stops when you log out: {timers.LINGER}")


def offer_timer(context: typer.Context) -> None:
    """Offer to install the machine's usual timer, if it supports one."""
    try:
        timers.choice()
    except ConfigError:
        return
    if confirm("Install it now?"):
        install(context)


# Events

PAUSE = 1.0
"""Seconds between two checks of the folder."""
REST = 30.0
"""Seconds between two checks of the queue for retries."""


def event(
    context: typer.Context,
    source: str,
    reply_to: str | None = None,
    id: str = "",
    as_json: AsJson = False,
) -> None:
    """Answer an event: a JSON object on standard input, handled as AGENTS.md says.

    Its content is untrusted data. While another process answers events, it waits in the queue.

    Arguments:
      --source NAME: Its sender, such as `github`.
      --reply-to COMMAND: Pipe the answer into this command.
      --id ID: Answer an event of this id only once.

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
    reply = None
    message = "Queued: another process is answering events, and will answer this one."
    if not own:
        message = f"Event {id} from {source} was queued before."
    else:
        try:
            for answered in answer_waiting(
                options.workspace(), own=own, no_daemon=options.no_daemon
            ):
                reply = answered if answered.queued.name == own else reply
        except ConfigError as error:  # no model, or no tokens left
            message = f"Queued for the next `heartbeat run` or `listen`: {error}"
    if reply:
        return _show_reply(reply)
    echo(message, err=True)
    answer({"source": source, "state": "queued" if own else "known"})


def _show_reply(reply: Answered) -> None:
    """Print an answer; exit with 1 if it failed or could not be passed on."""
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
        echo(outcome.text)
        hint = "" if reply.instructed else f"; AGENTS.md has no section for {source}"
        cost = counted(outcome.tokens, "token")
        echo(f"session {outcome.session} · {cost}{hint}", err=True)
    if fault:
        echo(f"assistant: {fault}", err=True)
        raise typer.Exit(1)


def listen(
    context: typer.Context,
    folder: Path | None = None,
    port: Annotated[int | None, partial(option, min=1, max=65535)] = None,
) -> None:
    """Answer events as they come, until Ctrl-C.

    Arguments:
      --folder DIR: Read files in DIR/SOURCE/ as events.
      --port PORT: Accept HTTP requests from this machine.

    Examples:
      assistant listen --folder ~/events
      assistant listen --port 8722
    """
    from assistant.heartbeat import listening  # an HTTP server: slow to import

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
        echo(f"POST http://{listening.HOST}:{port}/SOURCE, with the token in {token_file}")
    if folder:
        echo(f"Files in {folder.absolute()}/SOURCE/")
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
    """Answer the queued and the arriving events; return why that is not possible."""
    fault = ""
    try:
        for refused in arriving:
            note(refused)
        for answered in answer_waiting(options.workspace(), no_daemon=options.no_daemon):
            outcome = answered.outcome
            cost = counted(outcome.tokens, "token")
            line = f"{outcome.state} · session {outcome.session} · {cost}"
            echo(f"{answered.queued.title}: {line}")
            sys.stdout.flush()
    except AssistantError as error:
        fault = str(error)
    send_news(options)
    return fault
