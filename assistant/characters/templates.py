"""What chat templates put between messages: `templates.txt`."""

from pathlib import Path

_lines = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
_listed = dict(each.split(": ", 1) for each in _lines if not each.startswith("#"))
MARKUP = tuple(_listed.pop("markup").split("  "))
"""What models were trained to read as their own hand, and other texts are full of, too."""
MARKS = {family: tuple(marks.split("  ")) for family, marks in _listed.items()}
"""By the family of models that reads it so."""
