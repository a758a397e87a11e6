"""What takes a parser to read is blotted out, or the text is refused."""

import pytest

from assistant.memory.text.markdown import BLOT, blotted


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("# a\n- b\n", "# a\n- b\n"),
        ("```\n# no\n```\n# a\n", "# a\n"),
        ("<!-- # no\n-->\n- a\n", "- a\n"),
        ("---\ntitle: x\n---\n- a\n", "- a\n"),
        ("a `code` and 3 < 4\n", "a `code` and 3 < 4\n"),
    ],
)
def test_opaque_places_are_blotted_and_nothing_moves(text: str, left: str) -> None:
    seen = blotted(text)
    assert seen is not None and len(seen) == len(text)
    assert seen.replace(BLOT, "").strip("\n") == left.strip("\n")
    assert [each.count("\n") for each in (seen, text)] == [text.count("\n")] * 2


@pytest.mark.parametrize(
    "text", ["```\nopen\n", "- <div>\n", "---\nno end\n", "a\rb\r", "> ~~~\n> x\n"]
)
def test_what_only_a_parser_can_tell_is_refused(text: str) -> None:
    assert blotted(text) is None
