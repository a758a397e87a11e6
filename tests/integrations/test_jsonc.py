"""JSON with comments, changed in place."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.integrations import jsonc

SETTINGS = """\
// Settings
{
  // a comment, with "quotes" and {brackets}
  "theme": "One // no comment", // nice
  "servers": {
    "other": { "command": "a" }, // keep
  },
  /* the end */
  "list": [1, 2, // two
  ],
}
"""
VALUE = {"command": "/bin/x", "args": ["mcp"]}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def test_what_is_put_in_is_taken_out_to_the_byte() -> None:
    put = jsonc.put(SETTINGS, ("servers", "ours"), VALUE)
    assert jsonc.value(put)["servers"] == {"ours": VALUE, "other": {"command": "a"}}
    assert [line for line in SETTINGS.splitlines() if line not in put.splitlines()] == []
    assert jsonc.remove(put, ("servers", "ours")) == SETTINGS
    new = jsonc.put(SETTINGS, ("deep", "er"), 1)
    assert jsonc.value(new)["deep"] == {"er": 1}
    assert jsonc.remove(new, ("deep", "er")) == SETTINGS
    longer = jsonc.add(SETTINGS, ("list",), 3)
    assert jsonc.value(longer)["list"] == [3, 1, 2]
    assert jsonc.remove(longer, ("list", 0)) == SETTINGS


@pytest.mark.parametrize("unit", ["\t", "    ", " "])
def test_what_is_put_in_is_indented_as_all_else_is(unit: str) -> None:
    text = json.dumps({"servers": {"other": {"command": "a"}}}, indent=unit)
    put = jsonc.put(text, ("servers", "ours"), VALUE)
    assert put == json.dumps(jsonc.value(put), indent=unit)


@pytest.mark.parametrize("text", ["", "{}", "{}\n", "// nothing yet\n", '{"a":1}'])
def test_any_file_will_do(text: str) -> None:
    put = jsonc.put(text, ("servers", "ours"), VALUE)
    assert jsonc.value(put)["servers"]["ours"] == VALUE
    assert jsonc.put(put, ("servers", "ours"), VALUE) == put
    assert "ours" not in jsonc.remove(put, ("servers", "ours"))


@settings(max_examples=30)
@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4), st.sampled_from([None, 1, 4, "\t"]))
def test_whatever_the_values_and_their_layout(
    values: dict[str, object], indent: int | str | None
) -> None:
    text = json.dumps(values, indent=indent)
    assert jsonc.value(text) == values
    put = jsonc.put(text, ("our own",), VALUE)
    assert json.loads(put) == {**values, "our own": VALUE}
    assert json.loads(jsonc.remove(put, ("our own",))) == values


@pytest.mark.parametrize(
    ("text", "line"),
    [('{"a": 1,,\n}', 1), ('{\n"a" 1}', 2), ("[1\n", 2), ('{"a": tru}', 1), ('{"a": "x\n"}', 1)],
)
def test_what_is_broken_is_named_by_its_line(text: str, line: int) -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        jsonc.value(text)
    assert caught.value.lineno == line
