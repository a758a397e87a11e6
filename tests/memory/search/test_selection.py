"""From scored chunks to the list that is returned."""

from dataclasses import replace

import numpy as np
import pytest

from assistant.memory.base import Passage, Status, fill
from assistant.memory.search import ranking
from assistant.memory.search.asked.abroad import (
    MORE,
    as_in_english,
    from_abroad,
    is_of_another_script,
)
from assistant.memory.search.bridging import MOST_FACTS, NEARER, over_names
from assistant.memory.search.letters import by_letters
from assistant.memory.search.novelty import with_room
from assistant.memory.search.ranking import SIGNALS
from assistant.memory.search.selection import FAR, RARE, SURE, Scored, arrange, plausible
from assistant.memory.text.chunk import Chunk, passage


def scored(
    plain: str,
    score: float,
    *,
    date: str | None = None,
    ordinal: int = 0,
    text: str = "",
    status: Status = "current",
) -> Scored:
    chunk = Chunk(
        id=f"{plain}{ordinal}", source="MEMORY.md", ordinal=ordinal, text=text or f"- {plain}",
        plain=plain, heading=(), start_line=1, end_line=1, start_char=0, end_char=1,
        date=date, status=status,
    )  # fmt: skip
    return Scored(chunk, score, {"dense": score})


def plains(found: list[Scored]) -> list[str]:
    return [each.chunk.plain for each in found]


def listed(*costs: int) -> list[Passage]:
    return [passage(scored("x", 0.0, text="x" * 4 * cost).chunk) for cost in costs]


def test_the_same_fact_is_returned_once_by_its_best() -> None:
    found = [scored("Lives in Lisbon", 1.0), scored("lives  in LISBON.", 2.0, ordinal=1)]
    assert plains(arrange(found, set())) == ["lives  in LISBON."]


@pytest.mark.parametrize("pair", [("costs 4711", "costs 4712"), ("uses C", "uses C++")])
def test_facts_that_differ_in_one_sign_are_two(pair: tuple[str, str]) -> None:
    found = [scored(pair[0], 2.0), scored(pair[1], 1.0, ordinal=1)]
    assert len(arrange(found, set())) == 2


BERLIN = "- ~~Lives in Berlin~~ (superseded 2026-11-21: Lives in Lisbon)"


def test_a_successor_stands_above_what_it_superseded() -> None:
    old = scored("Lives in Berlin", 5.0, text=BERLIN, status="superseded")
    new = scored("Lives in Lisbon", 3.0, ordinal=1)
    other = scored("Drinks tea", 4.0, ordinal=2)
    found = arrange([old, other, new], set())
    assert plains(found) == ["Lives in Lisbon", "Lives in Berlin", "Drinks tea"]
    assert found[0].shares["successor"] > 0
    assert sum(found[0].shares.values()) == pytest.approx(found[0].score)


def test_a_successor_is_known_with_its_markup() -> None:
    text = "- ~~Flat 1~~ (superseded 2026-11-21: *Flat* \\[2\\])"
    old = scored("Flat 1", 5.0, text=text, status="superseded")
    assert plains(arrange([old, scored("Flat [2]", 1.0)], set()))[0] == "Flat [2]"


def test_so_it_does_over_several_changes_of_mind() -> None:
    first = scored("Lives in Berlin", 5.0, text=BERLIN, status="superseded")
    text = "- ~~Lives in Lisbon~~ (superseded 2027-01-01: Lives in Rome)"
    second = scored("Lives in Lisbon", 3.0, ordinal=1, text=text, status="superseded")
    third = scored("Lives in Rome", 1.0, ordinal=2)
    for found in ([first, second, third], [third, second, first]):
        assert plains(arrange(found, set())) == [
            "Lives in Rome", "Lives in Lisbon", "Lives in Berlin",
        ]  # fmt: skip


def test_a_return_to_an_old_state_stands_on_top() -> None:
    text = "- ~~Lives in Lisbon~~ (superseded 2027-01-01: Lives in Berlin)"
    first = scored("Lives in Berlin", 5.0, text=BERLIN, status="superseded")
    second = scored("Lives in Lisbon", 4.0, ordinal=1, text=text, status="superseded")
    third = scored("Lives in Berlin", 1.0, ordinal=2)
    found = arrange([first, second, third], set())
    assert [each.chunk.status for each in found] == ["current", "superseded", "superseded"]
    assert plains(arrange([first, second], set())) == ["Lives in Berlin", "Lives in Lisbon"]


def test_what_was_superseded_twice_stands_below_both_its_successors() -> None:
    text = "- ~~Lives in Berlin~~ (superseded 2027-01-01: Lives in Rome)"
    first = scored("Lives in Berlin", 5.0, text=BERLIN, status="superseded")
    again = scored("Lives in Berlin", 5.0, ordinal=1, text=text, status="superseded")
    found = [first, again, scored("Lives in Lisbon", 1.0), scored("Lives in Rome", 2.0)]
    assert set(plains(arrange(found, set()))[:2]) == {"Lives in Lisbon", "Lives in Rome"}


