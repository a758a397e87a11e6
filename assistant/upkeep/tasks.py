"""HEARTBEAT.md: the tasks in it, when each is due, and the lines that are not understood. Pure.

A task is a list item or a line. It says when at its beginning ("every 30 minutes: …"), at its end,
or by the heading or the line that it stands under. A ticked or struck-out one is done with.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from assistant.memory.text.times.schedule import Schedule
from assistant.memory.text.times.wording import (
    Reading,
    begins_with_time,
    instruction,
    schedule,
    starts,
    sure_times,
)
from assistant.quoting import COMMENT
from assistant.workspace.folder import HEARTBEAT_FILE

GRACE = timedelta(minutes=15)
"""A beat that comes so long after its time is not late yet."""
_FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"#{1,6}\s+(?P<title>.*?)\s*#*$")
_ITEM = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d{1,9}[.)])\s+(?P<box>\[[ xX]\]\s+)?(?P<text>.*)")
_LATE = re.compile(
    r"[,;]?\s*\(?\s*(?:(?P<skip>skip(?:ped)?|drop(?:ped)?)|(?:(?:do it )?(?:once|anyway)))"
    r"\s+(?:(?:it\s+)?(?:if|when)\s+(?:it\s+is\s+)?"
    r"(?:more\s+than\s+(?P<n>\d{1,4})\s+(?P<unit>minute|hour|day)s?\s+)?(?:late|missed))\s*\)?",
    re.IGNORECASE,
)
_LATE_IN_GERMAN = re.compile(
    r"[,;]?\s*\(?\s*(?:(?P<skip>überspringen|auslassen)|(?:einmal\s+)?nachholen),?\s+(?:wenn|falls)"
    r"\s+(?:es\s+)?(?:mehr\s+als\s+(?P<n>\d{1,4})\s+(?P<unit>minute|stunde|tag)e?n?\s+)?"
    r"(?:zu\s+)?(?:spät|verspätet|verpasst)(?:\s+ist)?\s*\)?",
    re.IGNORECASE,
)
_REMINDS = re.compile(
    r"(?:remind(?:er)?(?:\s+me)?|erinnere?\s+mich|erinnerung)"
    r"(?:\s+(?:to|of|about|that|an|daran))?\b\s*[:,]?\s*(?=\S)",
    re.IGNORECASE,
)
"""What a task begins with that is told as it is."""
_UNITS = {"minute": 1, "hour": 60, "stunde": 60, "day": 24 * 60, "tag": 24 * 60}
UNTIMED = (
    "Begin it with a time, in English or German, such as “every 30 minutes:”, “weekdays at 9:” or "
    "“each Friday:”"
)
TASKLESS = "It says when, and not what: write the task behind it, or in a list below"


@dataclass(frozen=True, slots=True)
class Task:
    """A task, its line in the file, and what becomes of a time that was missed."""

    line: int
    text: str
    schedule: Schedule
    skips: bool = False
    grace: timedelta = GRACE
    reminds: bool = False
    """Whether the text is told as it is, without a model."""

    @property
    def key(self) -> str:
        """What names the task, wherever in the file it stands."""
        said = f"{self.schedule}\n{' '.join(self.text.split()).casefold()}"
        return hashlib.sha256(said.encode()).hexdigest()[:12]

    @property
    def citation(self) -> str:
        """`HEARTBEAT.md:7`."""
        return f"{HEARTBEAT_FILE}:{self.line}"


@dataclass(frozen=True, slots=True)
class Unread:
    """A line that is no task, and what would make it one."""

    line: int
    text: str
    cure: str = UNTIMED


@dataclass(frozen=True, slots=True)
class _Entry:
    """A heading, a list item or a line; what is nested in an item belongs to it."""

    line: int
    kind: Literal["heading", "item", "line"]
    text: str


def tasks(text: str) -> tuple[list[Task], list[Unread]]:
    """The tasks of the file, and the lines that are none."""
    found: list[Task] = []
    unread: dict[int, Unread] = {}
    above: Schedule | None = None
    listing = 0
    """The line that says when for the list below it."""
    for entry in _entries(text):
        only = _only_when(entry.text)
        if entry.kind == "heading" or (only and entry.kind == "line"):
            above, listing = only, 0 if entry.kind == "heading" else entry.line
            if listing:
                unread[listing] = Unread(listing, entry.text, TASKLESS)
            continue
        if listing and entry.kind == "line":
            above, listing = None, 0
        task = TASKLESS if only else _task(entry, above)
        if isinstance(task, Task):
            found.append(task)
            unread.pop(listing, None)
        else:
            unread[entry.line] = Unread(entry.line, entry.text, task)
    return found, list(unread.values())


def _only_when(text: str) -> Schedule | None:
    """The schedule of a text that says nothing else."""
    made = schedule(text)
    return made[0] if made and not text[made[1] :].strip(" .:") else None


def _entries(text: str) -> Iterator[_Entry]:
    """Each heading, item and line with its number."""
    blank = re.compile(r"[^\n]")
    for pattern in (COMMENT, _FENCE):
        text = pattern.sub(lambda found: blank.sub(" ", found[0]), text)
    begun: _Entry | None = None
    blanks = ""
    for number, line in enumerate([*text.replace("\r\n", "\n").split("\n"), ""], start=1):
        found = _ITEM.fullmatch(line)
        if begun and line[:1].isspace() and line.strip():
            begun, blanks = replace(begun, text=f"{begun.text}{blanks}\n{line.strip()}"), ""
            continue
        if begun and not line.strip():
            blanks += "\n"
            continue
        if begun:
            yield begun
            begun, blanks = None, ""
        if heading := _HEADING.fullmatch(line.strip()):
            yield _Entry(number, "heading", heading["title"])
        elif found and not _is_done(found):
            begun = _Entry(number, "item", found["text"].strip())
        elif not found and line.strip() and not line[:1].isspace():
            begun = _Entry(number, "line", line.strip())
    if begun:
        yield begun


def _is_done(item: "re.Match[str]") -> bool:
    return "x" in (item["box"] or "").lower() or item["text"].strip().startswith("~~")


def _task(entry: _Entry, above: Schedule | None) -> Task | str:
    """The task of an entry, or what would make it one."""
    said = entry.text
    late = _LATE.search(said) or _LATE_IN_GERMAN.search(said)
    words = _REMINDS.search(said)
    if late and words and words.end() <= late.start() and late[0].lstrip()[0] not in ",;(":
        late = None  # "remind me: drop it if it is late" is told as it stands
    text = f"{said[: late.start()]} {said[late.end() :]}".strip() if late else said
    text = re.sub(r"\s+:", ":", text)
    skips = bool(late and late["skip"])
    grace = GRACE
    if late and late["n"]:
        grace = timedelta(minutes=int(late["n"]) * _UNITS[late["unit"].lower()])
    found: tuple[Schedule, str] | Reading | None
    means_when = ":" in text.partition("\n")[0] and begins_with_time(text)
    if above and not means_when:
        begun = instruction(text)
        found = begun if begun and (isinstance(begun, tuple) or begun.end) else (above, text)
    else:
        found = instruction(text) or _ending(text)
    if found is None:
        return UNTIMED
    if isinstance(found, Reading):
        return f"“{found.word}” is not understood. {found.cure or UNTIMED}"
    when, what = found
    reminds = _REMINDS.match(what)
    what = (what[reminds.end() :] if reminds else what).strip()
    return Task(entry.line, what, when, skips, grace, bool(reminds)) if what else UNTIMED


def _ending(text: str) -> tuple[Schedule, str] | Reading | None:
    """A schedule behind the task, in parentheses or not; nothing before it may speak of a time."""
    for begin in starts(text):
        made = schedule(text[begin:])
        if made and not text[begin + made[1] :].strip(" .!)"):
            what = text[:begin].rstrip(" (,;:—–-")
            times = [word for match in re.finditer(r"\S+", what) if (word := sure_times(match[0]))]
            return Reading(word=times[0]) if times else (made[0], what)
    return None
