"""The words of a fact: known again in every form, and not in what only resembles them."""

import unicodedata

import pytest

from assistant.memory.text.identity import digest
from assistant.memory.text.markdown import line_digest
from assistant.memory.writing import words as module
from assistant.memory.writing.journal import Edit
from assistant.memory.writing.words import Words
from assistant.messages import FORGOTTEN

SAFE = Words(["The safe opens with zanzibar-17"])


@pytest.mark.parametrize(
    "text",
    ["the SAFE opens with Zanzibar-17.", "- The *safe* opens\n  with zanzibar-17",
     "Eve says: the safe opens with zanzibar 17", "~~The safe opens with zanzibar-17~~"],
)  # fmt: skip
def test_a_fact_is_known_whatever_stands_between_its_words(text: str) -> None:
    assert SAFE.occur_in(text)


@pytest.mark.parametrize("text", ["The safe opens with zanzibar-18", "zanzibar", "Unsafe openings"])
def test_what_resembles_it_is_not(text: str) -> None:
    assert not SAFE.occur_in(text)


def test_a_short_word_is_not_found_in_a_longer_one() -> None:
    assert Words(["tea"]).occur_in("likes tea!")
    assert not Words(["tea"]).occur_in("steam")
    assert Words(["tea"]).without("steam or tea") == f"steam or {FORGOTTEN}"


def test_what_a_fact_matters_for_goes_with_it_and_does_not_tell_its_line() -> None:
    line = "- The safe opens with zanzibar-17 <!-- for: burglars --> <!-- 2026-11-21 -->"
    assert SAFE.without(f"{line}\n- Other <!-- for: x -->") == (
        f"- {FORGOTTEN} <!-- 2026-11-21 -->\n- Other <!-- for: x -->"
    )
    assert line_digest("- one <!-- for: burglars -->") == line_digest(" - one")


@pytest.mark.parametrize("fact", ["我住在柏林", "🦭🦭"])
def test_facts_without_spaced_words_are_known(fact: str) -> None:
    assert Words([fact]).occur_in(f"昨天说{fact}了")
    assert Words([fact]).without(f"昨天说{fact}了") == f"昨天说{FORGOTTEN}了"


PHRASINGS = {
    "The secret garden is behind the old school": (
        "what about the secret garden behind the old school?",
        "Behind the old school: a secret garden!",
        "(secret garden; old school, behind)",
        "old-school gardens, secret ones, behind it…",
        "It is *secret*: the garden behind the school, the old one.",
    ),
    "The cellar key is under a blue stone": (
        "Keys of the cellar: under the blue stones",
        "I put the cellar's keys under that blue stone",
    ),
    "La clé de la cave est sous la pierre bleue": (
        "Les clés de la cave sont sous les pierres bleues ?",
    ),
    "Der geheime Garten liegt hinter der alten Schule": (
        "Was ist mit dem geheimen Garten, der hinter der alten Schule liegt?",
        "Hinter der alten Schule liegen geheime Gärten!",
        "»Geheimer Garten«: liegt hinter alter Schule.",
        "Liegt der Garten (der geheime) hinter der Schule, der alten?",
    ),
    "Le jardin secret est derrière la vieille école": (
        "Où est le jardin secret ? Derrière la vieille école.",
        "Derrière l’école, la vieille : des jardins secrets…",
        "«jardin secret» derrière vieille école!",
    ),
    "El jardín secreto está detrás de la escuela vieja": (
        "¿Está el jardín secreto detrás de la escuela vieja?",
        "¡Jardines secretos detrás de las escuelas viejas!",
        "Detrás de la vieja escuela: un jardin, secreto.",
    ),
}


@pytest.mark.parametrize(
    ("fact", "line"), [(fact, line) for fact, lines in PHRASINGS.items() for line in lines]
)
def test_a_line_that_tells_the_fact_goes_whatever_marks_and_endings_it_has(
    fact: str, line: str
) -> None:
    assert Words([fact]).without(f"Hello.\n{line}\nBye.") == f"Hello.\n{FORGOTTEN}\nBye."


def test_the_secret_garden_goes_with_the_question_mark() -> None:
    assert FORGOTTEN in Words(["secret garden"]).without("what about the secret garden?")
    assert Words(["My secret garden"]).without("what about the secret garden?") == FORGOTTEN


