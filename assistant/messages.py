"""The data between the conversation and a language model: messages, tool calls, usage."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

FORGOTTEN = "(forgotten)"
"""Replaces the text of a purged fact in a conversation."""
STATING = 4
"""Minimum number of words that can state something by themselves."""
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
Role = Literal["system", "user", "assistant", "tool"]
UNKNOWN_PICTURE = 1_600
"""Tokens of a picture of unknown size, which is also the maximum for any picture."""
PIXELS_A_TOKEN = 750
"""Anthropic's rule of thumb."""
Signed = tuple[Mapping[str, Any], ...]
"""A provider's signed record of the reasoning; valid only unchanged."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model's request to call a tool.

    `arguments` is the decoded JSON object. If the arguments could not be decoded, `fault` explains
    why, in one line the model can act on, and the call is never run. In a model's reply `id` is the
    provider's, which may be missing or repeated; in a transcript it is unique.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, named by its digest and the suffix of its format. `data` is present only while
    it is attached or sent; an unreadable picture has size 0. `returned`: by a tool."""

    name: str
    width: int = 0
    height: int = 0
    data: bytes = b""
    returned: bool = False

    @property
    def media(self) -> str:
        """Its media type, such as `image/png`."""
        kind = self.name.rpartition(".")[2]
        return f"image/{'jpeg' if kind == 'jpg' else kind}"

    @property
    def tokens(self) -> int:
        """Its estimated cost in tokens."""
        return min(self.width * self.height // PIXELS_A_TOKEN or UNKNOWN_PICTURE, UNKNOWN_PICTURE)

    def __str__(self) -> str:
        size = f", {self.width}×{self.height}" if self.width else ""
        return f"a picture: {self.media.partition('/')[2].upper()}{size}"


@dataclass(frozen=True, slots=True)
class Note:
    """A text that the program attaches, such as the result of an undo. It contains no outside
    data."""

    text: str

    def __str__(self) -> str:
        return self.text


Attached = str | Picture | Note
Given = Mapping[str, Attached]
"""Attachments of a message, by title: data, not the owner's own words."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request.

    `tool_call_id` is the call that a `tool` message answers. `cache` marks the end of a stable
    prefix, for providers that accept such marks. `reasoning` and `signed` are the assistant's
    reasoning before this message, for providers that want it back. `json` asks for an answer of
    one JSON object, for providers that can enforce that.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    cache: bool = False
    reasoning: str = ""
    signed: Signed = ()
    pictures: tuple[Picture, ...] = ()
    json: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of one or more model calls.

    `input_tokens` counts the whole prompt, including the cached part. `cached_tokens` is the part
    served from the provider's cache in the *latest* call: each call reports the same prefix again,
    so sums are meaningless. `cost` is in US dollars, None if no price is known. `estimated`: the
    provider did not count the tokens, and the estimate excludes tools.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """The tokens that budgets count."""
        return self.input_tokens + self.output_tokens

    def __add__(self, later: "Usage") -> "Usage":
        costs = [cost for cost in (self.cost, later.cost) if cost is not None]
        return Usage(
            self.input_tokens + later.input_tokens,
            self.output_tokens + later.output_tokens,
            later.cached_tokens,
            sum(costs) if costs else None,
            self.estimated or later.estimated,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's complete answer to one request. `reasoning` is kept separate from `text`.

    `finish_reason` is `stop`, `tool_calls`, `length`, `content_filter`, `malformed_call` if the
    provider could not parse a call, or `incomplete` if it gave no reason or one that means a fault
    of its own. For an incomplete answer with an unknown reason it is the provider's own word,
    quoted.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    finish_reason: str = "stop"
    signed: Signed = ()


def without_forgotten(text: str) -> str:
    """Return the text without `FORGOTTEN`, and without the rest of its sentence if that is too
    short to state anything by itself."""
    if FORGOTTEN not in text:
        return text
    lines = [(line, _line_without_forgotten(line)) for line in text.split("\n")]
    return "\n".join(left for line, left in lines if left or not line.strip()).strip()


def _line_without_forgotten(line: str) -> str:
    if FORGOTTEN not in line:
        return line
    parts: list[str] = []
    for sentence in _SENTENCE.split(line):
        if FORGOTTEN in sentence:
            rest = sentence.split(FORGOTTEN)
            parts += [part.strip(" ,;:–—-") for part in rest if len(part.split()) >= STATING]
        else:
            parts.append(sentence)
    return " ".join(parts).strip()


_CHEAP = b"abcdefghijklmnopqrstuvwxyz \n"
_DIGITS = b"0123456789"


def request_tokens(text: str) -> int:
    """Estimate the tokens of any text in a request: one for 4 lower-case letters or spaces, one for
    a digit, and one for 2 other bytes (a Chinese character has three)."""
    data = text.encode("utf-8", "replace")
    dear = data.translate(None, _CHEAP)
    digits = len(dear) - len(dear.translate(None, _DIGITS))
    return -(-(len(data) + len(dear) + 2 * digits) // 4)


def estimate_tokens(text: str) -> int:
    """Estimate tokens as ceil(characters / 4), OpenAI's rule of thumb for English."""
    return -(-len(text) // 4)
