"""The heartbeat through the real command: what is due, once, unattended, told."""

import getpass
import json
import os
import shutil
import stat
import subprocess
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from assistant.errors import StorageError
from assistant.heartbeat import beat, claims
from assistant.heartbeat.unattended import Outcome
from assistant.messages import Reply, ToolCall
from assistant.workspace import template, trust
from assistant.workspace.folder import Workspace
from tests.cli.conftest import ASSISTANT, Run
from tests.cli.tty import Tty
from tests.support.provider import Provider

CRONTAB = '[ "$1" = -l ] && exec cat {0}/tab; [ "$1" = - ] && exec cat > {0}/tab'
"""A crontab in a file."""


def beats(place: Path, url: str, *words: str) -> "subprocess.CompletedProcess[str]":
    model = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": url}
    return subprocess.run(
        [ASSISTANT, "-w", place, *(words or ("heartbeat", "run"))],
        capture_output=True,
        text=True,
        env=os.environ | model,
        stdin=subprocess.DEVNULL,
    )


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_what_is_due_is_done_once_and_told(
    run: Run, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "notify-send", f'printf "%s\\n" "$@" >> {tmp_path}/notified')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (place / "BOOTSTRAP.md").write_text("Ask for my name.\n", encoding="utf-8")
    (place / "HEARTBEAT.md").write_text(
        "# Heartbeat\n\n- every minute: who has the spare key?\n"
        "- alle 12 Stunden: what is due tomorrow? (quiet task)\n"
        "- on 2020-01-01: long ago\n- once in a blue moon: dance\n",
        encoding="utf-8",
    )
    tomorrow = date.today() + timedelta(days=1)
    with (place / "MEMORY.md").open("a") as memory:
        memory.write(f"- The boiler is looked at on {tomorrow}\n")
    calls = (ToolCall("c1", "remember", {"fact": "The key is lost"}),)
    calls += (ToolCall("c2", "write_file", {"path": "MEMORY.md", "content": "gone"}),)
    answers = {
        "spare key": [Reply(tool_calls=calls), "Ada has the key."],
        "quiet task": ["NOTHING."],
    }

    def answer(request: object) -> Reply | str:
        asked = json.dumps(request.body["messages"])
        left = answers["quiet task" if "quiet task" in asked else "spare key"]
        return left.pop(0) if left[1:] else left[0]  # by then another minute may have come

    with Provider(respond=answer) as provider:
        done = beats(place, provider.url)
        again = beats(place, provider.url, "heartbeat", "run", "--json")
        bodies = [json.dumps(each.body["messages"]) for each in provider.requests]
        asked = len(provider.requests)
    assert (done.returncode, done.stdout) == (0, "Ada has the key.\n")
    assert (place / "BOOTSTRAP.md").exists()  # it waits for the owner
    assert all(each["line"] == 3 for each in json.loads(again.stdout)) and asked >= 3
    assert "HEARTBEAT.md:4 (due" in done.stderr and "nothing to report" in done.stderr
    first = next(each for each in bodies if "who has the spare key" in each)
    assert "spare key is with" in first and "# This Turn" in first
    for other in ("dance", "quiet task", "User Profile"):
        assert other not in first
    memory = (place / "MEMORY.md").read_text("utf-8")
    assert "lost" not in memory and "gone" not in memory
    assert "The key is lost" in run("memory", "review").stdout
    assert "Ada has the key." in (tmp_path / "notified").read_text()
    explained = json.loads(run("heartbeat", "explain", "--json").stdout)
    assert [each["line"] for each in explained["not_understood"]] == [6]
    assert explained["tasks"][0]["when"] == "every minute" and explained["tokens"]["month"] > 0
    told = run("heartbeat", "explain").stderr
    assert "HEARTBEAT.md:6 is not understood: “once in a blue moon" in told
    assert ": dance”. Begin it with a time" in told
    assert "Ada has the key. · `assistant sessions show" in run("chat", stdin="hello\n").stderr
    assert run("ask", "--continue", "hello").returncode == 0  # goes on with a chat, not with a beat


