"""The outbox: what the program has to tell its owner while they are away.

News is written down before it is sent, retried at each heartbeat until it is delivered, and shown
by the next chat or `ask`. It is delivered by the owner's command or a notification of the desktop.
"""

import os
from datetime import datetime
from pathlib import Path

from assistant.disk import locking, programs, storage
from assistant.display import shortened
from assistant.errors import AssistantError, ConfigError, StorageError
from assistant.secrets.registered import redactor
from assistant.session import beats
from assistant.session.beats import News
from assistant.session.entries import AssistantEntry, InterruptedEntry
from assistant.session.transcript import read
from assistant.upkeep.tasks import tasks
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace

TITLE = "assistant"
SCRIPT = """\
on run argv
display notification (item 1 of argv) with title (item 2 of argv)
end
"""
LONGEST = 500
"""Characters of a notification."""
SHOWN = 160
"""Characters of an answer that the next chat shows."""
MOST_SHOWN = 5
TEST = "This is a test: news from the assistant arrives here."
NO_WAY = (
    "Set `heartbeat.notify` to a command that reads standard input, such as "
    "`apprise ntfy://my-topic`, or install notify-send"
)
GONE = f"gone from {HEARTBEAT_FILE}"


def send(workspace: Workspace, command: str | None) -> str:
    """Send undelivered news, by the shell `command` if there is one; return what went wrong.

    After a fault the rest waits for the next attempt. One process sends at a time, and also what
    the others add meanwhile.
    """
    path = storage.private_directory(workspace.private) / "outbox.lock"
    while _unsent(workspace) and (lock := locking.try_lock(path)):
        with lock:
            if (news := _unsent(workspace)) is None:
                continue
            call = _notification(_text(workspace, news), command)
            if call is None:
                return ""
            fault = _run(*call)
            with beats.changing(workspace) as state:
                state.fault = fault
                if not fault:
                    state.delivered = datetime.now().isoformat(timespec="minutes")
                    for item in state.untold:
                        item.sent = item.sent or item == news
            if fault:
                return fault
    return ""


def _unsent(workspace: Workspace) -> News | None:
    """The oldest news that has not been sent."""
    return next((news for news in beats.load(workspace).untold if not news.sent), None)


def try_out(command: str | None) -> str:
    """Send a test; return the program that took it. Raises ConfigError if none does."""
    call = _notification(TEST, command)
    if call is None:
        raise ConfigError("no notification can be sent", NO_WAY)
    if fault := _run(*call):
        raise ConfigError(fault, "See `heartbeat.notify` in the configuration")
    return command or Path(call[0][0]).name


def take(workspace: Workspace) -> list[str]:
    """Take all news out of the outbox, as lines; what is left out is in a session."""
    if not beats.load(workspace).untold:
        return []
    with beats.changing(workspace) as state:
        news = state.untold
        reminders = {item.task: item for item in news if item.task}  # the latest of each
        shown = [*reminders.values(), *[item for item in news if not item.task][-MOST_SHOWN:]]
        lines = [_line(workspace, item) for item in news if item in shown]
        state.untold = []
    more = sum(not item.task for item in news if item not in shown)
    return [*lines, *([f"{more} earlier: `assistant sessions list`"] if more else ())]


def _line(workspace: Workspace, news: News) -> str:
    text = _text(workspace, news)
    text = text if news.failed else shortened(text, SHOWN)
    line = f"{news.source or 'heartbeat'}, {news.due.replace('T', ' ')}: {text}"
    return f"{line} · `assistant sessions show {news.session[-3:]}`" if news.session else line


def _text(workspace: Workspace, news: News) -> str:
    """The text for the owner, on one line and without secrets."""
    if news.failed:
        text = news.failed
    elif news.task:
        text = _reminder(workspace, news.task) or f"a reminder was due, and its line is {GONE}"
    else:
        text = _answer(workspace, news.session) or "its session is gone"
    return redactor().redact(" ".join(text.split()))


def _reminder(workspace: Workspace, key: str) -> str:
    try:
        reminders = tasks(workspace.text(HEARTBEAT_FILE))[0]
    except StorageError:
        return ""
    return next((f"{task.text} ({task.citation})" for task in reminders if task.key == key), "")


def _answer(workspace: Workspace, session: str) -> str:
    try:
        entries = read(workspace.sessions, session)
    except AssistantError:
        return ""
    texts = [e.text for e in entries if isinstance(e, AssistantEntry | InterruptedEntry)]
    return next((text for text in reversed(texts) if text.strip()), "")


def _notification(text: str, command: str | None) -> tuple[list[str], str] | None:
    """The command that notifies the owner, and its input; None if there is none."""
    if command is not None:
        return (["sh", "-c", command], text) if command else None
    shown = shortened(text, LONGEST)
    if program := programs.find("notify-send"):
        return [program, "--", TITLE, shown], ""
    if program := programs.find("osascript"):
        return [program, "-e", SCRIPT, shown, TITLE], ""
    return None


def _run(command: list[str], text: str) -> str:
    """Run a command; return what went wrong."""
    bus = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}") / "bus"
    session = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={bus}"} if bus.exists() else {}
    try:  # cron does not set the bus
        programs.run("the notification", command, text, session | os.environ)
    except StorageError as error:
        return error.message
    return ""
