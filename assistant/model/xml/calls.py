"""Calls in text, in the forms that models write: what each looks like, and what it says. Pure.

Ours (`form.py`), and those that open models were trained on and fall back to::

    <tool_call>{"name": "read_file", "arguments": {"path": "a.md"}}</tool_call>      Qwen, Hermes
    <tool_call><function=read_file><parameter=path>a.md</parameter></function></tool_call>
    <tool_call>read_file<arg_key>path</arg_key><arg_value>a.md</arg_value></tool_call>        GLM
    <|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path": "a.md"}
    <|tool_call_end|>                                                                        Kimi
    <｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": "a.md"}<｜tool▁call▁end｜>        DeepSeek
    <invoke name="read_file"><parameter name="path">a.md</parameter></invoke>             MiniMax
    [TOOL_CALLS]read_file[ARGS]{"path": "a.md"}                                           Mistral
    [TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a.md"}}]                    Mistral

What can be read in two ways is not guessed at: the call gets a fault and the model sends it again.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assistant.model.base import ToolSpec
from assistant.model.provider.stream.arguments import decode_arguments
from assistant.model.xml.values import AGAIN, gathered, outside, paired, schema_of

SECTION = r"<!\[CDATA\[.*?(?:\]\]>|\Z)"
"""A CDATA section; one that is still open takes everything in."""
NAME = r"[\"']?(?P<{}>[\w.-]+)[\"']?"
OPEN = re.compile(
    rf"(?P<tagged><tool_call(?:\s+name\s*=\s*{NAME.format('name')})?\s*>)"
    rf"|(?P<function><function\s*=\s*{NAME.format('called')}\s*>)"
    rf"|(?P<invoke><(?:｜DSML｜)?invoke\s+name\s*=\s*{NAME.format('invoked')}\s*>)"
    r"|(?P<token><[|｜]tool[▁_]call[▁_]begin[|｜]>)"
    r"|(?P<listed>\[TOOL_CALLS\]|<tool_calls>)"
    r"|(?P<mark><[|｜]tool[▁_]calls?[▁_](?:section[▁_])?(?:begin|end)[|｜]>"
    r"|</?minimax:tool_call>|</?(?:｜DSML｜)?(?:function|tool)_calls>|\[/TOOL_CALLS\])",
    re.IGNORECASE,
)
"""How a call begins in each of the forms, and what stands around calls and says nothing."""
HEADS = (
    *("<tool_call", "<function", "</function_calls>", "</tool_calls>", "<invoke", "[tool_calls]"),
    *(
        "<|tool",
        "<｜tool",
        "<｜dsml｜",
        "</｜dsml｜",
        "<minimax:tool_call>",
        "</minimax:tool_call>",
    ),
    "[/tool_calls]",
)
STRAY = ("</tool_call>", "</function>")
"""Ends that may stand behind a call that is over."""
LONGEST_HEAD = 120
"""Characters of a tag that begins a call."""

CLOSE = {
    "tagged": r"</tool_call\s*>",
    "function": r"</function\s*>",
    "invoke": r"</(?:｜DSML｜)?invoke\s*>",
    "token": r"<[|｜]tool[▁_]call[▁_]end[|｜]>",
    "listed": r"</tool_calls>|\[/TOOL_CALLS\]|</s>",
}
BORDERS = {
    form: re.compile(
        rf"{SECTION}|(?P<close>{close})|(?P<open>{re.sub(r'[?]P<[a-z]+>', '?:', OPEN.pattern)})",
        re.DOTALL | re.IGNORECASE,
    )
    for form, close in CLOSE.items()
}

PARAMETER = re.compile(r"\s*<([A-Za-z_][\w.-]*)\s*>")
FUNCTION = re.compile(
    rf"\s*<function\s*=\s*{NAME.format('name')}\s*>(?P<body>.*?)(?:</function\s*>)?\s*\Z",
    re.DOTALL | re.IGNORECASE,
)
QWEN_PAIR = re.compile(
    rf"<parameter\s*=\s*{NAME.format('name')}\s*>(?P<value>.*?)</parameter\s*>"
    r"(?=\s*(?:<parameter\s*=|\Z))",
    re.DOTALL | re.IGNORECASE,
)
GLM = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?P<body>(?:<arg_key>|\{).*)?\Z", re.DOTALL)
GLM_PAIR = re.compile(
    r"<arg_key>(?P<name>[^<]*)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>"
    r"(?=\s*(?:<arg_key>|\Z))",
    re.DOTALL,
)
INVOKE_PAIR = re.compile(
    rf"<(?:｜DSML｜)?parameter\s+name\s*=\s*{NAME.format('name')}[^<>]{{0,40}}>(?P<value>.*?)"
    r"</(?:｜DSML｜)?parameter\s*>(?=\s*(?:<(?:｜DSML｜)?parameter\s|\Z))",
    re.DOTALL | re.IGNORECASE,
)
DEEPSEEK = re.compile(
    r"\s*(?:function<[|｜]tool[▁_]sep[|｜]>)?(?P<name>[\w.-]+)(?:<[|｜]tool[▁_]sep[|｜]>|\s*\n)"
    r"\s*(?:```(?:json)?)?(?P<body>.*?)(?:```)?\s*",
    re.DOTALL,
)
MISTRAL = re.compile(
    r"\s*(?P<name>[\w.-]+)\s*(?:\[CALL_ID\]\s*[\w-]+\s*)?(?:\[ARGS\]\s*)?(?=\{)", re.IGNORECASE
)
KIMI = re.compile(
    r"\s*(?:functions\.)?(?P<name>[\w.-]+?)(?::\d+)?\s*<\|tool_call_argument_begin\|>(?P<body>.*)",
    re.DOTALL | re.IGNORECASE,
)

ABOUT = frozenset({"name", "id", "type"})
ARGUMENTS = frozenset({"arguments", "parameters", "args", "input"})
"""What JSON has beside a call's arguments, and what they are called in it."""

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Block:
    """A call as it stood in the text: the name in its tag, what is inside, and whether it ends."""

    name: str
    body: str
    closed: bool
    form: str = "tagged"


