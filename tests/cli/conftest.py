"""The command as a person runs it: a process of its own, a trusted workspace, a real daemon."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assistant.workspace import template, trust
from tests.support.daemon import ended

ASSISTANT = Path(sys.executable).with_name("assistant")
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A trusted workspace that knows about a key; its daemon is ended afterwards."""
    root = tmp_path / "place"
    trust.grant(template.create(root).workspace)
    with (root / "MEMORY.md").open("a") as memory:
        memory.write("\n- The spare key is with Ada, next door\n")
    yield root
    ended(root)


@pytest.fixture
def run(place: Path) -> Run:
    """Runs `assistant` on the workspace, its input and output piped."""

    def run_command(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ASSISTANT, "-w", place, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=600,
            env=dict(os.environ),
        )

    return run_command
