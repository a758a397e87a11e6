"""`assistant mcp` as programs start it: a process, on real pipes."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

from tests.cli.conftest import ASSISTANT, Run

WATCHED = "import sys; from assistant.cli.front import run\n" + (
    "try: run()\nfinally: sys.stderr.write(' '.join(sys.modules))"
)

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "a program", "version": "1"},
}
BEGINNING = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


def test_eight_servers_at_once_lose_and_double_nothing(place: Path) -> None:
    async def one(number: int) -> None:
        command = StdioServerParameters(
            command=str(ASSISTANT), args=["-w", str(place), "mcp", "--trust"], env=dict(os.environ)
        )
        async with Client(command, mode="legacy" if number % 2 else "auto") as client:
            for fact in range(5):
                text = f"Server {number} wrote fact {fact}"
                done = await client.call_tool("remember", {"fact": text})
                assert "Stored at MEMORY.md:" in done.content[0].text
            both = await client.call_tool("remember", {"fact": "All of them wrote this"})
            assert "at MEMORY.md:" in both.content[0].text

    async def scenario() -> None:
        await asyncio.gather(*map(one, range(8)))

    asyncio.run(scenario())
    lines = (place / "MEMORY.md").read_text().splitlines()
    wanted = {f"- Server {number} wrote fact {fact}" for number in range(8) for fact in range(5)}
    assert wanted <= set(lines) and lines.count("- All of them wrote this") == 1
    assert sum("wrote" in line for line in lines) == 41


def test_it_answers_and_loads_no_model(place: Path) -> None:
    asked = [
        *BEGINNING,
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        *(
            {
                "jsonrpc": "2.0",
                "id": name,
                "method": "tools/call",
                "params": {"name": name, "arguments": arguments},
            }
            for name, arguments in (
                ("recall", {"query": "the key"}),
                ("remember", {"fact": "the key"}),
                ("read", {"path": "MEMORY.md"}),
                ("context", {}),
                ("status", {}),
            )
        ),
    ]
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, "-w", place, "mcp"],
        input="".join(f"{line}\n" for line in ["{ no JSON", "", "[1]", *map(json.dumps, asked)]),
        capture_output=True,
        text=True,
        timeout=600,
    )
    told = list(map(json.loads, done.stdout.splitlines()))
    errors = [each["error"]["code"] for each in told if each["id"] is None]
    assert errors == [-32700, -32600]
    answers = {each["id"]: each for each in told if each["id"] is not None}
    first, second = answers.pop(1), answers.pop(2)
    assert first["result"]["serverInfo"]["name"] == "assistant"
    assert str(place) in first["result"]["instructions"]
    assert len(second["result"]["tools"]) == 7
    assert [each for each in answers.values() if each["result"]["isError"]] == []
    heavy = {"litellm", "chromadb", "onnxruntime", "torch", "prompt_toolkit"}
    assert not heavy & set(done.stderr.split())


def test_the_tools_are_listed_before_the_protocol_is_imported(place: Path) -> None:
    asked = [
        *BEGINNING,
        *(
            {"jsonrpc": "2.0", "id": method, "method": method}
            for method in ("tools/list", "resources/list", "prompts/list", "ping")
        ),
    ]
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, "-w", place, "mcp"],
        input="".join(f"{json.dumps(line)}\n" for line in asked),
        capture_output=True,
        text=True,
        timeout=600,
    )
    answers = {each["id"]: each["result"] for each in map(json.loads, done.stdout.splitlines())}
    assert set(answers) == {1, "tools/list", "resources/list", "prompts/list", "ping"}
    assert len(answers["tools/list"]["tools"]) == 7 and answers["resources/list"]["resources"]
    loaded = set(done.stderr.split())
    assert "assistant" in loaded and not loaded & {"mcp", "mcp_types", "pydantic", "anyio"}
    dates = ("assistant.memory.text.times", "assistant.upkeep")  # only calls need them
    assert [name for name in loaded if name.startswith(dates)] == []


def test_all_is_answered_where_nothing_more_is_asked(place: Path, run: Run) -> None:
    run("recall", "key")  # the daemon answers from here on, and no thread waits for its start
    calls = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": "remember", "arguments": {"fact": f"Owl {number} is awake"}},
        }
        for number in range(2, 8)
    ]
    lines = "".join(f"{json.dumps(line)}\n" for line in [*BEGINNING, *calls])
    told = [json.loads(line) for line in run("mcp", "--trust", stdin=lines).stdout.splitlines()]
    assert sorted(each["id"] for each in told) == list(range(1, 8))
    assert all(
        (place / "MEMORY.md").read_text().count(f"Owl {n} is awake") == 1 for n in range(2, 8)
    )
