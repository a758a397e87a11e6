"""Parses HEARTBEAT.md: its tasks with their schedules, and the lines that are not understood. Pure.

A task is a list item or a line. Its schedule is at its start ("every 30 minutes: …"), at its end,
or in the heading or line above it. Ticked and struck-out items are done, including everything
nested in them.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from assistant.memory.text.markdown import BLOT, FENCE, blank
from assistant.memory.text.times.schedule import Schedule
from assistant.memory.text.times.tokens import sure_times
from assistant.memory.text.times.wording import (
    BEHIND_COLON,
    Reading,
    begins_with_time,
    instruction,
    schedule,
    starts,
    time_within,
)
from assistant.quoting import COMMENT
from assistant.tables import table_of
from assistant.workspace.folder import HEARTBEAT_FILE

GRACE = timedelta(minutes=15)
"""Maximum delay for which a task does not count as late."""
_FENCE = re.compile(rf"^{FENCE}", re.MULTILINE)
_INDENT = r"[^\S\n]"
_MARKER = rf"(?:[-*+]|\d{{1,9}}[.)]){_INDENT}"
_ENTRY = re.compile(
    rf"^{_INDENT}*#{{1,6}}{_INDENT}.*"
    rf"|^(?:{_INDENT}*{_MARKER}|\S).*(?:\n(?:{_INDENT}*\n)*{_INDENT}+\S.*)*",
    re.MULTILINE,
)
"""A heading; or an item or line, with the lines indented below it."""
_HEADING = re.compile(r"#{1,6}\s+(?P<title>.*?)\s*#*")
_ITEM = re.compile(rf"{_MARKER}\s*(?P<box>\[[ xX]\]\s+)?(?P<text>.*)", re.DOTALL)
_APART = re.compile(r"[(,;—–]\W*(?:\w+\s)?\S+\Z")
"""The last word of a text, set off from the words before it."""
_COLON = re.compile(r":(?=\s|$)")
_data = table_of(__file__)
_LATE = [re.compile(pattern, re.IGNORECASE) for pattern in _data["late"]]
_REMINDS = re.compile(_data["reminds"], re.IGNORECASE)
_ASKS = re.compile(_data["asks"], re.IGNORECASE)
_UNITS: Mapping[str, int] = _data["units"]
UNTIMED = (
    "Begin it with a time, in English or German, such as “every 30 minutes:”, “weekdays at 9:” or "
    "“on 2026-11-27 at 9:”"
)
TWO_TIMES = "The line above also has a time: write the due time and a colon before the task"
TASKLESS = "It has a time but no task: write the task after it, or in a list below"


@dataclass(frozen=True, slots=True)
class Task:
    """A task, its line in the file, and whether it is skipped if it is late."""

    line: int
    text: str
    schedule: Schedule
    skips: bool = False
    grace: timedelta = GRACE
    reminds: bool = False
    """Whether it is a reminder, delivered without a model."""

    @property
    def key(self) -> str:
        """An ID that does not depend on the task's line."""
        text = f"{self.schedule}\n{' '.join(self.text.split()).casefold()}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def citation(self) -> str:
        """`HEARTBEAT.md:7`."""
        return f"{HEARTBEAT_FILE}:{self.line}"


@dataclass(frozen=True, slots=True)
class Unread:
    """A line that is not a task, and how to make it one."""

    line: int
    text: str
    cure: str = UNTIMED
    word: str = ""
    """The part that is not understood, if not the whole line."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A heading, a list item including nested ones, or a line."""

    line: int
    kind: Literal["heading", "item", "line"]
    text: str


def tasks(text: str) -> tuple[list[Task], list[Unread]]:
    """Return the tasks of the file, and the lines that are not tasks."""
    parsed: list[Task] = []
    unread: dict[int, Unread] = {}
    inherited: Schedule | None = None
    listing = 0
    """The line that has the schedule of the list below it."""
    for entry in _entries(text):
        schedule_alone = _only_when(entry.text)
        if entry.kind == "heading" or (schedule_alone and entry.kind == "line"):
            inherited, listing = schedule_alone, 0 if entry.kind == "heading" else entry.line
            if listing:
                unread[listing] = Unread(listing, entry.text, TASKLESS)
            continue
        if listing and entry.kind == "line":
            inherited, listing = None, 0
        alone = Unread(entry.line, entry.text, TASKLESS)
        task = alone if schedule_alone else _task(entry, inherited)
        if isinstance(task, Task):
            parsed.append(task)
            unread.pop(listing, None)
        else:
            unread[entry.line] = task
    return parsed, list(unread.values())


