"""`reach`: the channels by which the owner receives news."""

from collections.abc import Sequence
from typing import Literal

import typer

from assistant.cli.commands.config import save
from assistant.cli.commands.heartbeat import try_out
from assistant.cli.options import AsJson, Globals, answer, note
from assistant.cli.palette import echo
from assistant.errors import AssistantError, UsageError
from assistant.upkeep import outbox
from assistant.upkeep.reach import Way, forget, full, to_setting, ways


def reach(
    context: typer.Context,
    action: Literal["list", "add", "test", "remove"] = "list",
    address: str | None = None,
    as_json: AsJson = False,
) -> None:
    """Show, test or change how news reaches you.

    It comes by the desktop or your command, and by addresses of Apprise: ntfy, Telegram, Matrix,
    mail and others.

    Arguments:
      [list|add|test|remove]: What to do.
      [ADDRESS]: An address of Apprise, or a way that is listed.

    Examples:
      assistant reach list
      assistant reach add ntfy://my-topic
      assistant reach add 'tgram://[[secret:telegram]]/12345'
      assistant reach test
      assistant reach remove ntfy://my-topic
    """
    options: Globals = context.obj
    if address and action in ("list", "test"):
        raise UsageError(f"`{action}` takes no address", f"`assistant reach {action}` is enough")
    if action == "list":
        return _show(options)
    if action == "test":
        return try_out(options)
    if not address:
        raise UsageError("no address given", f"`assistant reach {action} ADDRESS`")
    settings = [*options.settings().reach.ways]
    way = _listed(settings, address)
    if action == "add":
        if way is None:
            settings.append(setting := to_setting(address))
            try:
                save("reach.ways", settings)
            except AssistantError:
                if setting != address:
                    forget(setting)
                raise
        added = way or ways("", settings)[-1]
        answer({"way": added.name})
        echo(f"{'Already there' if way else 'Added'}: {added.name}")
        note("`assistant reach test` sends a test")
    elif way is None:
        raise UsageError("there is no such address", "`assistant reach list` shows them")
    else:
        save("reach.ways", [setting for setting in settings if setting != way.setting])
        forget(way.setting)
        answer({"way": way.name})
        echo(f"Removed: {way.name}")


def _listed(settings: Sequence[str], address: str) -> Way | None:
    """Return the channel of an address, which may also be given as its setting or its name."""
    for way in ways("", settings):
        if address in (way.setting, way.name) or (not way.fault and address == full(way.setting)):
            return way
    return None


def _show(options: Globals) -> None:
    settings = options.settings()
    faults = outbox.faults(options.workspace(), settings)
    answer([{"way": name, "fault": fault} for name, fault in faults.items()])
    for name, fault in faults.items():
        echo(f"✗ {name}: {fault}" if fault else f"✓ {name}")
    if not faults:
        echo(f"News is shown only by the next chat. {outbox.NO_WAY}", err=True)
    if quiet := settings.reach.quiet:
        echo(f"Only reminders are sent between {quiet.replace('-', ' and ')}.", err=True)
