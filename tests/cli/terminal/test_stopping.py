"""A command that the owner stops: its line and what it has printed stay."""

from pathlib import Path

import pytest

from assistant.messages import Reply, ToolCall
from tests.cli.conftest import Run
from tests.cli.terminal.test_chat import WORKING, chat, leaves, provider  # noqa: F401
from tests.support.provider import Provider


@pytest.mark.parametrize("key", ["\x1b", pytest.param("\x03", marks=pytest.mark.slow)])
def test_what_a_stopped_command_has_printed_stays(
    place: Path,
    provider: Provider,  # noqa: F811
    run: Run,
    key: str,
) -> None:
    calls = (
        ToolCall("c1", "shell", {"command": "echo before"}),
        ToolCall(
            "c2",
            "shell",
            {"command": "for i in 1 2 3 4 5; do echo row $i; sleep 0.4; done; sleep 60"},
        ),
        ToolCall("c3", "note", {"text": "never"}),
    )
    provider.enqueue(Reply(tool_calls=calls))
    with chat(place, provider) as tty:
        tty.wait("›")
        tty.say("count")
        tty.wait("row 5")
        tty.send(key)
        tty.wait("stopped", gone=WORKING)
        rows = tty.whole.splitlines()
        assert any(row.startswith("✗ shell: for i in 1 2 3") for row in rows)
        assert {"  row 1", "  row 3", "  … 3 more lines · Ctrl-O shows all"} <= set(rows)
        assert rows.count("stopped") == 1 and "✗ note → Not run: the owner interrupted." in rows
        tty.send("\x0f")
        tty.wait("\nrow 1\nrow 2\nrow 3\nrow 4\nrow 5\n[interrupted by the owner]\n")
        assert leaves(tty) == 0
    (session,) = (path.stem for path in (place / ".assistant/sessions").glob("*.jsonl"))
    kept = (place / f".assistant/sessions/{session}.jsonl").read_text()
    assert "row 5\\n[interrupted by the owner]" in kept
    assert "interrupted by the owner" in run("sessions", "show", session).stdout
