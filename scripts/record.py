"""Records the real terminal as SVGs: `python -m scripts.record` writes those of docs/.

It runs the program itself in a pseudo-terminal with a new workspace and the offline responder: only
the typed text is scripted.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

from tests.cli.tty import Tty

DOCS = Path(__file__).resolve().parent.parent / "docs"
SIZE = (92, 24)
Scene = Sequence[tuple[str, str]]
"""Typed texts, each with a text that the screen then shows."""
TALK: Scene = (
    ("remember that Mia lands in Porto on 27 November 2026 at 18:40\r", "Remembered at"),
    ("when does Mia land?\r", "Memory holds this"),
)
EARLIER = (
    "what did the roofer say about the gutter?",
    "which flights go to Porto?",
    "a birthday plan",
)
RESUME: Scene = (("/resume\r", "type to search"), ("porto", "session? porto"))
FONTS = re.compile(r"\s*@font-face \{.*?\n    \}", re.DOTALL)
"""Fonts that a picture would load from elsewhere."""
NAMES = {"brown": "yellow", "default": None}
"""pyte's names of colours that have other names in rich."""


def main() -> None:
    """Play the scenes and write the pictures."""
    home = Path(tempfile.gettempdir(), "robin")  # its path is in the picture
    home.mkdir()
    os.environ |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    program, workspace = str(Path(sys.executable).with_name("assistant")), home / "mind"
    try:
        subprocess.run([program, "init", str(workspace)], check=True, capture_output=True)
        (workspace / ".assistant/new").unlink()  # skip the questions of the first chat
        recorded(played(workspace, TALK), DOCS / "terminal.svg")
        for message in EARLIER:
            subprocess.run(
                [program, "-w", str(workspace), "ask", message], check=True, capture_output=True
            )
        recorded(played(workspace, RESUME), DOCS / "resume.svg")
        subprocess.run([program, "-w", str(workspace), "daemon", "stop"], check=True)
    finally:
        shutil.rmtree(home)


def recorded(screen: Sequence[Text], target: Path) -> None:
    """Write the lines of a screen as a picture."""
    console = Console(record=True, width=SIZE[0], file=io.StringIO())
    for line in screen:
        console.print(line, soft_wrap=True)
    picture = console.export_svg(title="assistant")
    target.write_text(FONTS.sub("", picture), encoding="utf-8")


def played(workspace: Path, scene: Scene) -> list[Text]:
    """Return the screen after a scene, line by line, without empty lines at the end."""
    with Tty("-w", str(workspace), "chat", size=SIZE) as tty:
        tty.wait("›")
        for typed, answer in scene:
            tty.send(typed)
            tty.wait(answer, gone="Esc stops")
        return lines(tty._screen)


def lines(screen: pyte.Screen) -> list[Text]:
    """Return the rows of a screen as styled text."""
    rows = [row(screen, number) for number in range(screen.lines)]
    while rows and not rows[-1].plain.strip():
        rows.pop()
    return rows


def row(screen: pyte.Screen, number: int) -> Text:
    """Return one row, each cell in its own style."""
    text = Text()
    cells = (screen.buffer[number][column] for column in range(screen.columns))
    for style, run in groupby(cells, key=style_of):
        text.append("".join(cell.data for cell in run), style)
    text.rstrip()
    return text


def style_of(cell: pyte.screens.Char) -> Style:
    """Return a cell's style for rich."""
    return Style(color=colour(cell.fg), bold=cell.bold, italic=cell.italics)


def colour(name: str) -> str | None:
    """Return rich's name of a colour."""
    if len(name) == 6 and all(digit in "0123456789abcdef" for digit in name):
        return f"#{name}"
    bright = name.removeprefix("bright")
    plain = NAMES.get(bright, bright)
    return f"bright_{plain}" if plain and bright != name else plain


if __name__ == "__main__":
    main()
