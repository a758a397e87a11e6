"""Servers made with the protocol's own library, on standard input and output and over HTTP."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.settings.sections import ServerSettings
from assistant.tools.mcp_client.pins import Pins
from assistant.tools.mcp_client.servers import Server
from assistant.tools.mcp_client.tools import Foreign
from assistant.tools.policy import ApproveAll
from assistant.tools.toolbox import Toolbox
from tests.support.chroma import free_port
from tests.tools.conftest import calling, happens

SCRIPT = """
import sys
from mcp.server import MCPServer
mcp = MCPServer("sums")
@mcp.tool()
def add(a: int, b: int) -> str:
    "Add two numbers."
    return str(a + b)
if len(sys.argv) > 1:
    mcp.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
mcp.run()
"""


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def over_http(tmp_path: Path) -> Iterator[ServerSettings]:
    """A server that runs already."""
    port = free_port()
    command = [sys.executable, "-c", SCRIPT, str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        assert happens(lambda: listens(port))
        yield ServerSettings(url=f"http://127.0.0.1:{port}/mcp")
        server.kill()


def test_both_ways_of_reaching_a_server_give_its_tools(over_http: ServerSettings) -> None:
    started = ServerSettings(command=sys.executable, args=("-c", SCRIPT), start_seconds=60)
    servers = [Server("near", started), Server("far", over_http)]
    foreign = Foreign(servers, Pins(), lambda _: None, threading.Event())
    try:
        call = calling(Toolbox(foreign.tools()), ApproveAll())
        assert call("mcp_near_add", a=1, b=2).content == "3"
        assert call("mcp_far_add", a=3, b=4).content == "7"
        assert call("mcp_far_add", a="three").error
    finally:
        foreign.close()
