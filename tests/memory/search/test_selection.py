"""From scored chunks to the list that is returned."""

from dataclasses import replace

import numpy as np
import pytest

from assistant.memory.base import Passage, Status, fill
from assistant.memory.search.selection import (
    LEAST_TOKENS,
    MOST_TOKENS,
    STRONG,
    WEAK,
    arrange,
    relevant,
)


def scored(
    plain: str,
    score: float,
    *,
    date: str | None = None,
    at: int = 0,
    text: str = "",
    status: Status = "current",
) -> Passage:
    return Passage(
        id=f"{plain}{at}", source="MEMORY.md", text=text or f"- {plain}", plain=plain,
        start_line=1, end_line=1, start_char=at, end_char=at + 1, date=date, status=status,
        score=score, signals={"dense": score},
    )  # fmt: skip


def plains(found: list[Passage]) -> list[str]:
    return [each.plain for each in found]


def listed(*costs: int) -> list[Passage]:
    return [scored("x", 0.0, text="x" * 4 * cost) for cost in costs]


def test_the_same_fact_is_returned_once_by_its_best() -> None:
    found = [scored("Lives in Lisbon", 1.0), scored("lives  in LISBON.", 2.0, at=1)]
    assert plains(arrange(found, set())) == ["lives  in LISBON."]


@pytest.mark.parametrize("pair", [("costs 4711", "costs 4712"), ("uses C", "uses C++")])
def test_facts_that_differ_in_one_sign_are_two(pair: tuple[str, str]) -> None:
    found = [scored(pair[0], 2.0), scored(pair[1], 1.0, at=1)]
    assert len(arrange(found, set())) == 2


BERLIN = "- ~~Lives in Berlin~~ (superseded 2026-11-21: Lives in Lisbon)"


def test_a_successor_stands_above_what_it_superseded() -> None:
    old = scored("Lives in Berlin", 5.0, text=BERLIN, status="superseded")
    new = scored("Lives in Lisbon", 3.0, at=1)
    other = scored("Drinks tea", 4.0, at=2)
    found = arrange([old, other, new], set())
    assert plains(found) == ["Lives in Lisbon", "Lives in Berlin", "Drinks tea"]
    assert found[0].signals["successor"] > 0
    assert sum(found[0].signals.values()) == pytest.approx(found[0].score)


def test_a_successor_is_known_with_its_markup() -> None:
    text = "- ~~Flat 1~~ (superseded 2026-11-21: *Flat* \\[2\\])"
    old = scored("Flat 1", 5.0, text=text, status="superseded")
    assert plains(arrange([old, scored("Flat [2]", 1.0)], set()))[0] == "Flat [2]"


def test_so_it_does_over_several_changes_of_mind() -> None:
    first = scored("Lives in Berlin", 5.0, text=BERLIN, status="superseded")
    text = "- ~~Lives in Lisbon~~ (superseded 2027-01-01: Lives in Rome)"
    second = scored("Lives in Lisbon", 3.0, at=1, text=text, status="superseded")
    third = scored("Lives in Rome", 1.0, at=2)
    for found in ([first, second, third], [third, second, first]):
        assert plains(arrange(found, set())) == [
            "Lives in Rome", "Lives in Lisbon", "Lives in Berlin",
        ]  # fmt: skip


def test_a_return_to_an_old_state_stands_on_top() -> None:
    text = "- ~~Lives in Lisbon~~ (superseded 2027-01-01: Lives in Berlin)"
    first = scored("Lives in Berlin", 5.0, text=BERLIN, status="superseded")
    second = scored("Lives in Lisbon", 4.0, at=1, text=text, status="superseded")
    third = scored("Lives in Berlin", 1.0, at=2)
    found = arrange([first, second, third], set())
    assert [each.status for each in found] == ["current", "superseded", "superseded"]
    assert plains(arrange([first, second], set())) == ["Lives in Berlin", "Lives in Lisbon"]


def test_what_was_superseded_twice_stands_below_both_its_successors() -> None:
    text = "- ~~Lives in Berlin~~ (superseded 2027-01-01: Lives in Rome)"
    first = scored("Lives in Berlin", 5.0, text=BERLIN, status="superseded")
    again = scored("Lives in Berlin", 5.0, at=1, text=text, status="superseded")
    found = [first, again, scored("Lives in Lisbon", 1.0), scored("Lives in Rome", 2.0)]
    assert set(plains(arrange(found, set()))[:2]) == {"Lives in Lisbon", "Lives in Rome"}


def test_minds_that_changed_in_a_circle_still_show_first_what_is_so_now() -> None:
    changes = [("A", "B"), ("B", "A"), ("A", "C"), ("C", "B"), ("B", "D"), ("A", "D"), ("D", "A")]
    old = [
        scored(was, 9.0 - n, at=n, text=f"- ~~{was}~~ (superseded 2026-11-21: {now})",
               status="superseded")
        for n, (was, now) in enumerate(changes)
    ]  # fmt: skip
    found = arrange([*old, scored("D", 0.5, at=99)], set())
    assert [each.status for each in found] == ["current"] + ["superseded"] * 7


def test_a_superseded_fact_without_a_successor_keeps_its_place() -> None:
    old = scored("Lives in Berlin", 5.0, text="- ~~Lives in Berlin~~", status="superseded")
    assert plains(arrange([scored("Drinks tea", 1.0), old], set()))[0] == "Lives in Berlin"


