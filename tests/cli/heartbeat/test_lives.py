"""Whole stories with real parts: a timer's calls, a phone that fails at first, a page, a mail."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path

import pytest

from assistant.messages import Reply, ToolCall
from tests.cli.conftest import ASSISTANT, Run
from tests.cli.heartbeat.test_event import MAIL, PATIENT, listening
from tests.support.chroma import free_port
from tests.support.provider import Provider, fails
from tests.support.site import Site, page

pytestmark = pytest.mark.slow


@pytest.fixture
def phone(run: Run, tmp_path: Path) -> Iterator[Path]:
    """What arrived on a phone, a line each; it takes nothing while `no-network` is there."""
    arrived, away = tmp_path / "phone", tmp_path / "no-network"
    arrived.touch()
    command = f"[ ! -e {away} ] && tr '\\n' ' ' >> {arrived} && echo >> {arrived}"
    assert run("config", "set", "heartbeat.notify", command).returncode == 0
    yield arrived


def beat(place: Path, url: str) -> tuple[str, str]:
    """What a timer calls, with no terminal and nearly no environment: its output and errors."""
    names = ("HOME", "PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    done = subprocess.run(
        [ASSISTANT, "-w", place, "heartbeat", "run"],
        env={**kept, **model(url)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENT,
    )
    return done.stdout, done.stderr


def model(url: str) -> dict[str, str]:
    return {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": url, "OPENAI_API_KEY": "none"}


def test_a_reminder_set_in_a_chat_reaches_the_phone_once(
    place: Path, run: Run, phone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = ToolCall("c1", "remind", {"when": "in 1 minute", "what": "turn the oven off"})
    with Provider(Reply(tool_calls=(called,)), "I will.") as provider:
        for name, value in model(provider.url).items():
            monkeypatch.setenv(name, value)
        asked = run("ask", "Remind me in a minute to turn the oven off")
        assert asked.returncode == 0 and "I will." in asked.stdout, asked.stderr
        message = str(provider.requests[-1].body["messages"][-1]["content"])
    assert "turn the oven off (HEARTBEAT.md:" in message
    assert "assistant heartbeat" in message  # nothing here would wake it
    with Provider(respond=fails(500)) as down:
        beat(place, down.url)
        assert phone.read_text() == ""  # not due
        time.sleep(61)
        (phone.parent / "no-network").touch()
        beat(place, down.url)
        assert phone.read_text() == ""
        (phone.parent / "no-network").unlink()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda _: beat(place, down.url), range(3)))
        assert not down.requests
    assert phone.read_text().count("turn the oven off") == 1


def test_what_is_due_and_the_weather_of_a_page(place: Path, run: Run, phone: Path) -> None:
    with (place / "MEMORY.md").open("a") as memory:
        memory.write(f"- The boiler is looked at on {date.today() + timedelta(days=1)}\n")
    words = "Rain until noon, then 9 degrees and a strong wind from the west."
    weather = page(f"<html><body><article><h1>Hoorn</h1><p>{words}</p></article></body></html>")
    with Site({"/weather": weather}) as site:
        run("config", "set", "web.fetch", "true")
        run("config", "set", "web.allow_private", "127.0.0.1")
        task = f"what is due tomorrow, and the weather at {site.url}/weather"
        (place / "HEARTBEAT.md").write_text(
            f"# Heartbeat\n\n- every minute: {task}\n- every weekday at 7: {task} (skip if late)\n"
        )
        explained = run("heartbeat", "explain").stdout
        assert "Monday to Friday at 07:00" in explained
        calls = (
            ToolCall("c1", "agenda", {"days": 2}),
            ToolCall("c2", "fetch_url", {"url": f"{site.url}/weather"}),
        )
        with Provider(Reply(tool_calls=calls), "The boiler tomorrow; rain until noon.") as provider:
            shown, beside = beat(place, provider.url)
            results = [str(message) for message in provider.requests[1].body["messages"]]
    assert shown == "The boiler tomorrow; rain until noon.\n", beside
    assert any("boiler is looked at" in result for result in results[-2:])
    assert any("Rain until noon" in result for result in results[-2:])
    assert phone.read_text().count("The boiler tomorrow; rain until noon.") == 1


def test_a_mail_in_a_folder_is_a_fact_in_review_and_a_notification(
    place: Path, run: Run, phone: Path, tmp_path: Path
) -> None:
    with (place / "AGENTS.md").open("a") as agents:
        agents.write("\n## Events: mail\n\n- Remember where things are, and say who wrote.\n")
    folder = tmp_path / "in"
    (folder / "mail").mkdir(parents=True)
    fact = "The key is with Ada, as Bo wrote"
    called = ToolCall("c1", "remember", {"fact": fact})
    with Provider(Reply(tool_calls=(called,)), "Bo wrote: the key is with Ada.") as provider:
        listener = listening(place, provider.url, free_port(), folder)
        (folder / "mail" / "1.eml").write_bytes(MAIL)
        assert provider.wait_for(lambda each: len(each.requests) == 2, PATIENT)
        deadline = time.monotonic() + PATIENT
        while "Bo wrote" not in phone.read_text() and time.monotonic() < deadline:
            time.sleep(0.1)
        listener.send_signal(signal.SIGINT)
        listener.communicate(timeout=PATIENT)
    assert phone.read_text().count("Bo wrote: the key is with Ada.") == 1
    assert list((folder / "mail").iterdir()) == []
    assert fact not in (place / "MEMORY.md").read_text()
    waiting = json.loads(run("memory", "review", "--json").stdout)
    assert fact in json.dumps(waiting)
    assert "mail, " in run("ask", "hello").stderr
