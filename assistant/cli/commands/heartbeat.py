"""`heartbeat`: what the assistant does by itself."""

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from assistant.cli.help import TOOLS, examples, group
from assistant.cli.options import AsJson, print_json
from assistant.display import counted, spelled

if TYPE_CHECKING:
    from assistant.heartbeat.beat import Beat
    from assistant.settings.sections import HeartbeatSettings
    from assistant.upkeep.tasks import Task
    from assistant.workspace.folder import Workspace


heartbeat_commands = group("Run the tasks of HEARTBEAT.md, now or by a timer.")


def register(cli: typer.Typer) -> None:
    """Add the commands to the tree."""
    cli.add_typer(heartbeat_commands, name="heartbeat", rich_help_panel=TOOLS)
    heartbeat_commands.command()(run)
    heartbeat_commands.command()(explain)
    heartbeat_commands.command(
        epilog=examples(
            "assistant heartbeat install",
            "assistant heartbeat install --with cron --print",
            "assistant heartbeat install --undo",
        )
    )(install)


def run(
    context: typer.Context,
    test: Annotated[
        bool, typer.Option("--test", help="Send a test notification, and do nothing else.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Do what is due now, and answer events that wait; calls no model if nothing is."""
    from assistant.heartbeat import beat
    from assistant.heartbeat.events.answering import answered

    if test:
        from assistant.upkeep import outbox

        way = outbox.try_out(_settings().notify)
        if as_json:
            print_json({"sent": way})
        else:
            typer.echo(f"Sent: {spelled(way)}")
        return
    place, failed, told = context.obj.place(), False, []
    send_news(place)  # what no way had taken
    for done in beat.run(place, datetime.now(), no_daemon=context.obj.no_daemon):
        failed = failed or done.state in ("failed", "waiting")
        told.append(_told(done))
        if not as_json:
            _show(done)
        send_news(place)
    for event in answered(place, no_daemon=context.obj.no_daemon):
        typer.echo(f"{event.queued.event.title}: {event.came.state}", err=True)
        send_news(place)
    if as_json:
        print_json(told)
    if failed:
        raise typer.Exit(1)


def explain(context: typer.Context, as_json: AsJson = False) -> None:
    """Show how each task is understood, and when it is due next."""
    from assistant.heartbeat import beat
    from assistant.session import beats

    place, now = context.obj.place(), datetime.now()
    tasks, unread = beat.read(place)
    ready = {task.key: when for task, when in beat.due(place, now)}
    listed = [_explained(task, now, ready.get(task.key)) for task in tasks]
    spent = beats.load(place).spent
    most = _settings()
    if as_json:
        print_json(
            {
                "tasks": listed,
                "not_understood": [asdict(each) for each in unread],
                "tokens": {"month": spent, "monthly": most.monthly_tokens, "beat": most.tokens},
            }
        )
        return
    for task, each in zip(tasks, listed, strict=True):
        typer.echo(f"{task.citation}  {each['when']}, {each['late']} · {_next(each)}")
        typer.echo(typer.style(f"    {spelled(' '.join(task.text.split()))}", dim=True))
    for line in unread:
        said = " ".join(line.text.split())
        typer.echo(
            f"HEARTBEAT.md:{line.line} is not understood: “{spelled(said)}”. {line.cure}", err=True
        )
    if not tasks and not unread:
        typer.echo("HEARTBEAT.md has no task.", err=True)
    shown = f"{spent:,} of {most.monthly_tokens:,} tokens used this month"
    typer.echo(f"{shown}, at most {most.tokens:,} a beat", err=True)


def install(
    context: typer.Context,
    kind: Annotated[
        Literal["systemd", "launchd", "cron"] | None,
        typer.Option("--with", help="Use this timer; otherwise what the machine has."),
    ] = None,
    only_print: Annotated[
        bool, typer.Option("--print", help="Show what would be written, and write nothing.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the timer.")] = False,
) -> None:
    """Have a timer of this machine call `heartbeat run` every few minutes."""
    from assistant.upkeep import timers

    place = context.obj.place()
    if undo:
        gone = timers.uninstall(place)
        for where in gone:
            typer.echo(f"Removed: {spelled(where)}")
        if not gone:
            typer.echo("No timer is installed.")
        return
    minutes = _settings().every_minutes
    done = timers.install(place, kind or timers.choice(), minutes, write=not only_print)
    if only_print:
        typer.echo(spelled(done.text))
        return
    for where in done.places:
        typer.echo(f"Written: {spelled(where)}")
    typer.echo(f"It runs every {counted(minutes, 'minute')}.")
    typer.echo(
        f"note: it does not see the keys of this shell; put them into {timers.environment_file()}, "
        "as NAME=VALUE",
        err=True,
    )


def _settings() -> "HeartbeatSettings":
    from assistant import config
    from assistant.settings import tree as settings

    return settings.validate(config.load()).heartbeat


def _told(done: "Beat") -> dict[str, Any]:
    return {
        "task": done.task.text,
        "line": done.task.line,
        "due": f"{done.due:%Y-%m-%dT%H:%M}",
        "state": done.state,
        "said": done.said,
        "tokens": done.tokens,
        "session": done.session or None,
    }


def _show(done: "Beat") -> None:
    """What was said, on standard output; the rest beside it."""
    head = f"{done.task.citation} (due {done.due:%Y-%m-%d %H:%M})"
    cost = f" · {counted(done.tokens, 'token')}" if done.tokens else ""
    match done.state:
        case "done":
            typer.echo(spelled(done.said))
            session = f" · session {done.session}" if done.session else ""
            typer.echo(f"{head}{cost}{session}", err=True)
        case "failed" | "waiting":
            typer.echo(f"{head}: {spelled(done.said)}{cost}", err=True)
        case "skipped":
            typer.echo(f"{head}: skipped, it was late", err=True)
        case _:
            typer.echo(f"{head}: nothing to say{cost}", err=True)


def send_news(place: "Workspace") -> None:
    """Send what waits in the outbox; say what went wrong."""
    from assistant.session import beats
    from assistant.upkeep import outbox

    waits = any(not each.sent for each in beats.load(place).untold)
    if waits and (fault := outbox.send(place, _settings().notify)):
        typer.echo(f"note: {spelled(fault)}", err=True)


def _explained(task: "Task", now: datetime, ready: datetime | None) -> dict[str, Any]:
    from assistant.memory.text.times.schedule import told

    following = task.schedule.following(now)
    minutes = int(task.grace.total_seconds()) // 60
    return {
        "line": task.line,
        "text": task.text,
        "when": told(task.schedule),
        "late": f"skipped if more than {minutes} minutes late" if task.skips else "once if late",
        "due": f"{ready:%Y-%m-%dT%H:%M}" if ready else None,
        "skips": bool(ready and task.skips and now - ready > task.grace),
        "next": f"{following:%Y-%m-%dT%H:%M}" if following else None,
    }


def _next(each: dict[str, Any]) -> str:
    if each["due"]:
        since = each["due"].replace("T", " ")
        return f"to be skipped, due at {since}" if each["skips"] else f"due now, since {since}"
    return f"next {each['next'].replace('T', ' ')}" if each["next"] else "never again"
