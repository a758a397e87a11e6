"""What the owner is told: written down first, sent until a way takes it, shown by the next chat."""

import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from assistant.cli.doctor import Remark, _heartbeat
from assistant.disk import locking
from assistant.errors import ConfigError
from assistant.heartbeat import beat, claims
from assistant.heartbeat.unattended import is_silent
from assistant.session import beats
from assistant.session.beats import News
from assistant.settings.sections import HeartbeatSettings
from assistant.settings.tree import Settings
from assistant.upkeep import outbox, timers
from assistant.upkeep.reminders import remind
from assistant.workspace import template, trust
from assistant.workspace.folder import Workspace

NOW = datetime(2026, 11, 23, 9, 40)


def by(command: str | None) -> Settings:
    """Settings with this command, or else the desktop, as the only way."""
    return Settings(heartbeat=HeartbeatSettings(notify=command))


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    """A trusted workspace, with a reminder that was due at ten."""
    place = template.create(tmp_path / "here").workspace
    trust.grant(place)
    remind(place, "in 20 minutes", NOW, "call the bank, the code is hunter2hunter2")
    return place


@pytest.mark.parametrize(
    ("reply", "nothing"),
    [
        ("", True),
        ("**Nothing.**", True),
        ("I looked at the boat, which leaks.\n\nHEARTBEAT_OK", False),
        ("no reply!", True),
        ("Nothing to worry about, but the boat leaks.", False),
        ("Nothing.\nBut the boat leaks.", False),
    ],
)
def test_only_a_whole_reply_says_that_there_is_nothing(reply: str, nothing: bool) -> None:
    assert is_silent(reply) is nothing


