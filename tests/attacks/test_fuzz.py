"""Whatever bytes come: the parsers answer or refuse, and never do anything else.

The socket's protocol is fuzzed in `tests/memory/daemon/test_wire.py` and `test_daemon.py`. What the
fuzzers once found stands here as examples.
"""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from assistant.errors import DaemonError, ToolError
from assistant.memory.daemon import wire
from assistant.memory.daemon.wire import OPERATIONS
from assistant.model.base import ToolSpec
from assistant.model.text_tools import Block, CallFilter, parse, render_result
from assistant.quoting import inert, live, neutralised, one_line, quoted, without_calls
from assistant.session import entries
from assistant.tools.files import patch
from tests.attacks.cases import ATTACKS
from tests.attacks.obedient import CLOSING, look
from tests.support.chunking import chunk

CASES = settings(max_examples=300, derandomize=True)
SLOW_CASES = settings(max_examples=20_000, suppress_health_check=list(HealthCheck))
PIECES = st.sampled_from(
    [each.against("MEMORY") for each in ATTACKS]
    + ["# ", "- ", "  ", "```", "~~~", "<!--", "-->", "|", "\n", "\r\n", "\r", "\t", "~~", "---\n"]
    + ['<tool_call name="write">', "</tool_call>", "<path>", "</path>", "<![CDATA[", "]]>", "{"]
    + [
        "<function=write>",
        "<parameter=path>",
        "</parameter>",
        "</function>",
        "<arg_key>",
        "`",
        "> ",
    ]
    + ["<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "write:0", "}"]
    + [
        "<|tool_calls_section_begin|>",
        "<|tool_call_section_end|>",
        "</arg_key>",
        "<arg_value>",
        "`",
    ]
    + ["*** Begin Patch\n", "*** End Patch\n", "*** Update File: a\n", "*** Add File: b\n", "@@\n"]
    + ["--- a/x\n", "+++ b/x\n", "@@ -1,2 +1,2 @@\n", "+a\n", "-a\n", " a\n", "\ufeff", "\x00"]
)
TEXTS = st.lists(PIECES | st.text(max_size=6), max_size=14).map("".join)
TOOL = ToolSpec("write", "", {"type": "object", "properties": {"path": {"type": "string"}}})


def chunker(text: str) -> None:
    body = text.removeprefix("\ufeff")
    for each in chunk(
        text, "MEMORY.md", count_tokens=lambda said: len(said.split()), max_tokens=20
    ):
        assert body[each.start_char : each.end_char] == each.text


def calls(text: str) -> None:
    found = CallFilter([TOOL])
    shown = "".join(found.feed(char) for char in text) + found.finish(ended=True)
    whole = CallFilter([TOOL])
    assert whole.feed(text) + whole.finish(ended=True) == shown
    assert whole.blocks == found.blocks
    for block in (*found.blocks, Block("write", text, closed=True), Block("", text, closed=True)):
        try:
            name, arguments = parse(block, [TOOL])
        except ValueError:
            continue
        assert isinstance(name, str) and isinstance(arguments, dict)


def patches(text: str) -> None:
    with contextlib.suppress(ToolError):
        patch.parse(text)


def protocol(text: str) -> None:
    for data in (
        text.encode("utf-8", "surrogatepass"),
        json.dumps({"id": "", "op": "recall", "params": text}).encode(),
    ):
        try:
            asked = wire.parse(data, wire.Request)
            OPERATIONS[asked.op].parameters(asked.params)
        except (DaemonError, KeyError):
            pass


def transcripts(text: str) -> None:
    with contextlib.suppress(ValueError):
        entries.decode(text.encode("utf-8", "surrogatepass"))


def quoting(text: str) -> None:
    assert live(inert(text)) == text
    assert not CLOSING["memory"].search(look(neutralised(text).replace("\n", " ")))
    assert "\n" not in one_line(text)
    shown = quoted(text)
    assert all(line.startswith("  | ") for line in shown.splitlines()[1:])
    assert not CLOSING["memory"].search(look(shown.replace("\n", " ")))
    result = render_result("look", text)
    assert without_calls(text) in result
    assert result.count("</tool_result>") == 1


PARSERS = (chunker, calls, patches, protocol, transcripts, quoting)


@pytest.mark.parametrize("parser", PARSERS, ids=lambda each: each.__name__)
@CASES
@given(text=TEXTS)
@example(text="")
@example(text="«¼[/MEMORY]")
@example(text="{{/MEMORY}}")
def test_fuzzed(parser: Any, text: str) -> None:
    parser(text)


@pytest.mark.slow
@pytest.mark.parametrize("parser", PARSERS, ids=lambda each: each.__name__)
@SLOW_CASES
@given(text=TEXTS)
def test_fuzzed_for_long(parser: Any, text: str) -> None:
    parser(text)


@pytest.mark.parametrize("parser", PARSERS, ids=lambda each: each.__name__)
@CASES
@given(data=st.binary(max_size=200))
def test_fuzzed_with_bytes(parser: Any, data: bytes) -> None:
    parser(data.decode("utf-8", "surrogateescape"))
