"""What `recall` shows of an answer, and `remember` once it is interrupted."""

import io
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from assistant.cli.commands.facts import AT_ONCE, remember, show_answer
from assistant.cli.memory_text import show_recall
from assistant.memory.base import Fact, Keeper, Passage, Query, Recall, Remembered
from assistant.memory.writing.markup import escape

LONG = Passage("p1", "- A fact", "A fact", "MEMORY.md", 1, 1, 0, 8)


class Answering:
    """A memory that finds a passage only where tokens are free."""

    def __init__(self, *behind: str) -> None:
        self._behind = behind

    def recall(self, query: Query) -> Recall:
        if query.budget == 1:
            return Recall(query.text, (), behind=self._behind)
        return Recall(query.text, (LONG,))


@pytest.mark.parametrize(("behind", "blamed"), [((), True), (("MEMORY.md",), False)])
def test_nothing_is_blamed_for_what_was_not_looked_at_yet(
    behind: tuple[str, ...], blamed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = cast(Keeper, Answering(*behind))
    show_answer(memory, Query("fact", budget=1), as_json=False)
    said = capsys.readouterr().err
    assert ("The budget is too small" in said) == blamed
    assert ("so far: it is still being indexed" in said) == bool(behind)


def test_what_hardly_matches_is_counted_and_shown_when_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    passages = tuple(
        replace(LONG, id=str(number), text=f"- fact {number}", score=score)
        for number, score in enumerate([0.9, 0.4, 0.1, 0.0, -0.1])
    )
    show_recall(Recall("fact", passages))
    shown = capsys.readouterr()
    assert [number for number in range(5) if f"fact {number}" in shown.out] == [0, 1]
    assert shown.err == "3 weaker matches not shown; `assistant recall -k 5` shows all\n"
    show_recall(Recall("fact", passages), whole=True)
    shown = capsys.readouterr()
    assert "fact 4" in shown.out and shown.err == ""
    show_recall(Recall("fact", passages[4:]))  # nothing stands out: the nearest are shown
    shown = capsys.readouterr()
    assert "fact 4" in shown.out
    assert shown.err == "Nothing matches this closely; these are the nearest.\n"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("4. Dez. [[Ada]] **calls** about `x_y`", "4. Dez. [[Ada]] **calls** about `x_y`"),
        (r"C:\docs and \*", r"C:\docs and \*"),
    ],
)
def test_a_fact_is_shown_in_the_words_that_were_given(
    written: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_recall(Recall("fact", (replace(LONG, text=f"- {escape(written)}"),)))
    assert shown in capsys.readouterr().out


def test_code_and_what_is_no_fact_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    for text in (r"- grep `a\*b`", r"A paragraph with a \* star"):
        show_recall(Recall("fact", (replace(LONG, text=text),)))
        assert text in capsys.readouterr().out


class Interrupted:
    """A memory whose owner presses Ctrl-C while it writes the second batch."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.written: list[Fact] = []

    def remember(self, facts: Sequence[Fact]) -> tuple[Remembered, ...]:
        self.written += facts
        for _ in range(self.times if len(self.written) > AT_ONCE else 0):
            signal.raise_signal(signal.SIGINT)
        return tuple(Remembered("stored", "", "MEMORY.md", 1, fact.text) for fact in facts)


@pytest.mark.parametrize(("times", "shown"), [(1, 2 * AT_ONCE), (2, AT_ONCE)])
def test_an_interrupted_remember_shows_the_batch_in_hand_and_says_how_many_were_written(
    times: int, shown: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, total = Interrupted(times), 3 * AT_ONCE
    piped = io.BytesIO("".join(f"Fact {number}\n" for number in range(total)).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(piped))
    context = cast(Any, SimpleNamespace(obj=SimpleNamespace(memory=lambda: nullcontext(memory))))
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        remember(context, ["-"])
    assert (signal.getsignal(signal.SIGINT), len(memory.written)) == (before, 2 * AT_ONCE)
    said = capsys.readouterr()
    assert said.out.count("Remembered: MEMORY.md:1\n") == shown
    waits, stopped = said.err.splitlines()
    assert waits == "Stopping once these facts are written; Ctrl-C again does not wait."
    assert stopped == (
        f"Stopped: {shown} of {total} facts were written. `assistant memory undo` takes them all"
        " back."
    )
