"""What memory answers, as a person reads it and as a program does."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from assistant.display import counted, exactly, shortened, spelled
from assistant.memory.base import SESSIONS, Passage, Recall, Remembered

if TYPE_CHECKING:
    from assistant.session.entries import RecalledEntry


def show_written(written: Remembered) -> None:
    """Where a fact now stands, and what it may replace."""
    place = f"{written.source}:{written.line}"
    said = {
        "stored": "Remembered",
        "exists": "Already known",
        "superseded": "Remembered, and the old fact struck through",
        "waiting": "Waits for your review (`assistant memory review`)",
        "secret": "Nothing was written, since it holds a secret",
    }[written.status]
    typer.echo(f"{said}: {spelled(place)}" if written.source else said)
    if written.similar:
        typer.echo("Similar, in case this replaces one of them (--replaces FILE:LINE):")
        for passage in written.similar:
            typer.echo(f"  {one_line(f'{passage.citation}  {passage.text}')}")


def show_recorded(recalled: "RecalledEntry") -> None:
    """What was put into the prompt of a turn, with the shares of its scores."""
    for each in recalled.passages:
        shares = "  ".join(f"{name} {share:+.2f}" for name, share in (each.signals or {}).items())
        facts = " · ".join(mark for mark in (each.date, each.heading) if mark)
        typer.echo(_bold(each.citation) + _dim(f"  {facts}"))
        _indented(each.text)
        if shares:
            typer.echo(_dim(f"  score {sum((each.signals or {}).values()):.2f} = {shares}"))
    if not recalled.passages:
        typer.echo("Memory held nothing on it.")


def show_recall(found: Recall, *, why: bool = False, within: str = "") -> None:
    """The passages for a person, best first; and what was not looked at."""
    for notice in found.notices:
        typer.echo(f"note: {spelled(notice)}", err=True)
    for passage in found.passages:
        _show_passage(passage, why=why)
    if not found.passages:
        so_far = " so far: it is still being indexed" if found.behind else ""
        said = f"Memory holds nothing on this{so_far}."
        typer.echo("No past conversation was about this." if within == SESSIONS else said, err=True)
    if why and found.near_misses:
        typer.echo(typer.style("\nNear misses, below the cut:", dim=True))
        for passage in found.near_misses:
            _show_passage(passage, why=True)


def _show_passage(passage: Passage, *, why: bool) -> None:
    marks = [passage.date or "", " › ".join(passage.heading)]
    marks += ["superseded"] if passage.status == "superseded" else []
    facts = " · ".join(mark for mark in marks if mark)
    typer.echo(_bold(passage.citation) + _dim(f"  {facts}"))
    _indented(passage.text)
    if why:
        shares = "  ".join(f"{name} {share:+.2f}" for name, share in passage.signals.items())
        origin = f"from {passage.origin or 'the file'}"
        tokens = counted(passage.tokens, "token")
        typer.echo(_dim(f"  score {passage.score:.2f} = {shares} · {tokens} · {origin}"))


def _indented(text: str) -> None:
    for line in spelled(text).strip().split("\n"):
        typer.echo(f"  {line}")


def _bold(line: str) -> str:
    return typer.style(exactly(line), bold=True)


def _dim(line: str) -> str:
    return typer.style(exactly(line), dim=True)


def one_line(text: str, width: int = 100) -> str:
    """The text on one line, cut to a width; nothing in it steers the terminal."""
    return shortened(spelled(" ".join(text.split())), width)


def recall_json(found: Recall, within: str = "") -> dict[str, Any]:
    """A recall as programs read it."""
    shown = session_json if within == SESSIONS else passage_json
    value: dict[str, Any] = {
        "query": found.query,
        "tokens": found.tokens,
        "passages": [shown(passage) for passage in found.passages],
    }
    if found.notices:
        value["notices"] = list(found.notices)
    if found.behind:
        value["behind"] = list(found.behind)
    if found.near_misses:
        value["near_misses"] = [passage_json(passage) for passage in found.near_misses]
    return value


def passage_json(passage: Passage) -> dict[str, Any]:
    """A passage as programs read it."""
    return {
        name: value
        for name, value in asdict(passage).items()
        if name != "plain" and (value is not None or name == "date")
    }


def session_json(passage: Passage) -> dict[str, Any]:
    """A passage of a past conversation as programs read it."""
    return {
        "session": passage.source,
        "turn": passage.start_line,
        "date": passage.date,
        "title": " › ".join(passage.heading),
        "text": passage.text,
        "score": passage.score,
    }


def written_json(written: Remembered) -> dict[str, Any]:
    """A written fact as programs read it."""
    similar = [passage_json(passage) for passage in written.similar]
    value: dict[str, Any] = {
        "status": written.status,
        "id": written.id,
        "source": written.source,
        "line": written.line,
        "similar": similar,
    }
    if written.secrets:
        value["secrets"] = [asdict(secret) for secret in written.secrets]
    return value
