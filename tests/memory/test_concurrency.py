"""Many processes at once, some of them killed: nothing lost, nothing doubled, the index true."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import assistant
from assistant.errors import AssistantError
from assistant.memory.base import Fact, Query
from assistant.memory.daemon import client
from assistant.workspace.folder import Workspace
from tests.memory.daemon.daemons import running

NAMES = (
    "Ana", "Ben", "Cleo", "Dov", "Eva", "Finn", "Gil", "Hana", "Ivo", "Jun", "Kim", "Lea", "Max",
)  # fmt: skip
THINGS = ("the kettle", "a kayak", "the violin", "a lemon tree", "the ladder", "an old radio")


def fact(worker: int, number: int) -> str:
    """A fact that no other says."""
    name, thing = NAMES[(worker * 7 + number) % len(NAMES)], THINGS[number % len(THINGS)]
    return f"{name} keeps {thing} in box {worker}-{number}"


def items(workspace: Workspace) -> list[str]:
    """The list items of the memory file."""
    lines = (workspace.root / "MEMORY.md").read_text("utf-8").splitlines()
    return [line.removeprefix("- ") for line in lines if line.startswith("- ")]


def assert_index_is_true(workspace: Workspace) -> None:
    """What is indexed is what the file holds, at the lines it says, found by its words."""
    memory = client.connect(workspace, {})
    there = items(workspace)
    lines = (workspace.root / "MEMORY.md").read_text("utf-8").splitlines()
    assert memory.status().chunks == len(there)
    for text in there:
        (best,) = memory.locate(text).passages
        assert lines[best.start_line - 1] == best.text == f"- {text}"
    for text in random.Random(1).sample(there, min(20, len(there))):
        assert f"- {text}" in [found.text for found in memory.recall(Query(text)).passages]
    memory.close()


@pytest.fixture(autouse=True)
def daemon(workspace: Workspace) -> Iterator[None]:
    """Whatever daemon a test starts ends with it."""
    yield
    kill_daemon(workspace)


def kill_daemon(workspace: Workspace) -> None:
    process = running(workspace)
    if process is not None:
        os.kill(process, signal.SIGKILL)


def work(workspace: Workspace, worker: int, operations: int) -> set[str]:
    """Remember, recall and forget, mixed; returns the facts that must be left."""
    memory, chance = client.connect(workspace, {}), random.Random(worker)
    kept: list[str] = []
    for number in range(operations):
        kind = chance.choice(["remember", "remember", "recall", "forget"]) if kept else "remember"
        if kind == "remember":
            (done,) = memory.remember([Fact(fact(worker, number))])
            assert done.status == "stored"
            kept.append(done.text)
        elif kind == "recall":
            wanted = chance.choice(kept)
            texts = [found.text for found in memory.recall(Query(wanted)).passages]
            assert f"- {wanted}" in texts
        else:
            gone = kept.pop(chance.randrange(len(kept)))
            (passage,) = memory.locate(gone).passages
            memory.forget([passage])
    memory.close()
    return set(kept)


@pytest.mark.slow
def test_eight_processes_at_once(workspace: Workspace) -> None:
    """Two hundred operations that start together, without a daemon."""
    with multiprocessing.get_context("spawn").Pool(8) as pool:
        kept = pool.starmap(work, [(workspace, worker, 25) for worker in range(8)])
    expected = set().union(*kept)
    assert Counter(items(workspace)) == Counter(expected)
    assert_index_is_true(workspace)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_processes_of_fifty_facts(workspace: Workspace) -> None:
    with multiprocessing.get_context("spawn").Pool(20) as pool:
        pool.starmap(store, [(workspace, worker, 50) for worker in range(20)])
    expected = {fact(worker, number) for worker in range(20) for number in range(50)}
    assert Counter(items(workspace)) == Counter(expected)
    assert_index_is_true(workspace)


def store(workspace: Workspace, worker: int, facts: int) -> None:
    memory = client.connect(workspace, {})
    for number in range(facts):
        memory.remember([Fact(fact(worker, number))])
    memory.close()


KILLS = [
    pytest.param(10, id="10"),
    pytest.param(500, id="500", marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
]


@pytest.mark.parametrize("kills", KILLS)
def test_kills_of_daemon_and_clients_lose_nothing(workspace: Workspace, kills: int) -> None:
    """What a client was told is stored is there, once, whoever died when."""
    chance = random.Random(kills)
    with Workers(workspace) as workers:
        acknowledged: list[str] = []
        for _ in range(kills):
            acknowledged += [workers.next_line() for _ in range(chance.randrange(1, 6))]
            if chance.random() < 0.5:
                kill_daemon(workspace)
            else:
                workers.replace_one(chance)
        acknowledged += workers.end()
    kill_daemon(workspace)  # or it would go on with what the last of them had asked
    there = Counter(items(workspace))
    assert len(acknowledged) > kills
    assert [text for text in acknowledged if there[text] != 1] == []
    assert [text for text, count in there.items() if count > 1] == []
    assert_index_is_true(workspace)


class Workers:
    """Three processes that remember for ever, and the pipe on which they say what is stored."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._reading, self._writing = os.pipe()
        self._held = b""
        self._running = [self._start(number) for number in range(3)]
        self._following = 3

    def next_line(self) -> str:
        """The next fact that a worker was told is stored."""
        while b"\n" not in self._held:
            self._held += os.read(self._reading, 65536)
        line, _, self._held = self._held.partition(b"\n")
        return line.decode()

    def replace_one(self, chance: random.Random) -> None:
        """Kill a worker; another begins."""
        gone = self._running.pop(chance.randrange(len(self._running)))
        gone.kill()
        gone.wait()
        self._running.append(self._start(self._following))
        self._following += 1

    def end(self) -> list[str]:
        """Kill them all; the lines that are left."""
        while self._running:
            gone = self._running.pop()
            gone.kill()
            gone.wait()
        os.close(self._writing)
        while piece := os.read(self._reading, 65536):
            self._held += piece
        return self._held.decode().splitlines()

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._running:
            self.end()
        os.close(self._reading)

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        root = Path(assistant.__file__).parent.parent
        command = [sys.executable, "-m", "tests.memory.test_concurrency"]
        arguments = [str(self._workspace.root), str(number), str(self._writing)]
        return subprocess.Popen([*command, *arguments], pass_fds=[self._writing], cwd=root)


def remember_for_ever(root: str, worker: str, acknowledging: str) -> None:
    """A worker's process: a fact it was told is stored goes to the pipe."""
    workspace, number = Workspace(Path(root)), 0
    while True:
        try:
            memory = client.connect(workspace, {})
            while True:
                (done,) = memory.remember([Fact(fact(int(worker), number))])
                os.write(int(acknowledging), f"{done.text}\n".encode())
                number += 1
        except AssistantError:
            number += 1  # nobody was told that this one is stored


if __name__ == "__main__":
    remember_for_ever(*sys.argv[1:])
