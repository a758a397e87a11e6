"""`heartbeat run|explain|install|uninstall`: what the assistant looks after by itself."""

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from assistant.cli.help import commands
from assistant.cli.options import AsJson, print_json
from assistant.display import counted, spelled

if TYPE_CHECKING:
    from assistant.acting.heartbeat.tasks import Task
    from assistant.acting.heartbeat.telling import Beat
    from assistant.settings.tools import HeartbeatSettings


heartbeat_commands = commands("What the assistant looks after by itself: HEARTBEAT.md's tasks.")


def register(cli: typer.Typer) -> None:
    """Add the commands to the tree."""
    cli.add_typer(heartbeat_commands, name="heartbeat")
    for command in (run, explain, install, uninstall):
        heartbeat_commands.command()(command)


def run(context: typer.Context, as_json: AsJson = False) -> None:
    """Do what is due now, and end; no model is called if nothing is."""
    from assistant.acting.heartbeat import beat

    place, failed, told = context.obj.place(), False, []
    for done in beat.run(place, datetime.now(), no_daemon=context.obj.no_daemon):
        failed = failed or done.state in ("failed", "waiting")
        told.append(_told(done))
        if not as_json:
            _show(done)
        if done.state in ("done", "failed", "waiting") and not done.again:
            _notify(done)
    if as_json:
        print_json(told)
    if failed:
        raise typer.Exit(1)


def explain(context: typer.Context, as_json: AsJson = False) -> None:
    """Show how each task is understood, when it is due next, and the lines that are not."""
    from assistant.acting.heartbeat import beat
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
        typer.Option("--with", help="Which timer; else what the machine has."),
    ] = None,
    only_print: Annotated[
        bool, typer.Option("--print", help="Only show what would be written.")
    ] = False,
) -> None:
    """Have the machine's own timer call `heartbeat run` every few minutes."""
    from assistant.acting.heartbeat import install as timers

    place = context.obj.place()
    minutes = _settings().every_minutes
    done = timers.install(place, kind or timers.choice(), minutes, write=not only_print)
    if only_print:
        typer.echo(spelled(done.text))
        return
    for where in done.places:
        typer.echo(f"Written: {spelled(where)}")
    typer.echo(f"It looks every {counted(minutes, 'minute')}; `assistant heartbeat explain`.")
    typer.echo(
        f"note: a key from this shell is not there; put it into {timers.environment_file()}, "
        "as NAME=VALUE",
        err=True,
    )


def uninstall(context: typer.Context) -> None:
    """Take the heartbeat of this workspace out of the machine's timers."""
    from assistant.acting.heartbeat import install as timers

    gone = timers.uninstall(context.obj.place())
    for where in gone:
        typer.echo(f"Removed: {spelled(where)}")
    if not gone:
        typer.echo("There was none.")


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


def _notify(done: "Beat") -> None:
    from assistant.acting.heartbeat.notify import notify

    if fault := notify(done.said, _settings().notify):
        typer.echo(f"note: {spelled(fault)}", err=True)


def _explained(task: "Task", now: datetime, ready: datetime | None) -> dict[str, Any]:
    from assistant.memory.text.schedule import told

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
