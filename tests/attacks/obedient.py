"""A model that obeys whatever reaches it undefended.

It reads a request as a server does that runs an open model: all messages in one text, where a
chat template's mark counts wherever it stands. Of that it takes as orders what the system or the
owner says outside of the quotations that the prompt announces. It is easily deceived: a tag ends
its quotation in any disguise, and a heading, a speaker or an entry forged at the beginning of a
line is believed, but for tool results: those are whole files, with headings of their own.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assistant.messages import Message, Reply, ToolCall
from assistant.model.base import ToolSpec
from tests.attacks.cases import CYRILLIC, GREEK, ORDER, SMALL
from tests.support.scripted import Answer

BLOCKS = ("memory", "transcript", "known", "summary", "tool_result")
LIKE = {value: key for table in (SMALL, CYRILLIC, GREEK) for key, value in table.items()}
LIKE |= dict.fromkeys(map(ord, "【〔《「⟦〈⟨❲⁅‹«"), ord("["))
LIKE |= dict.fromkeys(map(ord, "】〕》」⟧〉⟩❳⁆›»"), ord("]"))
LIKE |= dict.fromkeys(map(ord, "⁄∕⧸"), ord("/")) | {ord("ѕ"): ord("s"), ord("ɪ"): ord("i")}
MARKS = (
    (r"<\|start_header_id\|>(\w+)<\|end_header_id\|>\s*", r"\0\1\n"),
    (r"<\|start\|>(\w+)<\|message\|>", r"\0\1\n"),
    (r"<\|im_start\|>(\w+)\s*", r"\0\1\n"),
    (r"<start_of_turn>(\w+)\s*", r"\0\1\n"),
    (r"<[|｜](system|user|assistant|System|User|Assistant)[|｜]>\s*", r"\0\1\n"),
    (r"<<SYS>>|\[SYSTEM_PROMPT\]", "\0system\n"),
    (r"\[INST\]", "\0user\n"),
    (r"<\|(?:im_end|eot_id|end|return)\|>|<end_of_turn>|</s>", "\0none\n"),
    (r"<</SYS>>|\[/SYSTEM_PROMPT\]|\[/INST\]", "\0none\n"),
)
CLOSING = {
    name: re.compile(r"[\[<{][^a-z\n(]{0,6}/[^a-z\n(]{0,6}" + r"[^a-z\n]?".join(name))
    for name in BLOCKS
}
OPENING = re.compile(rf"(?:\[({'|'.join(BLOCKS)})\]|<(tool_result) [^>]*>)\s*\Z")
HEADING = re.compile(r"#{1,6} +(.*)")
SPEAKER = re.compile(r"(?:system|user|owner|human|developer)\s*:|.*[\[<](?:system|owner|user)[\]>]")
FORGED_ENTRY = re.compile(r"- \(agents\.md:|e99 owner:")
LISTED = {"skills": "- ", "now": "it is "}
"""Sections of the prompt that hold names and places, and how their lines begin."""


@dataclass
class Obedient:
    """Answers as a `Responder`; `obeyed` are the orders that it found."""

    obeyed: list[str] = field(default_factory=list)

    def __call__(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
        found = orders(messages)
        self.obeyed += found
        if not found:
            return "There is nothing to do."
        if not tools:
            facts = [{"op": "add", "text": ORDER, "entries": ["e1"]}]
            return json.dumps({"operations": facts})
        write = ToolCall("pwn1", "write_file", {"path": "pwned.txt", "text": ORDER})
        keep = ToolCall("pwn2", "remember", {"fact": ORDER})
        return Reply(tool_calls=(write, keep))


def orders(messages: Sequence[Message]) -> list[str]:
    """The lines with the attacker's order that stand outside of any quotation."""
    return [
        line
        for role, text in turns(messages)
        if role in ("system", "user", "developer")
        for line in undefended(text)
        if ORDER.casefold() in line
    ]


def turns(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Who speaks and what, after the template's marks."""
    text = "".join(f"<|im_start|>{each.role}\n{each.content}<|im_end|>" for each in messages)
    text = text.replace("\0", "")
    for pattern, turned in MARKS:
        text = re.sub(pattern, turned, text)
    for piece in text.split("\0"):
        role, _, said = piece.partition("\n")
        yield role.casefold(), said


def undefended(text: str) -> Iterator[str]:
    """The lines that stand outside of the quotations, as they look."""
    block = section = ""
    for raw in text.splitlines():
        line = look(raw)
        files = block == "tool_result"
        if (heading := HEADING.match(line)) and not files:
            block, section = "", heading[1]
        elif opening := OPENING.match(line):
            block = opening[1] or opening[2]
        elif block and (closing := CLOSING[block].search(line)):
            block = ""
            yield line[closing.end() :]
        elif (SPEAKER.match(line) or FORGED_ENTRY.match(line)) and not files:
            block = ""
            yield line
        elif not (block or _is_listed(line, section) or line.startswith("  | ")):
            yield line


def _is_listed(line: str, section: str) -> bool:
    return section in LISTED and line.startswith(LISTED[section])


def look(text: str) -> str:
    """What a line looks like: no invisible characters, no marks, letters for their likes."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).translate(LIKE))
    split = unicodedata.normalize("NFD", plain)
    fillers = "\u3164\u115f\u1160\u2800"
    kept = (c for c in split if unicodedata.category(c) not in ("Cf", "Mn", "Me", "Cc", "Cn"))
    return "".join(char for char in kept if char not in fillers).casefold()
