"""Sixty chats in four languages, read when they are over: what is kept, when, and on whose word."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from assistant.agent.capture.reading import Reading, capture
from assistant.agent.context_budget import ContextBudget
from assistant.memory.base import Fact
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.local import LocalMemory
from assistant.memory.text.chunk import Chunk, chunks_of
from assistant.messages import Message, ToolCall
from assistant.model.base import ToolSpec
from assistant.session.entries import AssistantEntry, Entry, ToolResultEntry, UserEntry
from assistant.session.history import group
from assistant.session.transcript import Transcript
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace
from tests.support.scripted import ScriptedModel

Talk = Mapping[str, Any]
FIRST = date(2026, 8, 3)
DELAYS = (0, 1, 3)
"""A chat is read so many days after it was held."""
WINDOW = 32_000
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ABOVE = re.compile(r"^\[\w+ (\d{4}-\d\d-\d\d) \d\d:\d\d\]$", re.MULTILINE)
_KNOWN = re.compile(r"^(K\d+): - (.*)$", re.MULTILINE)
_ENTRY = re.compile(r"^(e\d+) (owner|assistant): ", re.MULTILINE)


@dataclass(slots=True)
class Tally:
    """What became of the facts of all chats; each list names those that went wrong."""

    facts: int = 0
    lost: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    misdated: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    planted: list[str] = field(default_factory=list)
    overwritten: list[str] = field(default_factory=list)


def talks() -> list[Talk]:
    """The chats."""
    with Path(__file__).with_name("talks.toml").open("rb") as file:
        chats: list[Talk] = tomllib.load(file)["chats"]
    return chats


def hold(chats: Sequence[Talk], place: Workspace, embedder: Embedder) -> Tally:
    """Have the chats one after the other in one memory, and look at what it holds after each."""
    tally = Tally()
    today = FIRST
    with closing(LocalMemory(place, Settings(), embedder, today=lambda: today)) as memory:
        for number, talk in enumerate(chats):
            today = day = FIRST + timedelta(days=number)
            memory.remember([Fact(each) for each in talk.get("memory", ())])
            record = Transcript(f"talk-{number}", place.sessions / f"talk-{number}.jsonl")
            record.extend(list(_entries(talk, day)))
            today = day + timedelta(days=DELAYS[number % len(DELAYS)])
            model = ScriptedModel(respond=_Extraction(talk), context_window=WINDOW)
            job = Reading(record, memory, model, ContextBudget(WINDOW, 1_000), str)
            for _ in capture(job, group(record.entries)):
                pass
            record.close()
            waiting = {held.fact.text for held in memory.waiting()}
            _count(tally, talk, day, _standing(place), waiting)
    return tally


def _standing(place: Workspace) -> dict[str, Chunk]:
    """The current facts, by their words."""
    texts = {name: (place.root / name).read_text("utf-8") for name in place.sources()}
    chunks = (each for name, text in texts.items() for each in chunks_of(text, name))
    return {each.plain: each for each in chunks if each.status == "current"}


def _count(
    tally: Tally, talk: Talk, day: date, there: Mapping[str, Chunk], waiting: set[str]
) -> None:
    replaced = {each["old"] for each in talk["facts"] if "old" in each}
    for each in talk["facts"]:
        tally.facts += 1
        text = _resolved(each["text"], day)
        if text in waiting:
            tally.waiting.append(text)
        elif text not in there:
            tally.lost.append(text)
        elif there[text].date != day.isoformat():
            tally.misdated.append(f"{text}: {there[text].date}, said on {day}")
    tally.beside += [old for old in replaced if old in there]
    tally.planted += [each for each in _planted(talk) if each in there]
    kept = [each for each in talk.get("memory", ()) if each not in replaced]
    tally.overwritten += [each for each in kept if each not in there]


def _planted(talk: Talk) -> list[str]:
    return [*talk.get("planted", ()), *(each["text"] for each in talk.get("planted_over", ()))]


def _entries(talk: Talk, day: date) -> list[Entry]:
    """The chat as its transcript has it, in the evening of a day."""
    begun = datetime.combine(day, time(18, 30)).astimezone()
    *before, last = talk["said"]
    found: list[Entry] = []
    for text in before:
        found += [UserEntry(text), AssistantEntry("")]
    if "tool" in talk and found:
        call = ToolCall("c1", "fetch_page", {})
        found[-1:] = [AssistantEntry("", tool_calls=(call,)), ToolResultEntry("c1", "fetch_page",
                      talk["tool"]), AssistantEntry(talk["tool"])]  # fmt: skip
    elif "reply" in talk:
        found[-1:] = [AssistantEntry(talk["reply"])]
    elif found:
        found[-1:] = [AssistantEntry("OK.")]
    found.append(UserEntry(f"{last}\n\n{talk['mail']}" if "mail" in talk else last))
    if "tool" in talk and not before:
        call = ToolCall("c1", "fetch_page", {})
        found += [AssistantEntry("", tool_calls=(call,)),
                  ToolResultEntry("c1", "fetch_page", talk["tool"])]  # fmt: skip
    found.append(AssistantEntry("Noted."))
    times = (begun + timedelta(minutes=number) for number in range(len(found)))
    return [_at(each, when) for each, when in zip(found, times, strict=True)]


def _at(entry: Entry, when: datetime) -> Entry:
    return replace(entry, time=when.isoformat())


def _resolved(text: str, day: date) -> str:
    """A fact with its days: `{+1}` is the day after, `{fri}` the Friday that follows."""

    def iso(found: re.Match[str]) -> str:
        name = found[1]
        far = (WEEKDAYS.index(name) - day.weekday()) % 7 or 7 if name in WEEKDAYS else int(name)
        return (day + timedelta(days=far)).isoformat()

    return re.sub(r"\{([+-]\d+|[a-z]{3})\}", iso, text)


@dataclass(frozen=True, slots=True)
class _Extraction:
    """A model that does what the extraction asks of it, and takes what was planted as well. It
    counts days from the one that stands above the entry."""

    talk: Talk

    def __call__(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
        shown = messages[1].content
        day = date.fromisoformat(_ABOVE.findall(shown)[-1])
        known = {text: handle for handle, text in _KNOWN.findall(shown)}
        spoken = [name for name, by in _ENTRY.findall(shown) if by == "owner"]
        operations = []
        for each in self.talk["facts"]:
            stating = [e for e in spoken if each["quote"] in _line(shown, e)]
            new = {"text": _resolved(each["text"], day), "entries": stating}
            operations.append(new | {"quote": each["quote"]} | _replacing(each, known))
        for text in self.talk.get("planted", ()):
            operations.append({"op": "add", "text": text, "entries": spoken[-1:]})
        for each in self.talk.get("planted_over", ()):
            new = {"text": each["text"], "entries": spoken[-1:]}
            operations.append(new | _replacing(each, known))
        return json.dumps({"operations": operations})


def _replacing(fact: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """The operation that a fact is: one that is not shown what it changes can only add."""
    if handle := known.get(fact.get("old", "")):
        return {"op": "supersede", "which": handle}
    return {"op": "add"}


def _line(shown: str, entry: str) -> str:
    return next(line for line in shown.split("\n") if line.startswith(f"{entry} "))
