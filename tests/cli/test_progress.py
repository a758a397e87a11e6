"""What a log is told of long work."""

import time

import pytest

from assistant.cli.progress import BETWEEN, ProgressLine


def test_where_there_is_no_terminal_a_line_tells_of_long_work_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with ProgressLine() as progress:
        for done in range(0, 3001, 1000):
            progress("indexing", done, 8000)
            now += BETWEEN / 2
        progress("indexing", 8000, 8000)  # over: nothing to wait for
        progress("opening memory", 0, 0)
    out, err = capsys.readouterr()
    assert (out, err) == ("", "indexing: 2,000 of 8,000\nopening memory …\n")
