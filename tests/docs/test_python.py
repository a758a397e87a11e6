"""The Python page: its examples run and print what they show, and its names are the public ones."""

import inspect
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import assistant
from assistant import api
from tests.support.daemon import ended

PAGE = (Path(__file__).resolve().parents[2] / "docs/python.md").read_text("utf-8")
WRITTEN = "2026-11-22"
"""The day that stands in the page."""
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_examples_print_what_they_show(home: Path) -> None:
    assert len(EXAMPLES) == 3
    for code, shown in EXAMPLES:
        assert len(code.splitlines()) <= 10
        assert run(code).strip() == shown.replace(WRITTEN, date.today().isoformat()).strip()
    ended(home / "notes")


def test_the_public_names_are_those_that_the_page_lists() -> None:
    table = PAGE.split("## What is public")[1]
    listed = set(re.findall(r"`([A-Z]\w+)", table))
    assert listed == set(assistant.__all__) == set(api.__all__)
    for name in assistant.__all__:
        assert getattr(assistant, name) is getattr(api, name)
    for kind in (api.Memory, api.Assistant):
        row = next(line for line in table.splitlines() if f"`{kind.__name__}(" in line)
        listed = set(re.findall(r"`(\w+)`", row))
        assert listed == {each for each in vars(kind) if not each.startswith("_")}
        taken = inspect.signature(kind).parameters.values()
        assert all(f"{each.name}={each.default}" in row for each in taken)


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys; old = set(sys.modules); import assistant; print(set(sys.modules) - old)"
    assert run(code).strip() == "{'assistant'}"