def parse(block: Block, tools: Sequence[ToolSpec]) -> Call:
    """The tool's name and the arguments. Raises ValueError, one line for the model."""
    if block.form == "token":
        return _marked(block.body)
    if block.form == "invoke":
        known = schema_of(block.name, tools)
        return block.name, gathered(paired(block.body, INVOKE_PAIR), known)
    if block.form == "function":
        return _qwen(block.name, block.body, tools)
    if block.name and block.body.lstrip().startswith("{"):
        return block.name, decode_arguments(block.body)
    if block.name:
        return block.name, _ours(block, tools)
    if inner := FUNCTION.match(block.body):
        return _qwen(inner["name"], inner["body"], tools)
    if named := GLM.match(block.body):
        return _glm(named["name"], named["body"] or "", tools)
    return _hermes(block.body)


def calls_in(block: Block) -> tuple[list[Block], str]:
    """The calls of a block, which may be a list of them, and what was said behind the list."""
    if block.form != "listed":
        return [block], ""
    calls: list[Block] = []
    rest = block.body.strip()
    while rest and (not calls or rest[0] in "{["):
        named = MISTRAL.match(rest)
        text = rest[named.end() if named else 0 :]
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(text)
        except ValueError:  # what may be mended, or is told to the model
            value, end = text, len(text)
        rest = text[end:].lstrip(" \t\r\n,;")
        for each in value if isinstance(value, list) and not named else [value]:
            body = each if isinstance(each, str) else json.dumps(each)
            calls.append(
                replace(block, name=named["name"] if named else "", body=body, form="tagged")
            )
    return calls or [block], rest


def is_whole(block: Block, tools: Sequence[ToolSpec]) -> bool:
    """The block parses: what comes next is not a part of it."""
    try:
        for call in calls_in(block)[0]:
            parse(call, tools)
    except ValueError:
        return False
    return True


def _hermes(body: str) -> Call:
    call = decode_arguments(body)
    if isinstance(call.get("function"), dict):
        call = call["function"]
    name, given = call.get("name"), set(call) - ABOUT
    if given - ARGUMENTS or len(given) > 1:
        raise ValueError(f'the arguments do not stand under "arguments"; {AGAIN}')
    arguments = call[given.pop()] if given else {}
    if isinstance(arguments, str):
        arguments = decode_arguments(arguments)
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise ValueError(f"the call names no tool; {AGAIN}")
    return name, arguments


def _qwen(name: str, body: str, tools: Iterable[ToolSpec]) -> Call:
    if body.lstrip().startswith("{"):
        return name, decode_arguments(body)
    return name, gathered(paired(body, QWEN_PAIR), schema_of(name, tools))


def _glm(name: str, body: str, tools: Sequence[ToolSpec]) -> Call:
    if body.startswith("{"):
        return name, decode_arguments(body)
    known = schema_of(name, tools)
    if not body and (known or all(tool.name != name for tool in tools)):
        raise ValueError(f"the call has a name and nothing else; {AGAIN}")
    return name, gathered(paired(body, GLM_PAIR), known)


def _marked(body: str) -> Call:
    found = KIMI.fullmatch(body) or DEEPSEEK.fullmatch(body)
    if found is None:
        raise ValueError(f"the call names no tool; {AGAIN}")
    return found["name"], decode_arguments(found["body"])


def _ours(block: Block, tools: Iterable[ToolSpec]) -> dict[str, Any]:
    known = schema_of(block.name, tools)
    return gathered(_parameters(block.body, known), known)


def _parameters(body: str, known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    place = 0
    while body[place:].strip():
        name, text, place = _parameter(body, place, known)
        yield name, text


def _parameter(body: str, place: int, known: Mapping[str, Any]) -> tuple[str, str, int]:
    """The parameter that begins at `place`: name, text, and where it ends."""
    start = PARAMETER.match(body, place)
    if start is None:
        outside(body[place:])
        raise ValueError(f"there is no parameter; {AGAIN}")
    name = start[1]
    following = "|".join(re.escape(other) for other in known) or r"[A-Za-z_][\w.-]*"
    border = re.compile(
        rf"{SECTION}|(?P<end></{re.escape(name)}\s*>)(?=\s*(?:<(?:{following})\s*>|\Z))",
        re.DOTALL,
    )
    for found_border in border.finditer(body, start.end()):
        if found_border["end"]:
            return name, body[start.end() : found_border.start()], found_border.end()
    raise ValueError(f"<{name}> is not closed, or its tags cross others; {AGAIN}")
