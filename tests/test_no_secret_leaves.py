"""Fifty kinds of secrets, seeded wherever they could stand; none may be sent, kept or logged."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.messages import Reply, ToolCall
from assistant.workspace import template, trust
from assistant.workspace.folder import Workspace
from tests.cli.tty import Tty
from tests.secrets.tokens import core, tokens
from tests.support.daemon import ended
from tests.support.provider import Provider

ASSISTANT = Path(sys.executable).with_name("assistant")
SAME = {"assigned words"}
"""The kinds whose token is the same for every seed."""
TYPED, IN_FILE, PRINTED, REMEMBERED, BY_HAND, SAID = (
    {kind: token for kind, token in tokens(seed).items() if kind not in SAME} for seed in range(6)
)
SHAPELESS = {"HOUSE_PASSWORD": "blue-door-at-dusk", "HARBOUR_KEY": "nine tame herons"}
REGISTERED = "an owl named Otto"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    """A trusted workspace with secrets in its files; its daemon is ended afterwards."""
    root = tmp_path / "place"
    made = template.create(root).workspace
    trust.grant(made)
    (root / "keys.txt").write_text(listed(IN_FILE))
    (root / "more.txt").write_text(listed(PRINTED))
    with (root / "MEMORY.md").open("a") as memory:
        for kind, token in BY_HAND.items():
            fence = f"```\n{token}\n```" if "\n" in token else f"- The {kind} credential: {token}"
            memory.write(f"\n{fence}\n")
    yield made
    ended(root)


def listed(seeded: dict[str, str]) -> str:
    return "\n\n".join(f"{kind}: {token}" for kind, token in seeded.items())


def assistant(place: Workspace, *arguments: str, said: str = "", **more: str) -> str:
    """What the command printed; it must end well."""
    done = subprocess.run(
        [ASSISTANT, "-w", place.root, *arguments],
        input=said,
        env={**os.environ, **SHAPELESS, **more},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def leaks(data: bytes, *seeded: dict[str, str]) -> list[str]:
    """The kinds of the secrets that stand in the bytes, plain or as JSON would spell them."""
    known = [(kind, core(token)) for each in seeded for kind, token in each.items()]
    known += [*SHAPELESS.items(), ("registered", REGISTERED)]
    return [kind for kind, secret in known if secret.encode() in data]


def kept(place: Workspace, home: Path) -> Iterator[Path]:
    """Every file that the program wrote: the workspace's and the home's."""
    owners = {place.root / "keys.txt", place.root / "more.txt"}
    for root in (place.root, home):
        yield from (each for each in root.rglob("*") if each.is_file() and each not in owners)


def test_no_seeded_secret_is_sent_kept_or_logged(place: Workspace, home: Path) -> None:
    assistant(place, "secrets", "add", "owl", said=REGISTERED)
    assistant(place, "remember", "-", said=f"What Ada gave me: {listed(REMEMBERED)}")
    assistant(place, "remember", "At the house say [[secret:HOUSE_PASSWORD]], or [[secret:owl]]")
    script = (
        Reply(tool_calls=(ToolCall("a", "read_file", {"path": "keys.txt"}),)),
        Reply(tool_calls=(ToolCall("b", "shell", {"command": "cat more.txt"}),)),
        Reply(tool_calls=(ToolCall("c", "recall", {"query": "credential of Stripe"}),)),
        Reply(
            listed(SAID),
            reasoning=listed(SAID),
            tool_calls=(ToolCall("d", "remember", {"fact": f"Told: {SAID['GitHub']}"}),),
        ),
        "Yes.",
    )
    with Provider(*script) as provider:
        model = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": provider.url}
        said = f"Keep these: {listed(TYPED)}, {REGISTERED}, {SHAPELESS['HARBOUR_KEY']}"
        assistant(place, "ask", "--yes", said, OPENAI_API_KEY="sk-none", **model)
    every = (TYPED, IN_FILE, PRINTED, REMEMBERED, BY_HAND, SAID)
    sent = json.dumps([request.body for request in provider.requests], ensure_ascii=False)
    assert len(provider.requests) == 5
    assert leaks(sent.encode(), *every) == []
    assert sent.count("[[secret:") > 100
    shown = assistant(place, "recall", "the credential of Stripe", "--json")
    assert "[[secret:stripe-key-" in shown and leaks(shown.encode(), *every) == []
    assistant(place, "daemon", "stop")
    given = {"MEMORY.md": {id(BY_HAND), id(REMEMBERED)}, "journal.jsonl": {id(REMEMBERED)}}
    for path in kept(place, home):
        seeded = [each for each in every if id(each) not in given.get(path.name, ())]
        if path.name != "secrets.json":
            assert leaks(path.read_bytes(), *seeded) == [], path


@pytest.mark.slow
def test_a_secret_written_by_hand_can_be_forgotten_but_not_copied(place: Workspace) -> None:
    before = (place.root / "MEMORY.md").read_bytes()
    number = before.split(b"\n").index(f"- The Stripe credential: {BY_HAND['Stripe']}".encode()) + 1
    line = f"MEMORY.md:{number}"
    refused = subprocess.run(
        [ASSISTANT, "-w", place.root, "remember", "Stripe is gone", "--replaces", line],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 1 and "holds a secret" in refused.stderr
    assistant(place, "forget", line, "--yes")
    after = (place.root / "MEMORY.md").read_bytes()
    assert core(BY_HAND["Stripe"]).encode() not in after
    assert leaks((place.private / "journal.jsonl").read_bytes(), BY_HAND) == []
    assistant(place, "memory", "undo")
    assert (place.root / "MEMORY.md").read_bytes() == before


@pytest.mark.slow
def test_what_was_typed_is_in_the_prompts_history_without_secrets(
    place: Workspace, home: Path
) -> None:
    with Tty("-w", str(place.root), "chat") as tty:
        tty.wait("›")
        tty.say(f"/usage {TYPED['GitHub']}")
        tty.wait("takes no argument")
        tty.wait("›", gone="Esc stops")
        tty.send("\x04")
        assert tty.end() == 0
    (history,) = home.rglob("prompts")
    assert "/usage [[secret:github-token-" in history.read_text()
    assert leaks(history.read_bytes(), TYPED) == []
