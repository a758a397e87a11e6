"""How far a reader walks: the modules that a flow enters, and how often it opens the owner's files.

Each flow runs in a process of its own under `sys.setprofile`. The figures are ceilings: lower them
when a flow gets shorter.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

import pytest

import assistant
from assistant.messages import Reply, ToolCall
from tests.support.provider import Provider
from tests.support.readings import operations

PACKAGE = str(Path(assistant.__file__).parent)
MOST = {"turn": 65, "capture": 60, "remember": 49, "recall": 30}
"""Modules of the program that a flow may enter; the aim is 60, 70, 45 and 30."""
SECRETIVE = ".assistant"


class Walk:
    """Notes which modules are entered and which files of a workspace are opened."""

    def __init__(self, place: Path) -> None:
        self.place = str(place)
        self.modules: set[str] = set()
        self.opened: Counter[str] = Counter()
        self._walks = False
        sys.addaudithook(self._audit)

    def __enter__(self) -> "Walk":
        self._walks = True
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *exc_info: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)
        self._walks = False

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(PACKAGE) and frame.f_code.co_name != "<module>":
            self.modules.add(file.removeprefix(PACKAGE))

    def _audit(self, event: str, given: tuple[object, ...]) -> None:
        if self._walks and event == "open" and str(given[0]).startswith(self.place):
            name = os.path.relpath(str(given[0]), self.place)
            if not name.startswith(SECRETIVE) and not Path(str(given[0])).is_dir():
                self.opened[name] += 1


def turn(place: Path) -> Walk:
    """A turn of the chat in which the model calls a tool."""
    from assistant.app.chat import open_chat
    from assistant.app.options import ChatOptions
    from assistant.workspace.folder import Workspace
    from tests.support.scripted import ScriptedModel

    with open_chat(Workspace(place), ChatOptions(), no_daemon=True) as chat:
        listing = Reply(tool_calls=(ToolCall("c1", "list_files", {"path": "."}),))
        chat.conversation.model = ScriptedModel("Warm.", listing, "With Ada.")
        list(chat.send("Is the boat ready for the summer?"))
        with (walk := Walk(place)):
            events = list(chat.send("Where is the spare key?"))
    assert events[-1].name == "turn_finished" and any(e.name == "tool_finished" for e in events)
    return walk


def capture(place: Path) -> Walk:
    """A session that is over, read for facts by a provider."""
    from assistant.agent.capture.ended import read_ended
    from assistant.session import transcript
    from assistant.session.entries import AssistantEntry, UserEntry
    from assistant.workspace.folder import Workspace

    record = transcript.create(Workspace(place).sessions)
    record.append(UserEntry("My sister Lena lives in Porto"))
    record.append(AssistantEntry("Noted.", model="openai/test"))
    record.close()
    with (walk := Walk(place)):
        (read,) = read_ended(Workspace(place))
    assert read.stored
    return walk


def remember(place: Path) -> Walk:
    """A fact that is remembered, by a memory that was asked before."""
    from assistant import config
    from assistant.memory import open as opening
    from assistant.memory.base import Fact
    from assistant.workspace.folder import Workspace

    with contextlib.closing(
        opening.open_memory(Workspace(place), config.load(), no_daemon=True)
    ) as m:
        m.remember([Fact("Bo has a boat")])
        with (walk := Walk(place)):
            m.remember([Fact("The owner's sister Lena lives in Porto")])
    return walk


def recall(place: Path) -> Walk:
    """A question to a memory that was asked before."""
    from assistant import config
    from assistant.memory import open as opening
    from assistant.memory.base import Query
    from assistant.workspace.folder import Workspace

    with contextlib.closing(
        opening.open_memory(Workspace(place), config.load(), no_daemon=True)
    ) as m:
        m.recall(Query("Who has a boat?"))
        with (walk := Walk(place)):
            found = m.recall(Query("Where is the spare key?"))
    assert found.passages
    return walk


FLOWS = {flow.__name__: flow for flow in (turn, capture, remember, recall)}


SLOWER = ("capture", "recall")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOWER else []) for n in FLOWS]
)
def test_a_flow_enters_few_modules_and_opens_each_file_once(tmp_path: Path, name: str) -> None:
    with Provider(respond=operations("The owner's sister Lena lives in Porto")) as provider:
        settings = {
            "ASSISTANT_MODEL": "openai/test",
            "ASSISTANT_API_BASE": provider.url,
            "ASSISTANT_MEMORY__CAPTURE": "always",
        }
        done = subprocess.run(
            [sys.executable, "-m", "tests.docs.test_walk", name, str(tmp_path / "place")],
            env={**os.environ, **settings},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    walked = json.loads(done.stdout.splitlines()[-1])
    assert len(walked["modules"]) <= MOST[name], sorted(walked["modules"])
    if name == "turn":
        assert walked["opened"] and set(walked["opened"].values()) == {1}, walked["opened"]


def main() -> None:
    """Walk a flow in a workspace; print what was met as a line of JSON."""
    from assistant.workspace import template, trust

    made = template.create(Path(sys.argv[2])).workspace
    trust.grant(made)
    (made.root / "MEMORY.md").write_text("# Memory\n\n- The spare key is with Ada\n")
    for file in made.root.glob("*.md"):  # what changed just now is looked at again by its content
        os.utime(file, (1_700_000_000, 1_700_000_000))
    walk = FLOWS[sys.argv[1]](made.root)
    print(json.dumps({"modules": sorted(walk.modules), "opened": dict(walk.opened)}))  # noqa: T201


if __name__ == "__main__":
    main()
