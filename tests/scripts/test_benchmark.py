"""The benchmark runs to its end, so that its page can be written anew at any time."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_quick_run_measures_everything() -> None:
    command = [sys.executable, "-m", "scripts.benchmark", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for part in ("## Goals", "## The chat", "## In one file", "## Growth", "Chroma server"):
        assert part in done.stdout