def _only_when(text: str) -> Schedule | None:
    """Return the schedule of a text that contains nothing else."""
    match = schedule(text)
    return match[0] if match and not text[match[1] :].strip(" .:") else None


def _entries(text: str) -> Iterator[_Entry]:
    """Yield the headings, items and lines with their numbers."""
    for pattern in (COMMENT, _FENCE):
        text = pattern.sub(blank, text).replace(BLOT, " ")
    text = text.replace("\r\n", "\n")
    for entry in _ENTRY.finditer(text):
        number = text.count("\n", 0, entry.start()) + 1
        words = "\n".join(line.strip() for line in entry[0].split("\n"))
        if heading := _HEADING.fullmatch(words):
            yield _Entry(number, "heading", heading["title"])
        elif not (item := _ITEM.fullmatch(words)):
            yield _Entry(number, "line", words)
        elif "x" not in (item["box"] or "").lower() and not item["text"].startswith("~~"):
            yield _Entry(number, "item", item["text"])


def _task(entry: _Entry, inherited: Schedule | None) -> Task | Unread:
    """Return the task of an entry, whose own time may be one on the days that it inherits."""
    text = entry.text
    late = next(filter(None, (pattern.search(text) for pattern in _LATE)), None)
    words = _REMINDS.search(text)
    if late and words and words.end() <= late.start():
        late = None  # part of the reminder: "remind me: drop it if it is late"
    text = f"{text[: late.start()]} {text[late.end() :]}".strip() if late else text
    text = re.sub(r"\s+:", ":", text)
    skips = bool(late and late["skip"])
    grace = GRACE
    if late and late["n"]:
        grace = timedelta(minutes=int(late["n"]) * _UNITS[late["unit"].lower()])
    has_own_time = bool(":" in text.partition("\n")[0] and begins_with_time(text))
    lead, *behind = _COLON.split(text.partition("\n")[0], maxsplit=1)
    left_over = _time_before(lead) if inherited and behind else ""
    days = None if inherited and (inherited.is_timed or inherited.every) else inherited
    parsed = instruction(text, days=days)
    if parsed == Reading():
        parsed = _ending(text, inherited)
    if inherited and not (parsed.schedule or parsed.end or has_own_time or left_over):
        parsed = Reading(inherited, rest=text)
    elif (
        (own := parsed.schedule)
        and not (own.is_timed or own.every)
        and (other := time_within(_COLON.split(text[parsed.end :], maxsplit=1)[0]))
    ):
        parsed = Reading(word=other, cure=BEHIND_COLON)
    if parsed.schedule is None:
        return Unread(entry.line, entry.text, parsed.cure or UNTIMED, parsed.word or left_over)
    what = parsed.rest
    reminds = _REMINDS.match(what)
    what = (what[reminds.end() :] if reminds else what).strip()
    if not what:
        return Unread(entry.line, entry.text)
    return Task(entry.line, what, parsed.schedule, skips, grace, bool(reminds))


def _time_before(lead: str) -> str:
    """Return the schedule of a reminder or a time of day in what is before a colon; "" if none.

    Figures alone are no time: "John 3:16".
    """
    for begin in starts(lead):
        if _ASKS.fullmatch(lead, 0, begin) and (match := schedule(lead[begin:])):
            return lead[begin : begin + match[1]].strip()
    time = time_within(lead)
    return time if re.search(r"[^\W\d]", time) else ""


def _ending(text: str, days: Schedule | None) -> Reading:
    """Return a schedule after the task, or a time on these days; the task before it may name no
    time.

    With days, an ending without a time of day belongs to the task: "review what I do daily".
    """
    words = (word.start() for word in re.finditer(r"\b\w", text))
    for begin in words if days else starts(text):
        match = schedule(text[begin:], days=days)
        if not match or (days and not match[0].is_timed) or text[begin + match[1] :].strip(" .!)"):
            continue
        what = text[:begin].rstrip(" (,;:—–-")
        times = [time for word in what.split() if (time := sure_times(word.lstrip('(“„"')))]
        if times:
            is_apart = not days or _APART.search(what)
            return Reading(end=len(text), word=times[0]) if is_apart else Reading()
        if days and (days.is_timed or days.every):
            return Reading(end=len(text), word=text[begin:], cure=TWO_TIMES)
        return Reading(match[0], rest=what)
    return Reading()
