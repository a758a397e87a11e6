"""README's first example does what it shows, character for character but for the day."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from assistant.disk import locking
from tests.support.provider import Provider, Received

README = Path(__file__).resolve().parents[2] / "README.md"
WRITTEN = "2026-11-21"
"""The day that stands in the example."""


def steps() -> Iterator[tuple[str, str]]:
    """Each command of the first block, and what it prints."""
    block = re.search(r"```console\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert block
    for step in re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]:
        command, _, output = step.partition("\n")
        yield command, output.strip()


def answer(request: Received) -> str:
    """What the example's model says, and what it finds when the chat is over."""
    if "long-term memory of an owner" not in str(request.body["messages"][0]):
        return "Good to know. How does she like it there?"
    shown = str(request.body["messages"][1]["content"])
    (entry, *_) = re.findall(r"\b(e\d+)\b[^\n]*owner", shown, re.IGNORECASE)
    fact = "Lena, the owner's sister, lives in Porto, Rua das Flores 41"
    return json.dumps({"operations": [{"op": "add", "text": fact, "entries": [entry]}]})


def test_the_first_example_reproduces_exactly(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("ASSISTANT_MEMORY__CAPTURE", "always")
    monkeypatch.setenv("ASSISTANT_MODEL", "openai/test")
    reading = home / ".assistant/workspace/.assistant/reading.lock"

    def shell(command: str) -> str:
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        if command.startswith("assistant ask"):  # by the time somebody types in another terminal
            assert provider.wait_for(lambda each: len(each.requests) == 2, 60)
            locking.lock(reading, 60).release()
        return done.stdout.strip()

    with Provider(respond=answer) as provider:
        monkeypatch.setenv("ASSISTANT_API_BASE", provider.url)
        shell("assistant init")
        try:
            shown = [(shell(command), expected) for command, expected in steps()]
        finally:
            shell("assistant daemon stop")
    assert len(shown) == 5
    for printed, expected in shown:
        assert printed == expected.replace(WRITTEN, date.today().isoformat())


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("terminal", ("› when does Mia land?", "Memory holds this", "MEMORY.md:17")),
        ("resume", ("Which session?", "› which flights go to Porto?", "type to search")),
    ],
)
def test_a_recording_loads_nothing_and_shows_the_chat(name: str, shown: tuple[str, ...]) -> None:
    picture = (README.parent / f"docs/{name}.svg").read_text("utf-8").replace("&#160;", " ")
    assert "url(" not in re.sub(r"url\(#", "", picture)
    assert all(said in picture for said in shown)