def test_it_is_sent_until_a_way_takes_it_and_then_shown_once(
    here: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANK_PASSWORD", "hunter2hunter2")
    list(beat.run(here, NOW + timedelta(minutes=30)))
    phone = tmp_path / "phone"
    assert "failed with 3" in outbox.send(here, by("exit 3"))
    assert beats.load(here).faults and not beats.load(here).delivered
    for _ in range(3):
        assert outbox.send(here, by(f"cat >> {phone}; echo >> {phone}")) == ""
    (sent,) = phone.read_text().splitlines()
    assert sent.startswith("call the bank") and "hunter2" not in sent
    assert beats.load(here).delivered and not beats.load(here).faults
    (shown,) = outbox.take(here)
    assert "heartbeat, 2026-11-23 10:00: call the bank" in shown and "hunter2" not in shown
    assert outbox.take(here) == []


def test_processes_that_send_at_once_send_it_once(here: Workspace, tmp_path: Path) -> None:
    list(beat.run(here, NOW + timedelta(minutes=30)))
    phone = tmp_path / "phone"
    with ThreadPoolExecutor(3) as pool:
        command = f"sleep 0.3; cat >> {phone}; echo >> {phone}"
        assert set(pool.map(lambda _: outbox.send(here, by(command)), range(3))) == {""}
    assert len(phone.read_text().splitlines()) == 1


def test_news_is_sent_that_another_process_adds_as_the_first_ends(
    here: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = locking.Lock.release
    late = News("2026-11-23T10:30", failed="The boat leaks")

    def released(lock: locking.Lock) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(locking.Lock, "release", release)
            if lock.path.name == "outbox.lock" and not beats.load(here).untold[1:]:
                with beats.changing(here) as state:
                    state.tell(late)
                assert (
                    outbox.send(here, by(command)) == ""
                )  # by the other process, without the lock
        release(lock)

    list(beat.run(here, NOW + timedelta(minutes=30)))
    phone = tmp_path / "phone"
    command = f"cat >> {phone}; echo >> {phone}"
    monkeypatch.setattr(locking.Lock, "release", released)
    assert outbox.send(here, by(command)) == ""
    assert [line[:8] for line in phone.read_text().splitlines()] == ["call the", "The boat"]


def test_a_reminder_is_found_again_where_its_line_has_moved(here: Workspace) -> None:
    list(beat.run(here, NOW + timedelta(minutes=30)))
    file = here.root / "HEARTBEAT.md"
    file.write_text("- daily at 8: something else\n\n" + file.read_text())
    assert "call the bank" in outbox.take(here)[0]


def test_the_desktop_is_reached_from_cron(
    here: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "notify-send"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$DBUS_SESSION_BUS_ADDRESS $3" > {tmp_path}/notified\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "bus").touch()
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    list(beat.run(here, NOW + timedelta(minutes=30)))
    assert outbox.send(here, by(None)) == ""
    assert (tmp_path / "notified").read_text().startswith(f"unix:path={tmp_path}/bus call the bank")


def test_no_reminder_is_left_out_however_much_there_is_to_tell(here: Workspace) -> None:
    for number in range(7):
        remind(here, f"in {number + 1} minutes", NOW, f"water plant {number}")
    list(beat.run(here, NOW + timedelta(minutes=30)))
    with beats.changing(here) as known:
        for number in range(7):
            known.tell(News(f"2026-11-23T11:0{number}", f"s{number}"))
    *lines, more = outbox.take(here)
    assert [line for line in lines if "plant" in line or "bank" in line] == lines[:8]
    assert len(lines) == 8 + 5 and more == "2 earlier: `assistant sessions list`"


def test_a_beat_that_died_and_a_month_without_tokens_are_told_once(
    here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here.root / "HEARTBEAT.md").write_text("- hourly: look at the boat\n")
    (task,), _ = beat.read(here)
    assert claims.take(here, task, NOW.replace(minute=0))
    for minutes in (20, 25):
        with pytest.raises(Exception, match="no model is configured"):
            list(beat.run(here, NOW + timedelta(minutes=minutes)))
    died, refused = beats.load(here).untold
    assert "was interrupted" in died.failed and "no model" in refused.failed


def test_only_what_is_not_known_yet_is_written_down(here: Workspace) -> None:
    with beats.changing(here) as known:
        for session in ("s1", "s1", "s2"):
            known.tell(News("2026-11-23T10:00", session))
    assert [each.session for each in beats.load(here).untold] == ["s1", "s2"]


def test_doctor_says_whether_anything_looks_and_what_was_last_told(here: Workspace) -> None:
    class Options:
        def workspace(self) -> Workspace:
            return here

        def settings(self) -> Settings:
            return by("exit 3")

    listed = here.text("HEARTBEAT.md")
    (here.root / "HEARTBEAT.md").write_text(f"{listed}- at full moon: howl\n")
    unread = "not understood: [0-9]+; no timer on this machine runs them"
    with pytest.raises(Remark, match=f"1 task; HEARTBEAT.md has lines that are {unread}"):
        _heartbeat(Options())  # type: ignore[arg-type]
    (here.root / "HEARTBEAT.md").write_text(listed)
    with pytest.raises(Remark, match="1 task; no timer on this machine runs them"):
        _heartbeat(Options())  # type: ignore[arg-type]
    with beats.changing(here) as known:
        known.faults = {"heartbeat.notify": "failed with 2", "ntfy://gone": "no topic"}
    with pytest.raises(
        Remark, match=r"no timer on this machine runs them; heartbeat\.notify: failed with 2\."
    ) as both:
        _heartbeat(Options())  # type: ignore[arg-type]
    assert (
        both.value.cure
        == f"{timers.advice()}. `assistant reach test` tries again; the next chat shows the news"
    )
    with beats.changing(here) as known:
        for minutes in (10, 5, 0):
            known.run(datetime.now() - timedelta(minutes=minutes))
        known.beat = known.runs[-1]
        known.faults = {"heartbeat.notify": "failed with 3"}
    with pytest.raises(Remark, match=r"1 task; last run 20.*; heartbeat.notify: failed with 3"):
        _heartbeat(Options())  # type: ignore[arg-type]


def test_a_way_can_be_tried_out_and_says_what_is_wrong_with_it(
    here: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    phone = tmp_path / "phone"
    failing = by("echo no such topic. >&2; exit 3")
    fault = outbox.try_out(here, failing)["heartbeat.notify"]
    assert fault == "the notification failed with 3: no such topic"
    assert "no such topic" in outbox.faults(here, failing)["heartbeat.notify"]
    assert outbox.try_out(here, by(f"cat > {phone}")) == {"heartbeat.notify": ""}
    assert phone.read_text() == outbox.TEST
    assert outbox.faults(here, failing) == {"heartbeat.notify": ""}
    with pytest.raises(ConfigError, match="no notification can be sent"):
        outbox.try_out(here, by(""))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="no notification can be sent"):
        outbox.try_out(here, by(None))
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\necho "$3" > {phone}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert outbox.try_out(here, by(None)) == {"notify-send": ""}
    assert phone.read_text().strip() == outbox.TEST
