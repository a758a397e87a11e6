"""Each command line that README and docs print runs, in order, and exits as its page says.

Each page has a home of its own, in which `before/PAGE.sh` has made what the page speaks of.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from assistant.messages import Reply, ToolCall
from tests.cli.tty import Tty
from tests.support.daemon import ended
from tests.support.provider import Provider, Received

ROOT = Path(__file__).resolve().parents[2]
BEFORE = Path(__file__).with_name("before")
LEFT = {
    r"git clone|scripts/": "installs from the network",
    r"embedding\.model": "needs the files of another model",
    r"reach test": "sends over the network",
    r"assistant listen": "runs until it is stopped",
}
"""The commands that are not run, and why."""
FIRST = ("What is your name?", "\r", "How should I sound?", "\r", "/help ·", "\x04")
TYPED = {
    "assistant": FIRST,
    "assistant chat --continue": FIRST,
    "assistant forget the spare key": ("[y", "y\r"),
    'assistant remember "The guest wifi password: Sommer2024xyz9"': (
        *("[y,n,e,?]", "e\r"),
        *("Name it", "guest_wifi\r"),
    ),
}
"""What a command on a terminal asks, and what a person then types. The others have no terminal."""
EXITS = {
    'assistant ask --model openai/gpt-3.5-turbo "what is on @cat.png"': (2,),
    'assistant ask "paint the door"': (3,),
    'diff -u <(assistant context --session j6u) <(assistant context "and the key")': (1,),
    "assistant forget vault:Projects/Boat.md:10": (1,),
    "assistant mcp-servers list": (1,),
    "assistant skills list": (0, 1),
}
"""How a command exits, the first time on its page and the next; all others with 0."""
TOLD = 'assistant ask "I am allergic to nuts and my sister lives in Porto"'
"""What a fact is taken from, which the page then undoes."""
PREPARED = """
fact() { printf -- '- %s\\n' "$1" >> .assistant/workspace/MEMORY.md; }
picture() { cp "$ROOT/docs/memory-map.png" "$1"; }
program() { mkdir -p bin; printf '#!/bin/sh\\n%s\\n' "$2" > "bin/$1"; chmod +x "bin/$1"; }
session() {
    pushd .assistant/workspace/.assistant/sessions
    old=$(ls *.jsonl | cut -c17-19)
    sed -i "s/-$old\\b/-$1/g" *.jsonl
    for file in *"-$old."*; do mv "$file" "${file/-$old./-$1.}"; done
    popd
}
set -e
"""


def printed(page: Path) -> list[str]:
    """The commands of a page's blocks, in order."""
    found: list[str] = []
    for kind, text in re.findall(r"```(console|sh)\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        pattern = r"^(.+)" if kind == "sh" else r"^\$ (.*(?:(?<=[\\|])\n.*)*)"
        found += re.findall(pattern, text, re.MULTILINE)
    return [re.sub(r"\s{2,}#.*", "", command).strip() for command in found]


PAGES = [
    page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if printed(page)
]
QUICK = ("README", "configuration", "skills", "web")


def reason(command: str) -> str:
    """Why a command is not run, or nothing."""
    return next((why for pattern, why in LEFT.items() if re.search(pattern, command)), "")


def answer(request: Received) -> str | Reply:
    """What the model of the pages says."""
    messages = request.body["messages"]
    if "long-term memory of an owner" in str(messages[0]):
        (entry, *_) = re.findall(r"\b(e\d+)\b[^\n]*owner", messages[1]["content"], re.IGNORECASE)
        fact = {"op": "add", "text": "The owner is allergic to nuts", "entries": [entry]}
        return json.dumps({"operations": [fact]})
    if "paint the door" in str(messages[-1]["content"]):
        question = {"question": "Which door?", "options": ["the red", "the blue"]}
        return Reply(tool_calls=(ToolCall("q1", "ask", question),))
    return "So it is."


def run(command: str, folder: Path) -> tuple[int, str]:
    """Run a command line as a page has it; its exit status, and what it printed."""
    if command not in TYPED:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout
    with Tty("-c", f"cd {folder}; {command}", command=Path("/bin/bash")) as tty:
        for asked, typed in zip(TYPED[command][::2], TYPED[command][1::2], strict=True):
            tty.wait(asked)
            tty.send(typed)
        return tty.end(), tty.whole


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[] if page.stem in QUICK else pytest.mark.slow)
        for page in PAGES
    ],
)
def test_the_commands_of_a_page_run_in_order(
    page: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exits = {command: iter(codes) for command, codes in EXITS.items()}
    script = BEFORE / f"{page.stem}.sh"
    before = script.read_text("utf-8") if script.exists() else ""
    with Provider(respond=answer) as provider:
        environment = {
            "PATH": f"{home}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ROOT": str(ROOT),
            "PAGE": str(page),
            "PYTHON": sys.executable,
            "EDITOR": "true",
            "BROWSER": "true",
            "ASSISTANT_MODEL": "openai/test",
            "ASSISTANT_API_BASE": provider.url,
            **{
                f"GIT_{who}_{what}": "ada@example.org"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        try:
            code, shown = run(f"assistant init\n{PREPARED}\n{before}\npwd", home)
            assert code == 0, shown
            folder = Path(shown.splitlines()[-1])
            for command in printed(page):
                if reason(command):
                    continue
                code, shown = run(command.replace("$?", str(code)), folder)
                due = next(exits[command], 0) if command in exits else 0
                assert code == due, f"$ {command}\n{shown}"
                if command == TOLD:  # a little later
                    run("ASSISTANT_MEMORY__CAPTURE=always assistant memory capture", folder)
        finally:
            ended(home / ".assistant/workspace")


def test_nearly_every_command_is_run() -> None:
    commands = [command for page in PAGES for command in printed(page)]
    left = Counter(filter(None, map(reason, commands)))
    assert set(left) == set(LEFT.values()), "a reason that no command needs"
    ran = len(commands) - left.total()
    assert (ran, left.total()) >= (80, 1) and left.total() <= 7, f"{ran} are run, not {left}"
    assert set(TYPED) | set(EXITS) <= set(commands)
    assert {script.stem for script in BEFORE.glob("*.sh")} <= {page.stem for page in PAGES}