def test_minds_that_changed_in_a_circle_still_show_first_what_is_so_now() -> None:
    changes = [("A", "B"), ("B", "A"), ("A", "C"), ("C", "B"), ("B", "D"), ("A", "D"), ("D", "A")]
    old = [
        scored(was, 9.0 - n, ordinal=n, text=f"- ~~{was}~~ (superseded 2026-11-21: {now})",
               status="superseded")
        for n, (was, now) in enumerate(changes)
    ]  # fmt: skip
    found = arrange([*old, scored("D", 0.5, ordinal=99)], set())
    assert [each.chunk.status for each in found] == ["current"] + ["superseded"] * 7


def test_a_superseded_fact_without_a_successor_keeps_its_place() -> None:
    old = scored("Lives in Berlin", 5.0, text="- ~~Lives in Berlin~~", status="superseded")
    assert plains(arrange([scored("Drinks tea", 1.0), old], set()))[0] == "Lives in Berlin"


def test_of_facts_that_disagree_the_later_comes_first() -> None:
    old = scored("My favourite colour is blue", 5.0, date="2025-01-01")
    new = scored("My favourite colour is green", 4.5, date="2026-01-01")
    found = arrange([old, new], {"which", "colour"})
    assert plains(found) == ["My favourite colour is green", "My favourite colour is blue"]
    assert sum(found[0].shares.values()) == pytest.approx(found[0].score)


@pytest.mark.parametrize(
    ("old", "new", "gap", "latest"),
    [
        (
            "Firmware 2.1.8 runs on the heat pump",
            "Firmware 2.2.0 runs on the heat pump",
            1.0,
            False,
        ),
        (
            "My favourite beer is a Westmalle",
            "My favourite beer is alcohol-free, by Lervig",
            1.0,
            False,
        ),
        ("My salary is 3,420 before tax", "My salary is 3,905 before tax", 3.0, True),
    ],
)
def test_the_later_of_two_answers_comes_first(old: str, new: str, gap: float, latest: bool) -> None:
    early, late = scored(old, 9.0, date="2019-01-03"), scored(new, 9.0 - gap, date="2026-05-01")
    assert plains(arrange([early, late], set(), latest=latest)) == [new, old]


def test_what_says_something_else_is_not_put_off_for_its_age() -> None:
    old, new = (
        scored("Good: Osteria", 4.0, date="2019-01-03"),
        scored("Tea", 3.0, date="2026-05-01"),
    )
    assert plains(arrange([old, new], set(), latest=True)) == ["Good: Osteria", "Tea"]


def test_the_latest_entry_of_a_log_comes_first() -> None:
    days = ("2025-12-04", "2026-05-19", "2026-03-02")
    entries = [scored(f"{day}: {n}.9 before breakfast", 5.0 - n) for n, day in enumerate(days)]
    log = [
        replace(each, chunk=replace(each.chunk, mentions=(day,)))
        for each, day in zip(entries, days, strict=True)
    ]
    assert plains(arrange(log, set(), latest=True))[0].startswith("2026-05-19")


def test_another_wording_gives_room_and_another_name_or_number_does_not() -> None:
    said = [
        "Mr Ode keeps our key",
        "Our key is with Mr Ode",
        "The key of Mrs Ames: 12",
        "Bees swarm",
    ]
    found = [scored(each, 9.0 - n, ordinal=n) for n, each in enumerate(said)]
    alike = np.array([[1, 0], [0.9, 0.4], [0.9, 0.4], [0, 1]], dtype=np.float32)
    placed = with_room(found, alike)
    assert plains(placed) == [said[0], said[2], said[3], said[1]]
    assert sum(placed[-1].shares.values()) == pytest.approx(placed[-1].score)


def test_within_a_day_and_a_file_the_later_is_the_one_below() -> None:
    old, new = scored("The code is 4711", 5.0), scored("The code is 4712", 5.0, ordinal=1)
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


@pytest.mark.parametrize(
    ("question", "language", "first"),
    [
        ("wer hat einen Schlüssel", "german", "Der Ersatzschlüssel liegt bei Frau Özdemir"),
        ("wo ist die Ärztin", "german", "Die Hausärztin hat am Freitag zu"),
        ("когда заплывы", "russian", "Заплыв назначен на среду"),
    ],
)
def test_a_part_of_a_word_leads_to_it(question: str, language: str, first: str) -> None:
    facts = (
        "Der Ersatzschlüssel liegt bei Frau Özdemir",
        "Die Hausärztin hat am Freitag zu",
        "Заплыв назначен на среду",
        "Der Hund bellt bei Gewitter",
    )
    found = by_letters([scored(fact, 1.0) for fact in facts], question, language)
    best = max(found, key=lambda each: each.score)
    assert best.chunk.plain == first
    assert best.score == pytest.approx(1.0 + best.shares["letters"], abs=1e-3)
    assert by_letters([], question, language) == []


