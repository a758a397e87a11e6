"""Reminders: lines of HEARTBEAT.md that are delivered at their time, without a model."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from assistant.errors import UsageError
from assistant.memory.base import Origin
from assistant.memory.open import amend_files, with_item
from assistant.memory.text.times.schedule import describe
from assistant.memory.text.times.wording import (
    instruction,
    moment,
    time_within,
)
from assistant.session import beats
from assistant.upkeep import timers
from assistant.upkeep.tasks import Task, tasks
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace

HEADING = "Reminders"
CURE = (
    "Begin with a time, such as “in 20 minutes”, “tomorrow at 9”, “on the 30th at 9”, “next Monday "
    "at 10” or “every other Friday at 9”"
)
RECENT = timedelta(hours=3)
"""If the heartbeat ran several times this recently, the owner is assumed to have a timer for it."""
NOTHING_WAKES = "No timer is installed that would deliver it"
OWNER = Origin()
_WHO = re.compile(r"\A(?:me|us|mich|uns)\b[\s,:]*", re.IGNORECASE)
_JOINT = re.compile(r"\A(?:to|daran)\b[\s,]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder in HEARTBEAT.md: its time, its text, and its line."""

    when: str
    text: str
    line: int
    next: str
    """The next time that it is due, as `2026-11-24T09:00` in local time."""
    is_new: bool
    """Whether it was added now."""
    wakes: bool
    """Whether anything on this machine will deliver it."""

    @property
    def confirmation(self) -> str:
        """A confirmation: "Tue 24 Nov, 09:00: call the bank (HEARTBEAT.md:21)"."""
        text = f"{self.when}: {self.text} ({HEARTBEAT_FILE}:{self.line})"
        return text if self.is_new else f"Already there: {text}"

    @property
    def note(self) -> str:
        """What the owner has to do so that it is delivered; empty for nothing."""
        return "" if self.wakes else f"{NOTHING_WAKES}. {timers.advice()}"


def remind(
    workspace: Workspace, when: str, now: datetime, what: str = "", origin: Origin = OWNER
) -> Reminder:
    """Write a reminder into HEARTBEAT.md, unless one with this time and text exists.

    Without `what`, the text follows the time in `when`.

    `memory undo` undoes it. Raises UsageError with the word that is not understood, LedgerError if
    the file changes meanwhile.
    """
    when, what = (" ".join(text.split()) for text in (when, what))
    time = _time_of(_WHO.sub("", when), what, now)
    text = time.rest.replace("<!--", "<! --").strip()
    if not text:
        raise UsageError("the reminder has no text", "Write it after the time")
    if not time.is_timed and (late := time_within(text, at_the_end=time.is_apart)):
        raise UsageError(
            f"“{late}” could be the time of the reminder or part of its text",
            f"Put the reminder's time first: “{time.day} at 8:00: …”, or “{time.day} {late}: …”",
        )
    task, is_new = _write(workspace, f"{time.begin} remind me: {text}", now, origin)
    following = task.schedule.following(now)
    return Reminder(
        time.shown,
        task.text,
        task.line,
        f"{following:%Y-%m-%dT%H:%M}" if following else "",
        is_new,
        wakes(workspace, now),
    )


@dataclass(frozen=True, slots=True)
class _Time:
    """The time at the start of a reminder, in the form of HEARTBEAT.md and for the owner; `rest` is
    the text after it, which may be `is_apart`, behind a colon; and `is_timed` says whether it has a
    time of its `day`."""

    begin: str
    shown: str
    rest: str
    day: str
    is_timed: bool
    is_apart: bool


def _time_of(when: str, what: str, now: datetime) -> _Time:
    """Return the one time that the text begins with, otherwise its recurrence. Raises
    UsageError."""
    words = f"{when}: {what}" if what else when
    once, rhythm = moment(words, now, whole=bool(what)), instruction(words, now)
    is_once = bool(once.due) and not once.word
    rest = once.rest if is_once else rhythm.rest
    begin = words[: len(words) - len(rest)].rstrip()
    is_apart = begin.endswith(":")
    if not is_apart:
        rest = _JOINT.sub("", rest)
    if (due := once.due) and is_once:
        day, year = f"on {due:%Y-%m-%d}", "" if due.year == now.year else f" {due.year}"
        shown = f"{due:%a} {due.day} {due:%b}{year}, {due:%H:%M}"
        return _Time(f"{day} at {due:%H:%M}", shown, rest, day, once.is_timed, is_apart)
    if (schedule := rhythm.schedule) and not schedule.once:
        begin = begin.rstrip(" :,—–-")
        if not instruction(begin).schedule:
            begin += f" from {schedule.begins}"  # it counts from now, and the file has to say so
        is_timed = schedule.is_timed or schedule.every is not None
        return _Time(begin, describe(schedule), rest, begin, is_timed, is_apart)
    is_rhythm = rhythm.word and not (rhythm.schedule or once.cure)
    problem = rhythm if is_rhythm else once
    fault = "has passed" if problem.passed else "is not understood as a time"
    raise UsageError(f"“{problem.word.rstrip(':')}” {fault}", problem.cure or CURE)


def wakes(workspace: Workspace, now: datetime) -> bool:
    """Return whether the workspace has a timer, or the heartbeat has run repeatedly."""
    runs = beats.load(workspace).runs
    return timers.is_installed(workspace) or (
        len(runs) == beats.MAX_RUNS and abs(now - datetime.fromisoformat(runs[0])) < RECENT
    )


def _write(workspace: Workspace, item: str, now: datetime, origin: Origin) -> tuple[Task, bool]:
    """Write the item under the heading of reminders, as a task that counts from now.

    Return the task and True; or the existing one, and False.
    """
    before = workspace.text(HEARTBEAT_FILE)
    text, line = with_item(before or "# Heartbeat\n", HEADING, item)
    task = next((task for task in tasks(text)[0] if task.line == line), None)
    if task is None:
        raise UsageError(f"“{item}” cannot be read as a reminder", CURE)
    same = (describe(task.schedule), task.text.casefold())
    for other in tasks(before)[0]:
        if other.reminds and (describe(other.schedule), other.text.casefold()) == same:
            return other, False
    amend_files(workspace, {HEARTBEAT_FILE: (before, text)}, origin)
    with beats.changing(workspace) as state:
        state.seen[task.key] = now.isoformat(timespec="seconds")
    return task, True