@pytest.mark.parametrize(
    "line",
    ["The safe is heavy; zanzibar is an island", "It opens with zanzibar-18, the safe",
     "The old school has a garden", "secret"],
)  # fmt: skip
def test_a_line_that_lacks_a_word_of_it_stays(line: str) -> None:
    words = Words(["The safe opens with zanzibar-17", *PHRASINGS])
    assert words.without(line) == line


def test_two_spellings_of_one_text_are_one() -> None:
    fact = "Zoë besucht José im Café"
    for form in ("NFC", "NFD"):
        words = Words([unicodedata.normalize(form, fact)])
        assert words.occur_in(unicodedata.normalize("NFD", f"- {fact}"))
        assert words.are(unicodedata.normalize("NFC", fact.upper()))


def test_no_digest_of_its_line_stays_to_confirm_a_guess() -> None:
    line, other = line_digest("- The safe opens with zanzibar-17"), line_digest("- other")
    edit = Edit("MEMORY.md", 0, "", "x", digest("a"), digest("b"), (line, other), (other, line))
    assert SAFE.without_digests(edit).above == ("", other)
    assert SAFE.without_digests(edit).below == (other, "")


TOLD = {
    "The alarm code of the boathouse is 5583": (
        "About the boathouse alarm:\nits code is 5583",
        "The boathouse has an alarm.\n\nIts code? 5583!",
        "5583\nis THE ALARM CODE\n(boathouse)",
    ),
    "Grandma's recipe for plum cake needs 300 g of quark": (
        "Grandma’s plum-cake recipe: 300g quark needed",
        "PLUM CAKE\nGrandma's recipes need 300g quark",
    ),
    "La clave de la bodega de Íñigo es 90-31": (
        "¿La bodega de Íñigo?\nSus claves: 90 y 31.",
        "IÑIGO, BODEGA, CLAVE: 90/31",
    ),
    "La nonna nasconde le chiavi sotto il divano": (
        "Sotto i divani\nla nonna nascondeva la sua chiave",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("fact", "message"), [(fact, said) for fact, messages in TOLD.items() for said in messages]
)
def test_lines_that_tell_the_fact_together_go(fact: str, message: str) -> None:
    kept = Words([fact]).without(f"# Before\n{message}\n- After")
    assert set(kept.split("\n")) <= {"# Before", FORGOTTEN, "", "- After"}, kept


def test_items_of_a_list_do_not_tell_a_fact_together() -> None:
    message = "- Ben rows\n- Anna sails"
    assert Words(["Ben sails"]).without(message) == message


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("ZWETSCHKE: SCHUPPENSCHLÜSSEL", ("schuppenschlussel", "zwetschke")),
        ("Wer hat den Schuppenschlüssel?\nOh, Zwetschkes", ("schuppenschlussel", "zwetschke")),
        ("Frau Zwetschke grüßt", ()),
        ("Sie hat 4471 gesagt", ("4471",)),
        ("Das war 2019", ()),
    ],
)
def test_a_message_that_hints_at_the_fact_says_by_which_words(
    message: str, left: tuple[str, ...]
) -> None:
    fact = "Nachbarin Zwetschke bewahrt den Schuppenschlüssel seit 2019 auf, Code 4471"
    hints = list(Words([fact]).traces(message, common={"nachbarin", "code"}))
    assert hints == ([left] if left else [])


def test_the_words_that_a_text_has_are_found_in_any_form_and_line() -> None:
    words = Words(["The secret garden is behind the school", "Eve feeds zebras in Oslo"])
    text = "- A *gar*den <!-- 2026-11-21 -->\n\n- the Sécret\n- ZEBRA"
    assert words.used_in(text) == {"garden", "secret", "zebras"}


def test_each_line_is_read_once_however_many_the_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def plain_text(line: str) -> str:
        read.append(line)
        return line

    monkeypatch.setattr(module, "plain", plain_text)
    words = Words([f"The garden has {number} roses" for number in range(9)])
    read.clear()
    words.used_in("- *garden*\n- *roses*")
    assert read == ["- *garden*", "- *roses*"]
