"""Reminders: one line of HEARTBEAT.md each, told at its time as it stands, without a model."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from assistant.acting.heartbeat import install
from assistant.acting.heartbeat.tasks import Task, tasks
from assistant.disk import locking, storage
from assistant.errors import UsageError
from assistant.memory.text.markdown import newline
from assistant.memory.text.schedule import told
from assistant.memory.text.schedule_words import begins_with_time, instruction, moment
from assistant.session import beats
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace, read_text

HEADING = "## Reminders"
CURE = "Say it like “in 20 minutes”, “tomorrow at 9”, “next Monday at 10” or “every Friday at 9”"
RECENT = timedelta(hours=2)
"""A heartbeat that looked so lately will look again, whoever calls it."""
_JOINT = re.compile(r"[\s,:]*(?:(?:to|that|of|daran|an)\b[\s,:]*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder that was written down: when it is told, what, and where it stands."""

    when: str
    text: str
    line: int
    wakes: bool
    """Whether anything on this machine will tell it."""


def remind(place: Workspace, words: str, now: datetime) -> Reminder:
    """Write a reminder down: `words` begin with when, and go on with what.

    Raises UsageError naming the word that is not understood.
    """
    words = " ".join(words.split())
    found = moment(words, now)
    if isinstance(found, tuple):
        due, end = found
        if stuck := begins_with_time(words[end:]):
            raise UsageError(f"“{stuck}” is not understood as a time", CURE)
        what, when = words[end:], f"on {due:%Y-%m-%d} at {due:%H:%M}"
        year = "" if due.year == now.year else f" {due.year}"
        shown = f"{due:%a} {due.day} {due:%b}{year}, {due:%H:%M}"
    else:
        rhythm = instruction(words)
        if not isinstance(rhythm, tuple):
            why = rhythm if rhythm and rhythm.word and not found.cure else found
            raise UsageError(f"“{why.word}” is not understood as a time", why.cure or CURE)
        schedule, what = rhythm
        when, shown = words[: len(words) - len(what)].rstrip(" :,—–-"), told(schedule)
    what = what[_begin.end() :] if (_begin := _JOINT.match(what)) else what
    what = what.replace("<!--", "<! --").strip()
    if not what:
        raise UsageError("there is nothing to remind of", "Say it behind the time")
    task = _written(place, f"- {when} remind me: {what}", now)
    return Reminder(shown, task.text, task.line, _wakes(place, now))


def _written(place: Workspace, line: str, now: datetime) -> Task:
    """Put the line under the heading of reminders, and have the task count from now on."""
    path = place.root / HEARTBEAT_FILE
    with locking.lock(storage.private_directory(place.private) / "remind.lock"):
        try:
            text = read_text(path)
        except FileNotFoundError:
            text = "# Heartbeat\n"
        ending = newline(text)
        lines = text.rstrip().split(ending)
        if HEADING in lines:
            at = lines.index(HEADING) + 1
            while at < len(lines) and not lines[at].startswith("#"):
                at += 1
            while not lines[at - 1].strip():
                at -= 1
            lines[at:at] = ["", line] if lines[at - 1] == HEADING else [line]
        else:
            lines += ["", HEADING, "", line]
        text, number = f"{ending.join(lines)}{ending}", lines.index(line) + 1
        task = next((each for each in tasks(text)[0] if each.line == number), None)
        if task is None:
            raise UsageError(f"“{line}” cannot be read as a reminder", CURE)
        storage.replace(path, text.encode())
    with beats.changing(place) as known:
        known.seen[task.key] = now.isoformat(timespec="seconds")
    return task


def _wakes(place: Workspace, now: datetime) -> bool:
    """Whether a timer is installed for the workspace, or something has looked of late."""
    looked = beats.load(place).looked
    return install.is_installed(place) or bool(
        looked and abs(now - datetime.fromisoformat(looked)) < RECENT
    )
