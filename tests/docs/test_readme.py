"""README's first example does what it shows, character for character but for the day."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

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


def test_the_first_example_reproduces_exactly(home: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def shell(command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    shell("assistant init")
    try:
        shown = [(shell(command), expected) for command, expected in steps()]
    finally:
        shell("assistant daemon stop")
    assert len(shown) >= 4
    for printed, expected in shown:
        assert printed == expected.replace(WRITTEN, date.today().isoformat())


def test_the_recording_loads_nothing_and_shows_the_chat() -> None:
    picture = (README.parent / "docs/terminal.svg").read_text("utf-8").replace("&#160;", " ")
    assert "url(" not in re.sub(r"url\(#", "", picture)
    for said in ("› when does Mia land?", "Memory holds this", "MEMORY.md:17"):
        assert said in picture
