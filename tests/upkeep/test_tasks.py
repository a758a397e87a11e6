"""HEARTBEAT.md: which tasks there are, when, and which lines are not understood."""

from datetime import timedelta
from pathlib import Path

from assistant.memory.text.times.schedule import describe
from assistant.upkeep.tasks import TASKLESS, UNTIMED, tasks

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
        (14, "day 1 of every month at 09:00", "Pay the rent", True),
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


def test_a_second_paragraph_belongs_to_its_task() -> None:
    (found,), unread = tasks("- every day: look\n\n  and say so\n\nOther text\n")
    assert (found.text, len(unread)) == ("look\n\nand say so", 1)
