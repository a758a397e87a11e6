"""The outbox: what the program has to tell its owner who is not there.

It is written down before it is sent, sent again at each look of the heartbeat until a way has taken
it, and shown by the next chat or `ask`. Ways are the desktop's notification or the owner's command.
"""

import os
import subprocess
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from assistant.disk import programs, storage
from assistant.display import shortened
from assistant.errors import AssistantError, ConfigError, StorageError
from assistant.secrets.current import redactor
from assistant.session import beats
from assistant.session.beats import News
from assistant.session.entries import AssistantEntry, InterruptedEntry
from assistant.session.transcript import read
from assistant.upkeep.tasks import tasks
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace, read_text

TITLE = "assistant"
SECONDS = 20.0
SCRIPT = """\
on run argv
display notification (item 1 of argv) with title (item 2 of argv)
end
"""
LONGEST = 500
"""Characters of a notification."""
SHOWN = 160
"""Characters of an answer that the next chat is told."""
MOST_SHOWN = 5
TEST = "This is a test: what the assistant has to tell you arrives here."
NO_WAY = (
    "Set `heartbeat.notify` to a command that reads a text on standard input, such as "
    "`apprise ntfy://my-topic`, or install notify-send"
)
GONE = f"gone from {HEARTBEAT_FILE}"


def send(workspace: Workspace, command: str | None) -> str:
    """Send what no way has taken yet, by the shell's `command` if there is one; what went wrong.

    After a fault the rest waits for the next time.
    """
    for news in (each for each in beats.load(workspace).untold if not each.sent):
        way = _way(_text(workspace, news), command)
        if way is None:
            return ""
        fault = _run(*way)
        with beats.changing(workspace) as known:
            known.fault = fault
            if not fault:
                known.delivered = datetime.now().isoformat(timespec="minutes")
                for each in known.untold:
                    each.sent = each.sent or each == news
        if fault:
            return fault
    return ""


def try_out(command: str | None) -> str:
    """Send a test by the way that is set; the program that took it. Raises ConfigError if there is
    no way, or it failed."""
    way = _way(TEST, command)
    if way is None:
        raise ConfigError("there is no way to send you anything", NO_WAY)
    if fault := _run(*way):
        raise ConfigError(fault, "See `heartbeat.notify` in the configuration")
    return command or Path(way[0][0]).name


def take(workspace: Workspace) -> list[str]:
    """What there is to tell, a line each; from now on it is told."""
    if not beats.load(workspace).untold:
        return []
    with beats.changing(workspace) as known:
        news = known.untold
        lines = [_line(workspace, each) for each in news[-MOST_SHOWN:]]
        known.untold = []
    more = len(news) - len(lines)
    return [*lines, *([f"{more} earlier beats: `assistant sessions list`"] if more else ())]


def keep_findings(workspace: Workspace, faults: Sequence[str]) -> None:
    """Keep what `doctor` found wrong in place of what was kept. Raises StorageError."""
    if faults:
        storage.private_directory(workspace.private)
        storage.replace(workspace.findings, "\n".join(faults).encode())
    else:
        workspace.findings.unlink(missing_ok=True)


def take_findings(workspace: Workspace) -> list[str]:
    """What `doctor` found wrong, for the only time."""
    kept = storage.held(workspace.findings).decode("utf-8", "replace")
    workspace.findings.unlink(missing_ok=True)
    return [f"`assistant doctor` found: {fault}" for fault in kept.splitlines()]


def _line(workspace: Workspace, news: News) -> str:
    text = _text(workspace, news)
    text = text if news.failed else shortened(text, SHOWN)
    said = f"{news.source or 'heartbeat'}, {news.due.replace('T', ' ')}: {text}"
    return f"{said} · `assistant sessions show {news.session[-3:]}`" if news.session else said


def _text(workspace: Workspace, news: News) -> str:
    """What the owner is told, on one line and without secrets."""
    if news.failed:
        text = news.failed
    elif news.task:
        text = _reminder(workspace, news.task) or f"a reminder was due, and its line is {GONE}"
    else:
        text = _answer(workspace, news.session) or "its session is gone"
    return redactor().redact(" ".join(text.split()))


def _reminder(workspace: Workspace, key: str) -> str:
    try:
        found = tasks(read_text(workspace.root / HEARTBEAT_FILE))[0]
    except (FileNotFoundError, StorageError):
        return ""
    return next((f"{task.text} ({task.citation})" for task in found if task.key == key), "")


def _answer(workspace: Workspace, session: str) -> str:
    try:
        entries = read(workspace.sessions, session)
    except AssistantError:
        return ""
    texts = [e.text for e in entries if isinstance(e, AssistantEntry | InterruptedEntry)]
    return next((text for text in reversed(texts) if text.strip()), "")


def _way(text: str, command: str | None) -> tuple[list[str], str] | None:
    """The command that takes a text, and what it reads; None if there is none."""
    if command is not None:
        return (["sh", "-c", command], text) if command else None
    shown = shortened(text, LONGEST)
    if program := programs.find("notify-send"):
        return [program, "--", TITLE, shown], ""
    if program := programs.find("osascript"):
        return [program, "-e", SCRIPT, shown, TITLE], ""
    return None


def _run(command: list[str], text: str) -> str:
    """Run it; what went wrong, or nothing."""
    bus = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}") / "bus"
    session = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={bus}"} if bus.exists() else {}
    try:
        done = subprocess.run(
            command,
            input=text,
            text=True,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env=session | os.environ,  # cron does not tell the session's bus
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the notification failed: {error}"
    if done.returncode:
        return f"the notification failed with {done.returncode}: {done.stderr.strip()[:200]}"
    return ""