def test_of_facts_that_disagree_the_later_comes_first() -> None:
    old = scored("My favourite colour is blue", 0.5, date="2025-01-01")
    new = scored("My favourite colour is green", 0.45, date="2026-01-01")
    found = arrange([old, new], {"which", "colour"})
    assert plains(found) == ["My favourite colour is green", "My favourite colour is blue"]
    assert sum(found[0].signals.values()) == pytest.approx(found[0].score)


def test_a_successor_stays_above_although_a_later_fact_takes_its_place() -> None:
    old = scored(
        "Table 4",
        0.49,
        text="- ~~Table 4~~ (superseded 2026-01-01: Ann sits at table 5)",
        status="superseded",
    )
    new = scored("Ann sits at table 5", 0.5, date="2025-01-01")
    later = scored("Ann sits at table 6", 0.45, date="2026-01-01")
    found = plains(arrange([new, old, later], {"ann"}))
    assert found.index("Ann sits at table 5") < found.index("Table 4")


def test_facts_that_disagree_change_places_and_displace_no_other() -> None:
    wanted = scored("The harbour office opens at nine", 0.48)
    first = scored("We had squid at the Gull's, which was good", 0.5, date="2025-01-01")
    later = [
        scored(f"We had squid at the Heron's, table {n}", 0.47 - n / 100, date=f"2026-01-0{n}")
        for n in range(1, 5)
    ]
    found = arrange([first, wanted, *later], {"harbour"})
    assert plains(found)[1] == "The harbour office opens at nine"
    assert plains(found)[0] == "We had squid at the Heron's, table 4"
    scores = [first.score, wanted.score, *(result.score for result in later)]
    assert [result.score for result in found] == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Firmware 2.1.8 runs on the heat pump", "Firmware 2.2.0 runs on the heat pump"),
        ("My salary is 3,420 before tax", "My salary is 3,905 before tax"),
    ],
)
def test_the_later_of_two_answers_comes_first(old: str, new: str) -> None:
    early, late = scored(old, 0.9, date="2019-01-03"), scored(new, 0.82, date="2026-05-01")
    assert plains(arrange([early, late], set())) == [new, old]


def test_what_says_something_else_is_not_put_off_for_its_age() -> None:
    old, new = (
        scored("Good: Osteria", 0.44, date="2019-01-03"),
        scored("Tea", 0.4, date="2026-05-01"),
    )
    assert plains(arrange([old, new], set())) == ["Good: Osteria", "Tea"]


def test_within_a_day_and_a_file_the_later_is_the_one_below() -> None:
    old, new = scored("The code is 4711", 5.0), scored("The code is 4712", 5.0, at=1)
    assert plains(arrange([new, old], {"code"}))[0] == "The code is 4712"


def test_facts_about_two_people_do_not_disagree() -> None:
    ann = scored("Ann owes us 11 euros for the tickets", 5.0, date="2025-01-01")
    bob = scored("Bob owes us 13 euros for the tickets", 4.5, date="2026-01-01")
    assert arrange([ann, bob], {"what", "does", "ann", "owe"})[0] is ann


def test_relevance_outweighs_date() -> None:
    old = scored("The code is 4711", 9.0, date="2025-01-01")
    new = scored("The code is 4712", 2.0, date="2026-01-01")
    assert arrange([old, new], set())[0] is old


def test_a_list_is_cut_by_count_and_by_tokens() -> None:
    assert [len(part) for part in fill(listed(5, 5, 5), 2, 100)] == [2, 1]
    assert [len(part) for part in fill(listed(5, 5, 5), 9, 11)] == [2, 1]
    assert fill([], 5, 5) == ([], [])


def test_what_does_not_fit_makes_room_for_what_does() -> None:
    taken, others = fill(listed(6, 8, 4), 9, 10)
    assert [each.tokens for each in taken] == [6, 4]
    assert [each.tokens for each in others] == [8]


def turn(best: float) -> tuple[list[Passage], float]:
    """What bears on a turn, of 60 facts of 10 tokens."""
    found = [scored(f"fact {n}", best - n / 1000, text="x" * 40) for n in range(60)]
    return relevant(found, budget=1000)


def test_of_weak_evidence_a_turn_is_given_the_nearest() -> None:
    taken, share = turn(WEAK - 0.05)
    assert share == 0
    assert len(taken) == LEAST_TOKENS // 10


def test_of_strong_evidence_a_turn_is_given_the_most() -> None:
    taken, share = turn(STRONG)
    assert share == pytest.approx(1)
    assert len(taken) == MOST_TOKENS // 10


def test_what_a_turn_is_given_grows_with_the_evidence_and_never_jumps() -> None:
    counts = [len(turn(WEAK - 0.05 + step / 1000)[0]) for step in range(200)]
    assert counts[-1] > counts[0]
    assert {*np.diff(counts)} <= {0, 1}


def test_the_nearest_is_given_however_long_it_is() -> None:
    found = [scored("long", 0.2, text="x" * 2000), scored("short", 0.1, text="x" * 40)]
    assert plains(relevant(found, budget=1000)[0]) == ["long"]
    assert relevant(found, budget=50)[0] == found[1:]
    assert relevant([], budget=1000) == ([], 0.0)


def test_each_project_is_returned_its_own_fact_unless_it_is_everybodys() -> None:
    headings = [("Project: ~/shop -- 2026-11-01",), ("Project: ~/blog",), ("Memory", "People")]
    shop, shop_again, blog, general = (
        replace(scored("Tests need TZ=UTC", score, at=at), heading=headings[at // 2])
        for at, score in ((0, 4.0), (1, 3.0), (2, 2.0), (4, 1.0))
    )
    assert arrange([shop_again, shop, blog], set()) == [shop, blog]
    assert arrange([shop, blog, general], set()) == [general]
