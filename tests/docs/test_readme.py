"""README's examples do what they show, character for character but for the day."""

import json
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from assistant.disk import locking
from tests.support.provider import Provider, Received

README = Path(__file__).resolve().parents[2] / "README.md"
WRITTEN = "2026-11-21"
"""The day that stands in the example."""


def blocks() -> list[list[tuple[str, str]]]:
    """Of each block of commands, the commands and what each prints."""
    found = re.findall(r"```console\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    parts = [re.split(r"^\$ ", block, flags=re.MULTILINE)[1:] for block in found]
    return [
        [(step.partition("\n")[0], step.partition("\n")[2].strip()) for step in steps]
        for steps in parts
    ]


def answer(request: Received) -> str:
    """What the example's model says, and what it finds when the chat is over."""
    if "long-term memory of an owner" not in str(request.body["messages"][0]):
        return "A fine name for a boat."
    shown = str(request.body["messages"][1]["content"])
    (entry, *_) = re.findall(r"\b(e\d+)\b[^\n]*owner", shown, re.IGNORECASE)
    fact = "Nuno, the owner's brother, has a boat called Sardinha"
    return json.dumps({"operations": [{"op": "add", "text": fact, "entries": [entry]}]})


def test_the_first_minutes_print_what_is_printed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a fresh machine, in order: first without a model, then with one."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("ASSISTANT_MEMORY__CAPTURE", "always")
    cache = Path(os.environ["XDG_CACHE_HOME"])
    reading = home / ".assistant/workspace/.assistant/reading.lock"

    def shell(command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert done.returncode == 0, done.stdout
        if command.startswith("assistant ask"):  # by the time somebody types in another terminal
            assert provider.wait_for(lambda each: len(each.requests) == 2, 60)
            locking.lock(reading, 60).release()
        return done.stdout.strip()

    alone, connected, _ = blocks()
    with Provider(respond=answer) as provider:
        shell("assistant init")
        try:
            shown = [(shell(command), expected) for command, expected in alone]
            assert len(provider.requests) == 0
            shell(connected[0][0])
            monkeypatch.setenv("ASSISTANT_MODEL", "openai/test")
            monkeypatch.setenv("ASSISTANT_API_BASE", provider.url)
            shown += [(shell(command), expected) for command, expected in connected[1:]]
        finally:
            shell("assistant daemon stop")
    assert len(shown) == 8
    files = [each for each in [*home.rglob("*"), *cache.rglob("*")] if not each.is_dir()]
    assert [each for each in files if not {"assistant", ".assistant"} & set(each.parts)] == []
    for printed, expected in shown:
        assert printed == expected.replace(WRITTEN, date.today().isoformat())


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("terminal", ("› when does Mia land?", "Memory holds this", "MEMORY.md:18")),
        ("resume", ("Which session?", "› which flights go to Porto?", "type to search")),
    ],
)
def test_a_recording_loads_nothing_and_shows_the_chat(name: str, shown: tuple[str, ...]) -> None:
    picture = (README.parent / f"docs/{name}.svg").read_text("utf-8").replace("&#160;", " ")
    assert "url(" not in re.sub(r"url\(#", "", picture)
    assert all(said in picture for said in shown)
