"""What stands in the index for secrets that a memory file holds."""

import pytest

from assistant.memory.text.chunk import Chunk, passage
from assistant.memory.text.masking import masked, verbatim
from assistant.secrets.redactor import Redactor
from tests.secrets.tokens import core, tokens
from tests.support.chunking import chunk

TOKENS = tokens(3)


def chunks(text: str) -> list[Chunk]:
    return chunk(text, "MEMORY.md", count_tokens=lambda said: len(said) // 3, max_tokens=60)


@pytest.mark.parametrize("kind", TOKENS)
@pytest.mark.parametrize(
    "form", ["- It is {}, says Ada\n", "```\n{}\n```\n", "## About {}\n\nIt works\n", "- ~~{}~~\n"]
)
def test_no_chunk_says_a_secret_and_each_stays_where_it_is(kind: str, form: str) -> None:
    text = f"\ufeff# Memory\n\n- Anna met Ben\n\n{form.format(TOKENS[kind])}\n- The end\n"
    found = chunks(text)
    hidden = list(masked(found, text.removeprefix("\ufeff"), Redactor()))
    assert core(TOKENS[kind]) in "".join((each.text + "".join(each.heading)) for each in found)
    for before, after in zip(found, hidden, strict=True):
        assert core(TOKENS[kind]) not in f"{after.text} {after.plain} {after.heading}"
        assert (after.id, after.start_char, after.end_line) == (
            before.id,
            before.start_char,
            before.end_line,
        )
        assert verbatim(passage(after), text, Redactor()).text == before.text
    assert hidden[0] == found[0]


def test_a_long_key_is_hidden_in_every_chunk_it_fills() -> None:
    key = TOKENS["RSA key"]
    text = f"```\n{key}\n```\n"
    found = chunks(text)
    assert len(found) > 2
    for each in masked(found, text, Redactor()):
        assert not any(line in each.text + each.plain for line in key.split("\n")[1:-1])


def test_a_registered_value_is_hidden_even_where_markup_breaks_it() -> None:
    redactor = Redactor({"DOOR": "open *sesame* now"})
    text = "- Say open *sesame* now, twice: open *sesame* now\n"
    (hidden,) = masked(chunks(text), text, redactor)
    assert hidden.text == "- Say [[secret:DOOR]], twice: [[secret:DOOR]]"
    assert "sesame" not in hidden.plain


def test_a_passage_of_a_file_that_has_changed_stays_as_it_is() -> None:
    text = f"- {TOKENS['GitHub']}\n"
    (hidden,) = masked(chunks(text), text, Redactor())
    other = f"- {TOKENS['GitLab']} and more of it\n"
    assert verbatim(passage(hidden), other, Redactor()) == passage(hidden)


def test_a_secret_in_a_comment_is_hidden_and_the_fact_keeps_its_words() -> None:
    redactor = Redactor({"DOOR": "sesame-4711"})
    text = "- Allergic to nuts <!-- for: sesame-4711, travel -->\n"
    (hidden,) = masked(chunks(text), text, redactor)
    assert hidden.plain == "Allergic to nuts"
    assert hidden.searched == "Allergic to nuts\ntravel"
    assert "sesame" not in hidden.text
