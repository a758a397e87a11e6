"""Other people's tools through the real command: listed, approved, called, and ended with it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assistant import config
from assistant.cli.root import cli
from tests.cli.talk.test_ask import command
from tests.cli.talk.test_web import calls
from tests.support.provider import Pause, Provider, Raw
from tests.tools.mcp_client.test_servers import SCRIPT, happens, runs, tool


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A server's folder, named in the configuration."""
    made = tmp_path / "server"
    made.mkdir()
    (made / "tools.json").write_text(json.dumps([tool("echo")]))
    config.config_file().parent.mkdir(parents=True)
    arguments = json.dumps([str(SCRIPT), str(made)])
    config.config_file().write_text(
        f'[mcpServers.small]\ncommand = "{sys.executable}"\nargs = {arguments}\n'
    )
    return made


@pytest.mark.slow
def test_a_tool_is_called_and_its_server_ends_with_a_killed_chat(place: Path, folder: Path) -> None:
    said = calls(("mcp_small_echo", {"text": "hi"}))
    with Provider(*said, Raw((Pause(),))) as provider:
        with command(place, provider.url, "ask", "--yes", "say hi") as asked:
            assert asked.stdin is not None
            asked.stdin.close()
            assert provider.wait_for(lambda each: len(each.requests) == 2, 90)
            pid = int((folder / "pid").read_text())
            assert runs(pid)
            asked.kill()
            assert asked.stderr is not None and "Traceback" not in asked.stderr.read()
        assert happens(lambda: not runs(pid))
    assert "mcp_small_echo" in json.dumps(provider.requests[0].body["tools"])
    assert 'echo says {"text": "hi"}' in provider.requests[1].body["messages"][-1]["content"]


def invoked(place: Path, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["-w", str(place), "mcp-servers", *arguments])
    return result.exit_code, result.output


def fault(place: Path, *arguments: str) -> BaseException | None:
    return CliRunner().invoke(cli, ["-w", str(place), "mcp-servers", *arguments]).exception


def test_servers_are_listed_checked_and_approved(place: Path, folder: Path) -> None:
    (place / ".mcp.json").write_text(json.dumps({"mcpServers": {"far": {"command": "no-such"}}}))
    code, listed = invoked(place, "list", "--json")
    assert [(each["name"], each["tools"]) for each in json.loads(listed)] == [
        ("small", ["echo"]),
        ("far", []),
    ]
    code, checked = invoked(place, "list")
    assert code == 1 and "✓ small: 1 tool in " in checked
    assert "✗ far: not approved, so it was not started" in checked
    assert "needs your confirmation" in str(fault(place, "approve", "far"))
    assert '"command": "no-such"' in invoked(place, "approve", "far", "--yes")[1]
    assert "no-such: No such file" in invoked(place, "list", "far")[1]
    (folder / "tools.json").write_text(json.dumps([tool("echo", "Echo \u202eevil")]))
    code, checked = invoked(place, "list", "small", "--json")
    assert code == 1 and list(json.loads(checked)[0]["changed"]) == ["echo"]
    code, shown = invoked(place, "approve", "small", "--yes")
    assert code == 0 and "\u202e" not in shown and '- "description": "Echo a text."' in shown
    assert invoked(place, "list", "small")[0] == 0
    assert "there is no MCP server 'x'" in str(fault(place, "list", "x"))


@pytest.mark.slow
def test_no_server_costs_no_import(place: Path) -> None:
    heavy = ("mcp", "anyio", "httpx2", "html_to_markdown", "playwright")
    code = (
        "import sys; from assistant.app.options import ChatOptions\n"
        "from assistant.cli.options import Globals; from pathlib import Path\n"
        f"with Globals(Path({str(place)!r})).open_chat(ChatOptions()) as chat:\n"
        "    assert chat.conversation.toolbox.specs()\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.stdout == "[]\n", shown.stderr