@pytest.mark.slow
def test_a_beat_ends_at_its_cap_and_none_begins_past_the_months(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSISTANT_HEARTBEAT__TOKENS", "10")
    monkeypatch.setenv("ASSISTANT_HEARTBEAT__MONTHLY_TOKENS", "20")
    (place / "HEARTBEAT.md").write_text("- every hour: costly task\n- every minute: later\n")
    look = Reply(tool_calls=(ToolCall("c", "recall", {"query": "key"}),))
    with Provider(respond=lambda _: look) as provider:
        first = beats(place, provider.url)
        assert len(provider.requests) == 1, "a beat went on past its cap"
        again = beats(place, provider.url, "heartbeat", "run", "--json")
        assert len(provider.requests) == 1, "a beat began past the month's cap"
    assert "HEARTBEAT.md:1" in first.stderr and " of 10 tokens" in first.stderr
    for ended in (first, again):
        assert ended.returncode == 1
        assert "has used this month's 20 tokens" in ended.stderr
    assert "due since" in run("heartbeat", "explain").stdout  # what was not begun was not taken
    assert "HEARTBEAT.md:1: stopped: it had cost" in run("chat", stdin="hello\n").stderr


@pytest.mark.slow
def test_while_no_model_answers_a_task_waits_and_is_done_once_one_does(
    run: Run, place: Path
) -> None:
    (place / "HEARTBEAT.md").write_text("- on 2026-01-01: x\n- every hour: look at the boat\n")
    down = [beats(place, "http://127.0.0.1:9/v1", "heartbeat", "run", "--json") for _ in range(2)]
    for each in down:
        assert each.returncode == 1
        assert [one["state"] for one in json.loads(each.stdout)] == ["waiting"]
    assert "(it is retried)" in run("chat", stdin="hello\n").stderr
    with Provider(respond=lambda _: "The boat leaks.") as provider:
        done = beats(place, provider.url)
        again = beats(place, provider.url)
    assert done.stdout == "The boat leaks.\n" and "The boat" not in again.stdout
    assert "it is retried" not in run("chat", stdin="hello\n").stderr


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    """A trusted workspace, in this process."""
    place = template.create(tmp_path / "here").workspace
    trust.grant(place)
    return place


def test_a_due_time_is_taken_once_whatever_the_clock_says(here: Workspace) -> None:
    now = datetime.now().replace(hour=12, minute=10, second=0, microsecond=0)
    day = f"{now:%A}"
    (here.root / "HEARTBEAT.md").write_text(
        f"- every {day} at 9: sleepy, skip if late\n- every {day} at 10: late\n"
        "- daily at 13: later\n"
    )
    os.utime(here.root / "HEARTBEAT.md", (0, 0))  # written long before
    assert [task.text for task, _ in beat.due(here, now)] == ["sleepy", "late"]
    skipping = beat.run(here, now)
    assert next(skipping).outcome.state == "skipped"
    skipping.close()
    ((task, when),) = beat.due(here, now)
    assert claims.take(here, task, when) and not claims.take(here, task, when)
    for later in (now, now + timedelta(hours=3), now - timedelta(minutes=30)):
        assert "late" not in [each.text for each, _ in beat.due(here, later)]
    week = beat.due(here, now + timedelta(days=7))
    assert "late" in [each.text for each, _ in week]


def test_what_no_model_answered_is_due_again_even_if_it_cannot_be_reported(
    here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StorageError("beats.json cannot be written: No space left on device")

    (here.root / "HEARTBEAT.md").write_text("- every hour: look at the boat\n")
    monkeypatch.setenv("ASSISTANT_MODEL", "openai/test")
    monkeypatch.setattr(beat, "run_turn", lambda *_, **__: Outcome("waiting"))
    monkeypatch.setattr(beat, "_report", fail)
    now = datetime.now()
    with pytest.raises(StorageError):
        list(beat.run(here, now))
    assert not list(claims.broken(here))
    assert beat.due(here, now)


def test_without_a_model_what_is_due_waits_and_is_said(run: Run, place: Path) -> None:
    (place / "HEARTBEAT.md").write_text("- every minute: look\n")
    told = run("heartbeat", "run")
    assert told.returncode == 1 and "no model is configured" in told.stderr
    (place / "HEARTBEAT.md").write_text("- on 2099-01-01: look\n")
    assert run("heartbeat", "run").returncode == 0


def test_it_is_put_into_the_machines_timers_and_taken_out(
    run: Run, place: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "systemctl", f'echo "$@" >> {tmp_path}/systemctl.log')
    program(tmp_path, "crontab", CRONTAB.format(tmp_path))
    (tmp_path / "tab").write_text("0 1 * * * mine\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    installed = run("heartbeat", "install")
    assert "Written: " in installed.stdout
    lingers = Path("/var/lib/systemd/linger", getpass.getuser()).exists()
    for told in (installed.stderr, run("doctor", "--without-model").stdout):
        assert ("`loginctl enable-linger` keeps it running" in told) is not lingers
    units = sorted((home / ".config" / "systemd" / "user").iterdir())
    assert [path.suffix for path in units] == [".service", ".timer"]
    assert '"heartbeat" "run"' in units[0].read_text() and str(place) in units[0].read_text()
    if checker := shutil.which("systemd-analyze"):
        assert subprocess.run([checker, "verify", *units]).returncode == 0
    monkeypatch.setenv("ASSISTANT_HEARTBEAT__EVERY_MINUTES", "60")
    assert "OnCalendar=*:00\n" in run("heartbeat", "install", "--print").stdout
    monkeypatch.delenv("ASSISTANT_HEARTBEAT__EVERY_MINUTES")
    assert "enable --now" in (tmp_path / "systemctl.log").read_text()
    assert run("heartbeat", "install", "--with", "cron").returncode == 0
    table = (tmp_path / "tab").read_text().splitlines()
    assert table[0] == "0 1 * * * mine" and table[1].startswith("*/5 * * * * ")
    assert (
        "<key>StartInterval</key>"
        in run("heartbeat", "install", "--with", "launchd", "--print").stdout
    )
    program(
        tmp_path, "crontab", '[ "$1" = -l ] && { echo "not now" >&2; exit 1; }; cat > /dev/null'
    )
    refused = run("heartbeat", "install", "--with", "cron")
    assert refused.returncode == 1 and "not now" in refused.stderr  # and nothing is overwritten
    program(tmp_path, "crontab", CRONTAB.format(tmp_path))
    assert run("heartbeat", "install", "--undo").stdout.count("Removed: ") == 3
    assert (tmp_path / "tab").read_text() == "0 1 * * * mine\n"
    assert list((home / ".config" / "systemd" / "user").iterdir()) == []


def test_a_reminder_that_nothing_would_deliver_comes_with_the_offer_of_a_timer(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "systemctl", "exit 1")
    program(tmp_path, "crontab", CRONTAB.format(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for day, answer in (("monday", "n"), ("tuesday", "y")):
        with Tty("-w", str(place), "remind", f"next {day} at 9 call Bo") as tty:
            tty.wait("Install it now? [y/N]:")
            tty.say(answer)
            assert tty.end() == 0
        assert (tmp_path / "tab").exists() is (answer == "y")
    with Tty("-w", str(place), "remind", "next friday at 9 call Bo") as tty:
        assert tty.end() == 0 and "Install" not in tty.text