def test_what_is_in_another_language_counts_by_its_meaning_alone() -> None:
    own, abroad = scored("The lease of the flat ends in June", 1.0), scored("租约到明年六月", 2.0)
    found = from_abroad([own, abroad], "english")
    assert found == [own, abroad.moved("language", 2.0 + MORE * 2.0)]
    assert from_abroad([abroad], "chinese") == [abroad]
    assert is_of_another_script([own, abroad], "until when is our lease")
    assert not is_of_another_script([own], "until when is our lease")
    assert not is_of_another_script([], "租约到什么时候")


def test_cosines_of_other_languages_are_compared_as_english_ones() -> None:
    matrix = np.zeros((3, len(SIGNALS)), dtype=np.float32)
    matrix[:, SIGNALS.index("dense")] = 0.43
    found = [scored("The lease of the flat ends in June", 2.0), scored("租约到明年六月", 1.0)]
    english, chinese = as_in_english(matrix, found, {"chinese"})[:, SIGNALS.index("dense")]
    assert english == pytest.approx(0.40, abs=0.01)
    assert chinese < ranking.LEAST_COSINE < english
    assert matrix[1, SIGNALS.index("dense")] == np.float32(0.43)


def test_the_later_of_what_holds_most_of_the_question_is_first_where_the_latest_is_asked() -> None:
    found = [
        scored("The book club reads Stoner", 3.0, date="2025-01-01"),
        scored("Book club: we have begun Austerlitz", 1.5, date="2026-01-01"),
    ]
    asked = {"book", "club", "reading"}
    assert plains(arrange(found, asked, latest=True))[0].startswith("Book club")
    assert plains(arrange(found, asked))[0].startswith("The book")
    assert plains(arrange(found, asked, latest=True, later=False))[0].startswith("The book")


def test_the_weaker_the_best_match_the_fewer_stand_behind_the_first() -> None:
    found = [scored(str(n), 10 - n / 10) for n in range(40)]
    counts = [plausible(found, strength) for strength in (0.0, 0.05, 0.1, 1.0)]
    assert counts[0] == SURE
    assert counts == sorted(set(counts))
    assert plausible(found) == counts[-1] == len(found)
    assert plausible([*found, scored("far", 10 - FAR - 1)], 1.0) == len(found)


HENS = scored("The hens are called Agnes and Beryl", 8.0)
POT = "which of the hens could go in the pot"


def test_a_name_that_the_best_brings_in_leads_to_the_facts_on_it() -> None:
    agnes, oven = scored("Agnes lays no more", 2.0), scored("The oven is too hot", 2.5)
    found = over_names([HENS, oven, agnes], POT, "english")
    assert plains(found) == [HENS.chunk.plain, oven.chunk.plain, agnes.chunk.plain]
    assert [each.shares.get("bridge") for each in found] == [None, None, NEARER]
    assert over_names([], POT, "english") == []


def test_what_a_name_leads_to_stays_below_what_brings_it_in() -> None:
    others = [scored(f"The pot holds {litres} litres", 7.9) for litres in (3, 5)]
    found = over_names([scored("Agnes lays no more", 7.5), *others, HENS], POT, "english")
    assert plains(found)[0] == HENS.chunk.plain
    assert HENS.score - 0.1 < found[3].score < HENS.score


@pytest.mark.parametrize(
    ("question", "others"),
    [
        ("may Agnes and Beryl go in the pot", ["Agnes lays no more"]),
        (POT, [f"Agnes laid {number} eggs" for number in range(MOST_FACTS + 1)]),
        (POT, ["The oven is too hot"]),
    ],
    ids=["the question names her", "much is said of her", "nothing is said of her"],
)
def test_other_names_lead_nowhere(question: str, others: list[str]) -> None:
    found = [HENS, *(scored(each, 2.0) for each in others)]
    assert over_names(found, question, "english") == found


@pytest.mark.parametrize(("others", "first"), [(0, "KeePass"), (RARE, "notebook")])
def test_the_latest_on_what_few_facts_are_about_comes_first(others: int, first: str) -> None:
    book = scored("I keep my passwords in a notebook", 9.0, date="2022-09-19")
    kept = scored("All passwords went into KeePass", 5.0, date="2026-05-05")
    more = [scored(f"Five passwords for door {n}", 1.0, date="2020-01-01") for n in range(others)]
    found = arrange([book, kept, *more], {"keep", "passwords"}, latest=True)
    assert first in plains(found)[0]
