"""HEARTBEAT.md: which tasks there are, when, and which lines are not understood."""

from datetime import timedelta
from pathlib import Path

from assistant.memory.text.times.schedule import describe
from assistant.memory.text.times.wording import NO_DAY
from assistant.upkeep.tasks import TASKLESS, TWO_TIMES, UNTIMED, tasks

TEXT = """\
<!-- every day: this is a comment -->
# Heartbeat

- every 30 minutes: look at the mail,
  and at the post
- [ ] weekdays at 9:30, skip if more than 2 hours late: say good morning
- [x] every day: done with
- ~~each Friday: struck~~
- Water the plants (each Friday)
- now and then: think

## Every month on the 1st

* Pay the rent (skip if late)
* when the moon is full: howl

## Ideas

each Sunday: rest
paint the house
"""


def test_tasks_say_when_before_behind_or_above() -> None:
    found, unread = tasks(TEXT)
    assert [(each.line, describe(each.schedule), each.text, each.skips) for each in found] == [
        (4, "every 30 minutes", "look at the mail,\nand at the post", False),
        (6, "Monday to Friday at 09:30", "say good morning", True),
        (9, "every Friday at 09:00", "Water the plants", False),
        (14, "on the 1st of every month at 09:00", "Pay the rent", True),
        (19, "every Sunday at 09:00", "rest", False),
    ]
    assert found[1].grace == timedelta(hours=2)
    assert [(each.line, each.text) for each in unread] == [
        (10, "now and then: think"),
        (15, "when the moon is full: howl"),
        (20, "paint the house"),
    ]


def test_a_line_that_says_only_when_is_for_the_list_below_it() -> None:
    text = "each Friday:\n- water\n- sweep\nrest\n\n- each Friday:\nevery day at 7\n"
    found, unread = tasks(text)
    assert [(each.line, each.text) for each in found] == [(2, "water"), (3, "sweep")]
    assert {each.line: each.cure for each in unread} == {4: UNTIMED, 6: TASKLESS, 7: TASKLESS}


def test_a_new_workspace_has_no_task_and_those_it_offers_are_understood() -> None:
    text = (Path(__file__).parents[2] / "workspace" / "HEARTBEAT.md").read_text("utf-8")
    assert tasks(text) == ([], [])
    offered = text.partition("installed:\n")[2].partition("-->")[0]
    found, unread = tasks("\n".join(line.removeprefix("     ") for line in offered.split("\n")))
    assert [describe(each.schedule) for each in found] == [
        "Monday to Friday at 08:00",
        "every Friday at 16:00",
    ]
    assert unread == []


def test_the_example_of_the_docs_is_understood_as_they_say() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "heartbeat.md").read_text("utf-8")
    found, unread = tasks(docs.partition("```markdown\n")[2].partition("```")[0])
    assert [(describe(task.schedule), task.text.partition(":")[0]) for task in found] == [
        (
            "every 30 minutes between 09:00 and 18:00, Monday to Friday",
            "is there a new file in inbox/ that I should read?",
        ),
        ("Monday to Friday at 08:00", "what is due today and tomorrow?"),
        ("every Friday at 16:00", "The weekly review"),
    ]
    assert [line.text for line in unread] == ["when the moon is full: howl"]


def test_a_second_paragraph_belongs_to_its_task() -> None:
    (found,), unread = tasks("- every day: look\n\n  and say so\n\nOther text\n")
    assert (found.text, len(unread)) == ("look\n\nand say so", 1)


def test_a_time_in_an_item_is_one_on_the_days_of_its_heading() -> None:
    found, unread = tasks(
        "## Every weekday:\n- stretch at 10\n- at 15: tea\n- the report, 11:45\n"
        "- list what I did on Friday\n- prepare for Friday at 10\n"
        "each Friday:\n- review (um 16 Uhr)\n- call Bo every Monday at 8\n- the plants\n"
        "# Every evening\n- read at 8\n"
        "# On 27 November 2026\n- 15:30 cake\n"
        "# Each Friday at 16\n- list what is due on Monday at 9\n- at 10: tea\n"
    )
    assert [(task.line, describe(task.schedule), task.text) for task in found] == [
        (2, "Monday to Friday at 10:00", "stretch"),
        (3, "Monday to Friday at 15:00", "tea"),
        (4, "Monday to Friday at 11:45", "the report"),
        (5, "Monday to Friday at 09:00", "list what I did on Friday"),
        (6, "Monday to Friday at 09:00", "prepare for Friday at 10"),
        (8, "every Friday at 16:00", "review"),
        (9, "every Monday at 08:00", "call Bo"),
        (10, "every Friday at 09:00", "the plants"),
        (12, "every day at 20:00", "read"),
        (14, "once, on 2026-11-27 at 15:30", "cake"),
        (16, "every Friday at 16:00", "list what is due on Monday at 9"),
    ]
    assert [(line.line, line.word) for line in unread] == [(17, "at 10")]
    assert unread[0].cure == "It does not say on which days; write “every day at 10:”"


