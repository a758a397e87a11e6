"""A workspace from elsewhere: nothing of it reaches a prompt until its owner trusts it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant.app.chat import Chat, open_chat
from assistant.app.options import ChatOptions
from assistant.errors import SessionError
from assistant.events import Notice
from assistant.session import transcript
from assistant.session.entries import UserEntry
from assistant.workspace import trust
from assistant.workspace.folder import Workspace
from tests.support.conversations import reply
from tests.support.provider import Provider

ROOT = Path(__file__).resolve().parent.parent.parent
PLANTED = "planted by a stranger"
ASKED = "What was planted, and by which stranger?"


@pytest.fixture
def cloned(workspace: Workspace) -> Workspace:
    """A workspace in which everything that could say something says it."""
    root = workspace.root
    for name in ("IDENTITY", "SOUL", "USER", "MEMORY", "AGENTS", "HEARTBEAT"):
        (root / f"{name}.md").write_text(f"- {name} was {PLANTED}\n")
    (root / "memory").mkdir()
    (root / "memory" / "more.md").write_text(f"- More was {PLANTED}\n")
    (root / "skills" / "tea").mkdir(parents=True)
    skill = f"---\nname: tea\ndescription: {PLANTED}\n---\n{PLANTED}\n"
    (root / "skills" / "tea" / "SKILL.md").write_text(skill)
    (root / "assistant.toml").write_text(
        '[context]\nreserve_tokens = 4321\n[skills]\ndisabled = ["tea"]\n'
    )
    session = transcript.create(workspace.sessions)
    session.append(UserEntry(f"This session was {PLANTED}"))
    session.close()
    return workspace


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A provider that the settings name, and that says that it understood."""
    with Provider(respond=lambda _: "Understood.") as server:
        monkeypatch.setenv("ASSISTANT_MODEL", "openai/test")
        monkeypatch.setenv("ASSISTANT_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        yield server


def opened(place: Workspace, **wish: Any) -> Chat:
    return open_chat(place, ChatOptions(**wish), no_daemon=True)


def command(place: Workspace, *arguments: str) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-m", "assistant.cli.main", "--no-daemon", "-w", str(place.root)]
    return subprocess.run(
        [*words, *arguments],
        cwd=ROOT,
        env=os.environ,
        input="",
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_nothing_of_it_is_sent(cloned: Workspace, model: Provider) -> None:
    with opened(cloned) as chat:
        notices = [e.text for e in chat.conversation.send(ASKED) if isinstance(e, Notice)]
        assert chat.settings.context.reserve_tokens != 4321
        preview = "\n".join(section.rendered for section in chat.conversation.preview(ASKED))
    sent = str([request.body for request in model.requests])
    assert ASKED in sent and PLANTED not in sent.replace(ASKED, "")
    assert PLANTED not in preview
    assert any(f"`assistant -w {cloned.root} trust`" in notice for notice in notices)
    tools = {tool["function"]["name"] for tool in model.requests[0].body["tools"]}
    assert "read_file" in tools and not tools & {"recall", "remember"}


def test_everything_of_it_is_used_once_it_is_trusted(cloned: Workspace, model: Provider) -> None:
    """The same workspace; so the test above can fail."""
    trust.grant(cloned)
    with opened(cloned) as chat:
        reply(chat.conversation.send(ASKED))
        assert chat.settings.context.reserve_tokens == 4321
    sent = str([request.body for request in model.requests])
    for name in ("IDENTITY", "SOUL", "USER", "MEMORY", "AGENTS", "HEARTBEAT", "More"):
        assert f"{name} was {PLANTED}" in sent
    assert '"recall"' in sent.replace("'", '"')


@pytest.mark.parametrize("wish", [{"latest": True}, {"resume": "2"}])
def test_its_sessions_are_not_taken_up(cloned: Workspace, wish: dict[str, Any]) -> None:
    with pytest.raises(SessionError, match="someone else's"):
        opened(cloned, **wish)


def test_recall_works_on_the_command_line(cloned: Workspace) -> None:
    done = command(cloned, "recall", "what was planted?")
    assert done.returncode == 0 and f"MEMORY was {PLANTED}" in done.stdout


def test_chat_says_so_and_trust_grants_it(cloned: Workspace) -> None:
    asked = command(cloned, "ask", ASKED)
    assert asked.returncode == 0 and f"`assistant -w {cloned.root} trust`" in asked.stderr
    assert f"was {PLANTED}" not in asked.stdout
    assert command(cloned, "trust").returncode == 0
    trusted = command(cloned, "ask", ASKED)
    assert "not trusted" not in trusted.stderr and f"was {PLANTED}" in trusted.stdout


def test_init_grants_it(cloned: Workspace) -> None:
    first, second = (command(cloned, "init", str(cloned.root)) for _ in range(2))
    assert first.returncode == 0 and "It is trusted from now on" in first.stdout
    assert trust.is_trusted(cloned)
    assert second.returncode == 0 and "trusted" not in second.stdout


def test_a_workspace_cannot_name_a_model(cloned: Workspace) -> None:
    """Not even a trusted one: its recipe holds no endpoint, key or model."""
    trust.grant(cloned)
    (cloned.root / "assistant.toml").write_text('[model]\nname = "openai/evil"\n')
    done = command(cloned, "ask", "Hello")
    assert done.returncode == 1 and "may contain only [context] and [skills]" in done.stderr
