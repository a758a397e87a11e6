"""Results of memory as text and as JSON."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from assistant.characters import JOINING
from assistant.cli.options import note
from assistant.cli.palette import diff_rows, echo
from assistant.display import counted, exactly, in_words, shortened, spelled
from assistant.memory.base import SESSIONS, JournalEntry, Passage, Recall, Remembered, clear

if TYPE_CHECKING:
    from assistant.session.entries import RecalledEntry

_WORD = re.compile(r"[^\W_]+")


def show_written(written: Remembered) -> None:
    """Print where a fact was written, and similar facts."""
    text = {
        "stored": "Remembered",
        "exists": "Already known",
        "superseded": "Remembered, the old fact struck out",
        "waiting": "Waiting for your review (`assistant memory review`)",
        "secret": "Nothing was written: the fact contains a secret",
    }[written.status]
    position = f": {written.source}:{written.line}" if written.source else ""
    echo(text + position)
    if written.similar:
        echo("Similar facts (`assistant remember --replaces FILE:LINE` supersedes one):")
        for passage in written.similar:
            echo(f"  {passage_line(passage)}")


def show_recorded(recalled: "RecalledEntry", query: str) -> None:
    """Print the passages that were recalled for a turn, with the reasons."""
    for passage in recalled.passages:
        _show(passage.citation, passage.date, passage.heading.split(" › "), passage.text)
        why = reasons(query, passage.text, passage.signals or {}, passage.date)
        echo(f"  {why}", faint=True)
    if not recalled.passages:
        echo("Nothing in memory matched.")


TAIL = 0.15
"""Share of the best score below which a passage is only counted. In the suites of tests/recall at
most one answer in fifty scores below it."""


def show_recall(
    recall: Recall, *, why: bool = False, within: str = "", whole: bool = False
) -> None:
    """Print the passages, best first, and notices; weak ones are only counted unless `whole`."""
    for notice in recall.notices:
        note(notice)
    best = recall.passages[0].score if recall.passages else 0.0
    shown = [
        passage for passage in recall.passages if whole or best <= 0 or passage.score >= TAIL * best
    ]
    if shown and not (clear(shown) or within):
        echo("Nothing matches this closely; these are the nearest.", faint=True, err=True)
    for passage in shown:
        _show_passage(passage, recall.query if why else None)
    if more := len(recall.passages) - len(shown):
        weaker = counted(more, "weaker match", "weaker matches")
        hint = f"{weaker} not shown; `assistant recall -k {len(recall.passages)}` shows all"
        echo(hint, faint=True, err=True)
    if not recall.passages:
        what = "No past conversation" if within == SESSIONS else "Nothing in memory"
        so_far = " so far: it is still being indexed" if recall.behind else ""
        echo(f"{what} mentions this{so_far}.", err=True)
    if why and recall.near_misses:
        echo("Near misses:", faint=True)
        for passage in recall.near_misses:
            _show_passage(passage, recall.query)


def _show_passage(passage: Passage, query: str | None) -> None:
    """Print a passage; with a query, also why it matches."""
    superseded = ["superseded"] if passage.status == "superseded" else []
    _show(passage.citation, passage.date, [*passage.heading, *superseded], passage.readable)
    if query is not None:
        day = min(passage.mentions, default=None)
        why = reasons(query, passage.plain, passage.signals, passage.date, day)
        origin = f"written by {passage.origin}" if passage.origin else "from the file"
        echo(f"  {why} · {counted(passage.tokens, 'token')} · {origin}", faint=True)


def _show(citation: str, day: str | None, heading: Sequence[str], text: str) -> None:
    """Print a passage with its citation, date and headings."""
    titles = [title.removesuffix(f" -- {day}") for title in heading[len(heading) > 1 :]]
    facts = " · ".join(filter(None, [day, " › ".join(titles)]))
    echo(exactly(citation, JOINING), exactly(facts and f"  {facts}", JOINING), bold=True)
    for line in spelled(text).strip().split("\n"):
        echo(f"  {line}")


ALIKE, NEAR = 0.42, 0.21
"""Minimum shares of a score for calling the meaning the same, or similar."""
HEADED = 0.15
"""Minimum share of a score for mentioning a matching heading."""


def reasons(
    query: str,
    text: str,
    shares: Mapping[str, float],
    day: str | None,
    mentioned: str | None = None,
) -> str:
    """Return why a passage matches a query; `shares` are the signals' shares of its score."""
    from assistant.memory.text.language import is_function_word, language_of  # only with --why

    meaning = shares.get("dense", 0.0)
    why = ["same meaning"] if meaning >= ALIKE else ["similar meaning"] if meaning >= NEAR else []
    words, language = _WORD.findall(text.casefold()), language_of(query)
    query_words = dict.fromkeys(_WORD.findall(query.casefold()))
    shared = [word for word in query_words if word in words]
    if common := [word for word in shared if not is_function_word(word, language)]:
        why.append(f"shares: {', '.join(common)}")
    if shares.get("date", 0.0) > 0 and (when := mentioned or day):
        why.append(f"{'mentions' if mentioned else 'recorded on'} {_day_text(when, text)}")
    if shares.get("speaker", 0.0) > 0:
        why.append("said by the person you name")
    if shares.get("heading", 0.0) >= HEADED:
        why.append("its heading matches")
    return spelled(" · ".join(why) or "among the closest matches")


