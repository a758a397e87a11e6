"""The outbox: news for the owner while they are away.

News is written down before it is sent, retried at each heartbeat until it is delivered, and shown
by the next chat, `ask` or coding agent. It is sent through every channel of `reach.py`, and counts
as delivered when one accepts it.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from assistant.disk import locking, storage
from assistant.display import shortened
from assistant.errors import AssistantError, ConfigError, StorageError
from assistant.secrets.registered import redactor
from assistant.session import beats
from assistant.session.beats import News
from assistant.session.entries import AssistantEntry, InterruptedEntry
from assistant.session.transcript import read
from assistant.upkeep.reach import ways
from assistant.upkeep.tasks import tasks
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace

if TYPE_CHECKING:
    from assistant.settings.tree import Settings

HEADLINE = 80
"""Maximum characters of news sent as a headline only."""
SHOWN = 160
"""Maximum characters of an answer that the next chat shows."""
MOST_SHOWN = 5
TEST = "This is a test: news from the assistant arrives here."
NO_WAY = (
    "`assistant reach add ntfy://my-topic` reaches a phone. Or install notify-send, or set "
    "`heartbeat.notify` to a command that reads standard input"
)
GONE = f"gone from {HEARTBEAT_FILE}"


def send(workspace: Workspace, settings: "Settings") -> str:
    """Send undelivered news through every configured channel; return why none accepted it.

    After a fault the rest waits for the next attempt, and in quiet hours everything but reminders
    waits. One process sends at a time, and also sends what others add meanwhile.
    """
    path, chosen = storage.private_directory(workspace.private) / "outbox.lock", settings.reach
    quiet = chosen.is_quiet(datetime.now().time())
    while _unsent(workspace, quiet) and (lock := locking.try_lock(path)):
        with lock:
            if (news := _unsent(workspace, quiet)) is None:
                continue
            text = _text(workspace, news)
            faults = _sent(shortened(text, HEADLINE) if chosen.headline else text, settings)
            if not faults:
                return ""
            with beats.changing(workspace) as state:
                state.faults = {name: fault for name, fault in faults if fault}
                if taken := not all(fault for _, fault in faults):
                    state.delivered = datetime.now().isoformat(timespec="minutes")
                    for item in state.untold:
                        item.sent = item.sent or item == news
            if not taken:
                return "; ".join(f"{name}: {fault}" for name, fault in faults)
    return ""


def _unsent(workspace: Workspace, quiet: bool) -> News | None:
    """Return the oldest news that may be sent now."""
    untold = beats.load(workspace).untold
    return next((news for news in untold if not news.sent and (news.task or not quiet)), None)


def _sent(text: str, settings: "Settings") -> list[tuple[str, str]]:
    """Send a text through every channel; return their names, each with its fault."""
    listed = ways(settings.heartbeat.notify, settings.reach.ways)
    redact = redactor().redact
    return [(way.name, redact(way.send(text))) for way in listed]


def faults(workspace: Workspace, settings: "Settings") -> dict[str, str]:
    """Return each channel's name, with why it cannot be used or did not accept the latest news."""
    latest = beats.load(workspace).faults
    listed = ways(settings.heartbeat.notify, settings.reach.ways)
    return {way.name: way.fault or latest.get(way.name, "") for way in listed}


def try_out(workspace: Workspace, settings: "Settings") -> dict[str, str]:
    """Send a test through every channel; return each one's fault. Raises ConfigError if there is
    none."""
    if not (tried := dict(_sent(TEST, settings))):
        raise ConfigError("no notification can be sent", NO_WAY)
    with beats.changing(workspace) as state:
        state.faults = {name: fault for name, fault in tried.items() if fault}
    return tried


def take(workspace: Workspace) -> list[str]:
    """Take all news out of the outbox, as lines; a session has the text that they leave out."""
    if not beats.load(workspace).untold:
        return []
    with beats.changing(workspace) as state:
        lines = _lines(workspace, state.untold)
        state.untold = []
    return lines


def undelivered(workspace: Workspace) -> list[str]:
    """Return the news not delivered yet, as lines; it stays in the outbox."""
    return _lines(workspace, [item for item in beats.load(workspace).untold if not item.sent])


def _lines(workspace: Workspace, news: Sequence[News]) -> list[str]:
    reminders = {item.task: item for item in news if item.task}  # only the latest of each
    shown = [*reminders.values(), *[item for item in news if not item.task][-MOST_SHOWN:]]
    more = sum(not item.task for item in news if item not in shown)
    lines = [_line(workspace, item) for item in news if item in shown]
    return [*lines, *([f"{more} earlier: `assistant sessions list`"] if more else ())]


def _line(workspace: Workspace, news: News) -> str:
    text = _text(workspace, news)
    text = text if news.failed else shortened(text, SHOWN)
    line = f"{news.source or 'heartbeat'}, {news.due.replace('T', ' ')}: {text}"
    return f"{line} · `assistant sessions show {news.session[-3:]}`" if news.session else line


def _text(workspace: Workspace, news: News) -> str:
    """Return the text for the owner, on one line and without secrets."""
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