def test_another_time_in_an_item_is_told_and_not_overruled_by_the_heading() -> None:
    lines = (
        "- biweekly on Friday at 4pm remind me: payday",
        "- remind me every Friday at 3pm: clean the shop",
        "- erinnere mich jeden Freitag: Laden putzen",
        "- call the bank, Tuesday at 14:30",
        "- Bank anrufen (am Dienstag um 14:30)",
        "- every Friday uh at 3pm clean the shop",
        "- every Friday put the bins out at 18:00",
    )
    for heading in ("## Each Saturday", "Each Saturday:"):
        found, unread = tasks(f"{heading}\n- look\n" + "\n".join(lines))
        assert [task.text for task in found] == ["look"]
        assert [each.line for each in unread] == [*range(3, 10)]
    texts = ("take the 7:15 train", "remind me: buy a ticket for the 7:15 train", "what is due?")
    found, unread = tasks("## Each Saturday\n" + "".join(f"- {text}\n" for text in texts))
    assert len(found) == 3 and not unread


def test_a_time_before_the_colon_of_a_task_is_told_if_it_is_left_over() -> None:
    lines = {
        "remind me every Friday at 3pm: clean the shop": "every Friday at 3pm",
        "erinnere mich jeden Freitag: Laden putzen": "jeden Freitag",
        "call the bank at 14:30: ask for Bo": "at 14:30",
    }
    found, unread = tasks("## Each Saturday\n" + "".join(f"- {line}\n" for line in lines))
    assert not found
    assert [line.word for line in unread] == [*lines.values()]


def test_words_of_time_in_a_task_change_nothing_of_the_heading_above_it() -> None:
    items = (
        "review what I do daily",
        "plan the meals for every day",
        "write to Tom on Mondays",
        "list what is due on Monday at 9",
        "Do the weekly review: what was finished?",
        "The weekly review: what was finished?",
        "Summarise the monthly budget: three lines",
        "Check the daily backup: is it there?",
        "Training on Tuesdays: who comes?",
        "Read John 3:16: explain it",
        "Look at https://example.org:8080/daily: ok?",
    )
    found, unread = tasks("## Every Friday at 17:00\n" + "".join(f"- {item}\n" for item in items))
    assert [task.text for task in found] == [*items] and not unread
    assert {describe(task.schedule) for task in found} == {"every Friday at 17:00"}
    items = (
        "review Friday report at 10",
        "plan the meals for every day",
        "tell Ada what is weekly",
    )
    found, unread = tasks("## Every weekday\n" + "".join(f"- {item}\n" for item in items))
    assert [task.text for task in found] == [*items] and not unread
    assert {describe(task.schedule) for task in found} == {"Monday to Friday at 09:00"}


def test_a_time_in_an_item_below_another_time_is_refused() -> None:
    items = (
        "stretch at 10",
        "tidy the desk, 10:30",
        "die Post holen um 11",
        "call Bo every Monday at 8",
    )
    for above in ("Every weekday at 7", "Every 30 minutes"):
        found, unread = tasks(f"## {above}\n" + "".join(f"- {item}\n" for item in items))
        assert not found
        assert [line.word for line in unread] == ["at 10", "10:30", "um 11", "every Monday at 8"]
        assert {line.cure for line in unread} == {TWO_TIMES}
    found, unread = tasks("## Every weekday at 7\n- every day at 10: stretch at 11\n")
    assert [(describe(task.schedule), task.text) for task in found] == [
        ("every day at 10:00", "stretch at 11")
    ]


def test_a_time_of_day_behind_a_colon_is_the_time_and_any_other_words_are_the_task() -> None:
    found, unread = tasks(
        "- weekdays: 9:30 standup\n- every Friday: at 10 check the mail\n"
        "- montags: um halb neun die Tonne\n- every evening: at 8 read\n"
        "- every day: 9:00 UTC look\n- weekdays: 10 push-ups\n- daily at 9: 10:30 is too late\n"
        "- every 30 minutes: 9:30 or later?\n- every day: every plant\n"
        "- weekdays: 9:00-10:00 standup\n- on 2026-11-31 at 9: x\n- every 15th at 9 x\n"
        "- weekdays at 9 remind me: pills (skip if late)\n"
    )
    assert [(describe(task.schedule), task.text) for task in found] == [
        ("Monday to Friday at 09:30", "standup"),
        ("every Friday at 10:00", "check the mail"),
        ("every Monday at 08:30", "die Tonne"),
        ("every day at 20:00", "read"),
        ("every day at 09:00 UTC", "look"),
        ("Monday to Friday at 09:00", "10 push-ups"),
        ("every day at 09:00", "10:30 is too late"),
        ("every 30 minutes", "9:30 or later?"),
        ("every day at 09:00", "every plant"),
        ("Monday to Friday at 09:00", "pills (skip if late)"),
    ]
    assert [line.word for line in unread] == ["-10:00", "on 2026-11-31", "every 15th at 9"]
    assert unread[1].cure == NO_DAY


def test_a_zone_and_half_of_the_day_in_an_item_are_kept() -> None:
    found, unread = tasks(
        "## Every weekday\n- at 10 Europe/London: tea\n- call mom at 10 UTC\n"
        "## Every evening\n- lunch at 9:30 am\n- at 8 a.m.: swim\n- read at 9:30 pm\n- eat at 7\n"
    )
    assert [
        (f"{task.schedule.times[0]:%H:%M}", task.schedule.zone, task.text) for task in found
    ] == [
        ("10:00", "Europe/London", "tea"),
        ("10:00", "UTC", "call mom"),
        ("09:30", "", "lunch"),
        ("08:00", "", "swim"),
        ("21:30", "", "read"),
        ("19:00", "", "eat"),
    ]
    assert not unread