def _day_text(day: str, text: str) -> str:
    """Return an ISO date as `3 May`, with the year if the text contains it; a partial date
    unchanged."""
    from datetime import date  # only needed with --why

    try:
        when = date.fromisoformat(day)
    except ValueError:
        return day
    return f"{when.day} {when:%B}" + (f" {when.year}" if str(when.year) in text else "")


def one_line(text: str, width: int = 100) -> str:
    """Return the text on one line, cut to a width, without control characters."""
    return shortened(spelled(" ".join(text.split())), width)


def passage_line(passage: Passage) -> str:
    """Return a passage on one line, after its citation."""
    return one_line(f"{passage.citation}  {passage.readable}")


UNDONE = {
    "remember": "no longer in {0.source}: {1}",
    "restore": "no longer in {0.source}: {1}",
    "supersede": "no longer in {0.source}: {1} · what it superseded is current again",
    "forget": "back in {0.source}: {1}",
    "mark": "without the mark again, in {0.source}: {1}",
    "refuse": "no longer refused: {1}",
    "amend": "{0.source} is as it was before this change: {1}",
}
"""The result of undoing a write of each kind, formatted with its entry and a line of its text."""


def undone_lines(entry: JournalEntry) -> list[str]:
    """Return where the text of an undone write is now, a line each."""
    form = UNDONE.get(entry.action, "{0.action} in {0.source}: {1}")
    if entry.stays:
        form = "what it superseded is current again; still in {0.source}: {1}"
    if entry.gone:
        form = "gone from {0.source} before: {1}"
    *lines, last = (form.format(entry, one_line(line)) for line in entry.text.split("\n"))
    if entry.waits_again:
        last = f"{last} · it waits for `assistant memory review` again"
    return [*lines, last]


def show_undone(entries: Iterable[JournalEntry]) -> None:
    """Print the result of undoing writes."""
    for entry in entries:
        if entry.passed:
            text = one_line(entry.text) or "for good"  # of a purge
            echo(f"Passed over: {entry.action} in {entry.source}: {text}")
            continue
        for line in undone_lines(entry):
            echo(f"Undone: {line}")


def show_diff(lines: Iterable[str]) -> None:
    """Print a diff in colour."""
    for row in diff_rows(list(in_words(lines))):
        typer.echo(row)


def recall_json(recall: Recall, within: str = "") -> dict[str, Any]:
    """Return a recall as JSON."""
    as_json = session_json if within == SESSIONS else passage_json
    passages = [as_json(passage) for passage in recall.passages]
    value: dict[str, Any] = {"query": recall.query, "tokens": recall.tokens, "passages": passages}
    if recall.notices:
        value["notices"] = list(recall.notices)
    if recall.behind:
        value["behind"] = list(recall.behind)
    if recall.near_misses:
        value["near_misses"] = [passage_json(passage) for passage in recall.near_misses]
    return value


def passage_json(passage: Passage) -> dict[str, Any]:
    """Return a passage as JSON."""
    return {
        name: value
        for name, value in {**asdict(passage), "text": passage.shown}.items()
        if name != "plain" and (value is not None or name == "date")
    }


def session_json(passage: Passage) -> dict[str, Any]:
    """Return a passage of a past conversation as JSON."""
    return {
        "session": passage.source,
        "turn": passage.start_line,
        "date": passage.date,
        "title": " › ".join(passage.heading),
        "text": passage.text,
        "score": passage.score,
    }


def written_json(written: Remembered) -> dict[str, Any]:
    """Return a written fact as JSON."""
    value: dict[str, Any] = {
        name: getattr(written, name) for name in ("status", "id", "source", "line")
    }
    value["similar"] = [passage_json(passage) for passage in written.similar]
    if written.secrets:
        value["secrets"] = [
            {"start": each.start, "end": each.end, "kind": each.kind, "certain": each.certain}
            for each in written.secrets
        ]
    return value
