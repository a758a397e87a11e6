"""Reminders: a line of HEARTBEAT.md, at a moment that is understood or refused."""

import os
import re
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from pathlib import Path

import pytest

from assistant.agent.prompt import DUE
from assistant.app.chat import open_chat
from assistant.app.options import ChatOptions
from assistant.errors import UsageError
from assistant.events import ToolFinished
from assistant.heartbeat import beat
from assistant.memory.base import Query
from assistant.memory.writing.ledger import Ledger
from assistant.messages import Reply, ToolCall
from assistant.upkeep import outbox, timers
from assistant.upkeep.reminders import remind, wakes
from assistant.workspace import template, trust
from assistant.workspace.folder import Workspace
from tests.support.scripted import ScriptedModel

BANK = Query("call the bank")
NOW = datetime(2026, 11, 23, 9, 40, 30)
"""A Monday."""


@pytest.fixture
def here(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A trusted workspace, in this process."""
    place = template.create(tmp_path_factory.mktemp("place") / "here").workspace
    trust.grant(place)
    return place


@pytest.mark.parametrize(
    ("words", "when", "text"),
    [
        ("in 20 minutes call the bank", "Mon 23 Nov, 10:00", "call the bank"),
        ("tomorrow at 9 to call the bank", "Tue 24 Nov, 09:00", "call the bank"),
        ("next Monday at 10: the report", "Mon 30 Nov, 10:00", "the report"),
        ("at 17:00 the oven", "Mon 23 Nov, 17:00", "the oven"),
        ("tonight at 9 the bins", "Mon 23 Nov, 21:00", "the bins"),
        ("me tomorrow at 9 to call Meryl", "Tue 24 Nov, 09:00", "call Meryl"),
        ("in three days at 9 pay", "Thu 26 Nov, 09:00", "pay"),
        ("on 3 January at 8 call 112", "Sun 3 Jan 2027, 08:00", "call 112"),
        ("2026-11-27T18:40 the train", "Fri 27 Nov, 18:40", "the train"),
        ("morgen um 9 die Bank anrufen", "Tue 24 Nov, 09:00", "die Bank anrufen"),
        ("morgen früh die Bank anrufen", "Tue 24 Nov, 08:00", "die Bank anrufen"),
        ("morgen früh um 7 Brot holen", "Tue 24 Nov, 07:00", "Brot holen"),
        ("every Friday at 9: the bins", "every Friday at 09:00", "the bins"),
        ("weekdays 9:30 stand up", "Monday to Friday at 09:30", "stand up"),
        ("weekdays: 9:30 stand up", "Monday to Friday at 09:30", "stand up"),
        ("tomorrow: at 10 the dentist", "Tue 24 Nov, 10:00", "the dentist"),
        ("freitags: um 18 Uhr die Tonne", "every Friday at 18:00", "die Tonne"),
        ("every Friday: 10 eggs", "every Friday at 09:00", "10 eggs"),
        ("2026-12-03T08:00:00+00:00 passport", "Thu 3 Dec, 08:00", "passport"),
        ("2026-12-03T08:00:30Z passport", "Thu 3 Dec, 08:00", "passport"),
        ("2026-12-03T08:00:00.000Z: passport", "Thu 3 Dec, 08:00", "passport"),
        ("2026-12-03T08:00:00-05:00 passport", "Thu 3 Dec, 13:00", "passport"),
        ("tomorrow at 9 GMT+2 call Omar", "Tue 24 Nov, 07:00", "call Omar"),
        ("tomorrow at 9 UTC-3:30: call Omar", "Tue 24 Nov, 12:30", "call Omar"),
        ("in 10 Min. den Ofen aus", "Mon 23 Nov, 09:50", "den Ofen aus"),
        ("Montag in einer Woche um 9 Zug", "Mon 7 Dec, 09:00", "Zug"),
        ("Monday week at 9 the train", "Mon 7 Dec, 09:00", "the train"),
        ("morgen um 8 den Müll rausbringen", "Tue 24 Nov, 08:00", "den Müll rausbringen"),
        ("morgen um 9 am Bahnhof sein", "Tue 24 Nov, 09:00", "am Bahnhof sein"),
        ("morgen um 9 in der Apotheke fragen", "Tue 24 Nov, 09:00", "in der Apotheke fragen"),
        ("morgen um 7 an die Pizza denken", "Tue 24 Nov, 07:00", "an die Pizza denken"),
        ("tomorrow at 9 at the bank ask", "Tue 24 Nov, 09:00", "at the bank ask"),
        ("tomorrow at 10 an apple a day", "Tue 24 Nov, 10:00", "an apple a day"),
        ("tomorrow at 7: that guy's birthday", "Tue 24 Nov, 07:00", "that guy's birthday"),
        ("tomorrow at 7: to Bo or not", "Tue 24 Nov, 07:00", "to Bo or not"),
        ("tomorrow at 9: on the way home", "Tue 24 Nov, 09:00", "on the way home"),
        ("tomorrow at 9: every plant", "Tue 24 Nov, 09:00", "every plant"),
        ("tomorrow at 9: one last thing", "Tue 24 Nov, 09:00", "one last thing"),
        (
            "morgen um 9: am Freitag um 10 ist es zu spät",
            "Tue 24 Nov, 09:00",
            "am Freitag um 10 ist es zu spät",
        ),
        ("tomorrow at 11: pills (skip if late)", "Tue 24 Nov, 11:00", "pills (skip if late)"),
        ("on the 5th call mum", "Sat 5 Dec, 09:00", "call mum"),
        ("on the 5th to call mum", "Sat 5 Dec, 09:00", "call mum"),
    ],
)
def test_a_reminder_is_one_line_at_the_moment_that_is_named(
    here: Workspace, words: str, when: str, text: str
) -> None:
    done = remind(here, words, NOW)
    assert (done.when, done.text) == (when, text)
    line = (here.root / "HEARTBEAT.md").read_text("utf-8").split("\n")[done.line - 1]
    assert line.startswith("- ") and line.endswith(f"remind me: {text}")
    task = next(each for each in beat.read(here)[0] if each.line == done.line)
    assert task.reminds and task.text == text


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("soon the bank", "soon"),
        ("in a while the bank", "in a while"),
        ("at 25:00 the bank", "at 25:00"),
        ("on Monday the 29th at 18:00 call mum", "on Monday the 29th"),
        ("on 31 November the rent", "on 31 November"),
        ("every 0 minutes stretch", "every 0 minutes"),
        ("tomorrow at 9 or 10 the bank", "or 10"),
        ("tomorrow at 9 on Friday the bank", "on"),
        ("tomorrow around 9 the bank", "around 9"),
        ("tomorrow at 25 the bank", "at 25"),
        ("in 0 minutes the bank", "in 0 minutes"),
        ("next decade the bank", "next decade"),
        ("every other blue moon: the bins", "blue"),
        ("tomorrow at 9 IST the bank", "IST"),
        ("morgen um 9 CST die Bank", "CST"),
        ("tomorrow at 9 Berlin time the bank", "Berlin"),
        ("tomorrow at 9 UTC+25 the bank", "UTC+25"),
        ("tomorrow at dawn the bank", "at dawn"),
        ("tomorrow at 9 5 eggs", "5"),
        ("first thing tomorrow water", "first thing"),
        ("first aid course", "first aid"),
        ("Third time lucky", "Third time"),
        ("the 5th avenue visit", "the 5th avenue"),
        ("weekdays: 9:00-10:00 stand up", "-10:00"),
        ("2026-02-30 the rent", "2026-02-30"),
        ("every quarter rent", "every quarter"),
    ],
)
def test_what_is_not_understood_is_refused_and_nothing_written(
    here: Workspace, words: str, named: str
) -> None:
    before = (here.root / "HEARTBEAT.md").read_text("utf-8")
    with pytest.raises(UsageError, match=f"“{re.escape(named)}” is not understood"):
        remind(here, words, NOW)
    with pytest.raises(UsageError, match="has no text"):
        remind(here, "tomorrow at 9", NOW)
    assert (here.root / "HEARTBEAT.md").read_text("utf-8") == before


@pytest.mark.parametrize(
    "words", ["at 9", "on 1 January 2020", "today at 9", "yesterday at 9", "gestern um 9"]
)
def test_a_time_that_has_passed_is_refused(here: Workspace, words: str) -> None:
    with pytest.raises(UsageError, match=f"“{words}” has passed"):
        remind(here, f"{words} the bank", NOW)


@pytest.mark.parametrize("time", ["at 3", "at 3:30", "at half past three", "um 4"])
@pytest.mark.parametrize("day", ["Friday", "every Friday", "tomorrow", "on 1 December"])
def test_an_hour_that_is_seldom_meant_to_be_at_night_is_asked_about(
    here: Workspace, day: str, time: str
) -> None:
    with pytest.raises(UsageError, match=f"“{day} {time}”") as refused:
        remind(here, f"{day} {time}: see Bo", NOW)
    night, afternoon = re.findall(r"“at (\d\d:\d\d)”", refused.value.cure)
    assert (night[:1], afternoon[:1]) == ("0", "1") and night[2:] == afternoon[2:]
    remind(here, f"{day} at {night}: see Bo", NOW)
    remind(here, f"{day} at {afternoon}: see Bo", NOW)


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        ("at 18:00 JST call Tokyo", "Say “tomorrow at 18:00 Asia/Tokyo”"),
        ("at 5 leave", "Say “tomorrow at 05:00” or “today at 17:00”"),
        ("um 5 los", "Say “tomorrow at 05:00” or “today at 17:00”"),
        ("at 5 am leave", "Say “tomorrow at 05:00”"),
        ("at 05:00 UTC leave", "Say “tomorrow at 05:00 UTC”"),
    ],
)
def test_the_cure_of_a_passed_time_keeps_its_zone_and_its_sense(
    here: Workspace, words: str, cure: str
) -> None:
    with pytest.raises(UsageError, match="has passed") as refused:
        remind(here, words, NOW)
    assert refused.value.cure == cure


@pytest.mark.parametrize(
    ("words", "late"),
    [
        ("tomorrow call the bank at 17:00", "at 17:00"),
        ("tomorrow: lunch with Bo at noon", "at noon"),
        ("tomorrow evening call the bank at 17:00", "at 17:00"),
        ("on 3 January collect the keys at 5pm.", "at 5pm"),
        ("next Monday the meeting, 10:30", "10:30"),
        ("every Friday put the bins out at 18:00", "at 18:00"),
        ("morgen die Bank anrufen um 17 Uhr", "um 17 Uhr"),
        ("tomorrow uh at 2:30pm call Patty", "at 2:30pm"),
        ("tomorrow early 6:30 wake up", "6:30"),
        ("tomorrow call Bo at 9 am about the car", "at 9 am"),
        ("every Friday somewhere around 3pm tidy up", "3pm"),
        ("morgen so gegen 14:30 Bank anrufen", "14:30"),
        ("Friday a las 14:30 llamar", "14:30"),
    ],
)
def test_a_time_behind_the_text_is_not_guessed_at(here: Workspace, words: str, late: str) -> None:
    with pytest.raises(UsageError, match=f"“{late}” could be the time") as refused:
        remind(here, words, NOW)
    assert refused.value.cure.endswith(f" {late}: …”") and " at 09:00" not in refused.value.cure
    text = "call the bank at 17:00"
    assert remind(here, f"tomorrow at 8 {text}", NOW).confirmation.startswith(
        f"Tue 24 Nov, 08:00: {text}"
    )


@pytest.mark.parametrize(
    ("words", "bound"),
    [
        ("Saturday no later than 7 leave", "no later than"),
        ("every Saturday no later than 7:15 leave", "no later than"),
        ("Freitag spätestens 7:15 losfahren", "spätestens 7:15"),
    ],
)
def test_a_bound_of_a_time_is_not_understood(here: Workspace, words: str, bound: str) -> None:
    with pytest.raises(UsageError, match=f"“{bound}” is not understood"):
        remind(here, words, NOW)


@pytest.mark.parametrize(
    "words",
    [
        "tomorrow buy the 7:15 train ticket",
        "tomorrow write “at 7:15” on the card",
        "tomorrow: write to Bo that 7:15 is too early",
        "tomorrow pay 12.50 to Bo",
    ],
)
def test_a_time_of_a_thing_is_text(here: Workspace, words: str) -> None:
    added = remind(here, words, NOW)
    assert added.next == "2026-11-24T09:00" and added.text == re.split(r":? ", words, maxsplit=1)[1]


def test_a_time_in_dutch_is_understood(here: Workspace) -> None:
    assert remind(here, "morgen om 14 uur bank bellen", NOW).next == "2026-11-24T14:00"


def test_a_number_behind_the_text_is_no_time(here: Workspace) -> None:
    for text in ("call 112", "buy 20 eggs", "renew the pass at the town hall", "gate 9"):
        assert remind(here, f"tomorrow {text}", NOW).text == text


def test_a_reminder_is_one_write_that_undo_takes_back(here: Workspace) -> None:
    file = here.root / "HEARTBEAT.md"
    file.write_bytes(b"# Heartbeat\r\n\r\n- daily at 9: look\r\n")
    before = file.read_bytes()
    remind(here, "tomorrow at 9", NOW, "the bank: call it")
    remind(here, "tomorrow at 9", NOW, "the bins")
    added = b"- on 2026-11-24 at 09:00 remind me: the bank: call it\r\n"
    assert file.read_bytes().startswith(before.rstrip()) and added in file.read_bytes()
    assert [entry.text for entry in Ledger(here).journals.log()] == [
        "+ on 2026-11-24 at 09:00 remind me: the bins",
        "+ on 2026-11-24 at 09:00 remind me: the bank: call it",
    ]
    Ledger(here).undo()
    assert file.read_bytes().endswith(added)
    Ledger(here).undo()
    assert file.read_bytes() == before


def test_a_model_reminds_its_owner_once_and_is_told_what_was_understood(here: Workspace) -> None:
    with open_chat(here, ChatOptions(), no_daemon=True) as chat:
        ask = Reply(tool_calls=(call("soonish", "c1"), call("tomorrow at 9", "c2")))
        chat.conversation.model = ScriptedModel(ask, "I will.")
        results = [e.content for e in chat.send("remind me") if isinstance(e, ToolFinished)]
    assert "“soonish” is not understood" in results[0] and "in 20 minutes" in results[0]
    due = datetime.combine(date.today() + timedelta(days=1), time(9))
    assert f"{due:%a} {due.day} {due:%b}, 09:00: call the bank (HEARTBEAT.md:" in results[1]
    assert results[1].endswith(f"No timer is installed that would deliver it. {timers.advice()}")
    told = [
        each.outcome.text for day in (1, 2) for each in beat.run(here, due + timedelta(days=day))
    ]
    assert told == ["call the bank"]
    with open_chat(here, ChatOptions(purpose="event"), no_daemon=True) as chat:
        assert "remind" not in [each.name for each in chat.conversation.toolbox.specs()]


def test_a_model_is_told_what_is_due_but_for_files_that_are_closed_to_it(
    here: Workspace, home: Path
) -> None:
    def agenda(days: int) -> str:
        with open_chat(here, ChatOptions(), no_daemon=True) as chat:
            ask = Reply(tool_calls=(ToolCall("c1", "agenda", {"days": days}),))
            chat.conversation.model = ScriptedModel(ask, "There.")
            (result,) = [e for e in chat.send("what is due?") if isinstance(e, ToolFinished)]
            return result.content

    day = date.today() + timedelta(days=1)
    (here.root / "memory").mkdir(exist_ok=True)
    (here.root / "MEMORY.md").write_text(f"- The dentist is on {day:%-d %B %Y} at 9:30\n")
    (here.root / "memory/work.md").write_text(
        f"- The review\n  **is** on {day + timedelta(days=2):%-d %B %Y}\n"
    )
    assert agenda(0) == "Nothing is due within 0 days."
    both = agenda(7).splitlines()
    assert both[0].startswith("MEMORY.md:1 (tomorrow 09:30): The dentist is on ")
    assert both[1].startswith("memory/work.md:1 (") and len(both) == 2
    config = home / ".config/assistant/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[policy]\ndeny = ["recall:memory/work.md"]\n')
    assert agenda(7).splitlines() == both[:1]


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("was steht morgen an?", ["the plumber comes", "call the bank"]),
        ("Qu'est-ce que j'ai demain ?", ["the plumber comes", "call the bank"]),
        ("What do I have tomorrow?", ["the plumber comes", "call the bank"]),
        ("is anything due the day after tomorrow?", ["Choir"]),
        ("what is due in three weeks?", []),
        ("What does Tess speak?", []),
        ("what did I do yesterday?", []),
    ],
)
def test_a_message_that_names_days_to_come_brings_what_is_due_then(
    here: Workspace, question: str, lines: list[str]
) -> None:
    day = date.today() + timedelta(days=1)
    facts = [f"Person {number} speaks Basque" for number in range(30)]
    facts += [f"On {day:%-d %B %Y} at 8:15 the plumber comes"]
    facts += [f"Choir on {day + timedelta(days=1):%-d %B %Y} at 19:30"]
    (here.root / "MEMORY.md").write_text("".join(f"- {fact}\n" for fact in facts))
    remind(here, "tomorrow at 9 call the bank", datetime.now())
    with open_chat(here, ChatOptions(), no_daemon=True) as chat:
        sections = [part.text for part in chat.preview(question) if part.title == DUE]
    shown = [line for section in sections for line in section.split("\n\n")[1].split("\n")]
    assert len(shown) == len(lines)
    assert all(text in line for text, line in zip(lines, shown, strict=True))


def call(when: str, name: str) -> ToolCall:
    return ToolCall(name, "remind", {"when": when, "what": "call the bank"})


def test_reminders_are_told_once_as_they_stand_and_without_a_model(here: Workspace) -> None:
    remind(here, "in 20 minutes call the bank", NOW)
    remind(here, "tomorrow at 9 pay the rent", NOW)
    file = here.root / "HEARTBEAT.md"
    file.write_text(file.read_text() + "- on 2026-11-23 at 10:00 remind me to water\n")
    assert list(beat.run(here, NOW + timedelta(minutes=10))) == []
    told = list(beat.run(here, NOW + timedelta(minutes=30)))
    assert [(each.outcome.state, each.outcome.text, each.outcome.tokens) for each in told] == [
        ("done", "call the bank", 0),
        ("done", "water", 0),
    ]
    assert list(beat.run(here, NOW + timedelta(minutes=35))) == []
    slept = list(beat.run(here, NOW + timedelta(days=3)))  # late, and yet once
    assert [each.outcome.text for each in slept] == ["pay the rent"]
    news = outbox.take(here)
    assert len(news) == 3 and "call the bank (HEARTBEAT.md:" in news[0]


def test_an_edited_task_is_not_done_again_for_a_time_that_has_passed(here: Workspace) -> None:
    file = here.root / "HEARTBEAT.md"
    file.write_text("- daily at 9: look\n")
    ((_, due),) = beat.due(here, NOW)
    assert due.hour == 9
    file.write_text("- daily at 9: look closely\n- daily at 9:42: another\n")
    later = [task.text for task, _ in beat.due(here, NOW + timedelta(minutes=5))]
    assert later == ["another"]
    tomorrow = [task.text for task, _ in beat.due(here, NOW + timedelta(days=1))]
    assert sorted(tomorrow) == ["another", "look closely"]


def test_an_edited_interval_is_not_run_twice_for_one_due_time(here: Workspace) -> None:
    file = here.root / "HEARTBEAT.md"
    file.write_text("- every 5 minutes: look at D\n")
    for minute, second in ((40, 0), (45, 2)):
        checked = NOW.replace(minute=minute, second=second)
        assert len(beat.due(here, checked)) == 1
        file.write_text(f"- every 5 minutes: look at D and {minute}\n")
        assert beat.due(here, checked + timedelta(seconds=6)) == []
    ((_, due),) = beat.due(here, NOW.replace(minute=50, second=0))
    assert f"{due:%H:%M}" == "09:50"


def test_a_task_written_after_its_time_waits_for_the_next(here: Workspace) -> None:
    file = here.root / "HEARTBEAT.md"

    def write(text: str, hour: int, minute: int) -> None:
        file.write_text(text)
        written = NOW.replace(hour=hour, minute=minute).timestamp()
        os.utime(file, (written, written))

    def due(now: datetime) -> list[str]:
        return [task.text for task, _ in beat.due(here, now)]

    write("- weekdays at 9: late\n- weekdays at 9:35: soon\n- every 30 minutes: often\n", 9, 30)
    assert due(NOW) == ["often", "soon"]
    write(file.read_text() + "- daily at 11: new\n", 12, 0)
    assert "new" not in due(NOW.replace(hour=12, minute=5))
    slept = due(NOW + timedelta(days=1, hours=6))
    assert {"late", "soon", "new"} <= {*slept}


def test_the_same_reminder_is_kept_once(here: Workspace) -> None:
    first = remind(here, "tomorrow at 9 call the bank", NOW)
    text = (here.root / "HEARTBEAT.md").read_text("utf-8")
    for words in ("tomorrow at 9 Call the bank", "on 24 November at 9:00: call the bank"):
        again = remind(here, words, NOW)
        assert not again.is_new and again.line == first.line
        assert again.confirmation == f"Already there: {first.confirmation}"
    assert (here.root / "HEARTBEAT.md").read_text("utf-8") == text
    assert remind(here, "tomorrow at 10 call the bank", NOW).is_new
    assert remind(here, "every day at 9 call the bank", NOW).is_new


@pytest.mark.parametrize(
    ("words", "due"),
    [
        ("in 20 minutes the oven", "2026-11-23T10:00"),
        ("every Friday at 18 the bins", "2026-11-27T18:00"),
        ("every other Monday at 9 the plants", "2026-11-30T09:00"),
        ("every 3 days at 9 the plants", "2026-11-24T09:00"),
    ],
)
def test_the_next_time_of_a_reminder_is_a_moment(here: Workspace, words: str, due: str) -> None:
    assert remind(here, words, NOW).next == due
    (task,) = (task for task in beat.read(here)[0] if task.reminds)
    following = task.schedule.following(NOW)
    assert following and f"{following:%Y-%m-%dT%H:%M}" == due


def test_only_runs_that_repeat_are_taken_for_a_timer(here: Workspace) -> None:
    for minute in (0, 5, 10):
        beat.due(here, NOW + timedelta(minutes=minute))  # `heartbeat explain` runs nothing
    assert not wakes(here, NOW + timedelta(minutes=10))
    for minute, expected in ((0, False), (0, False), (5, False), (10, True)):
        assert list(beat.run(here, NOW + timedelta(minutes=minute))) == []
        assert wakes(here, NOW + timedelta(minutes=minute)) is expected
    assert not wakes(here, NOW + timedelta(hours=4))


def test_a_timer_is_recommended_where_it_can_be_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert timers.advice().startswith("Call `assistant heartbeat run` every few minutes")
    crontab = tmp_path / "crontab"
    crontab.write_text("#!/bin/sh\n")
    crontab.chmod(0o755)
    assert timers.advice() == "`assistant heartbeat install` installs one"


def test_a_reminder_whose_time_has_passed_is_no_memory_any_more(here: Workspace) -> None:
    now = datetime.now()
    remind(here, "in 20 minutes call the bank", now - timedelta(days=1))
    remind(here, "tomorrow at 9 call the bank about the loan", now)
    remind(here, "every Friday at 9 call the bank again", now)
    with open_chat(here, ChatOptions(), no_daemon=True) as chat:
        told, searched = (
            sorted(
                line.plain.partition("remind me: ")[2]
                for line in chat.memory.recall(query)
                if line.source == "HEARTBEAT.md"
            )
            for query in (replace(BANK, turn=True), replace(BANK, turn=False))
        )
    assert told == ["call the bank about the loan", "call the bank again"]
    assert searched == ["call the bank", *told]  # the owner finds it
