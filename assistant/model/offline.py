"""The offline responder: a `ChatModel` without a language model.

It answers by quoting the passages that recall put between `[MEMORY]` and `[/MEMORY]`, each with its
location, and turns "remember that …" and "remind me …" into calls of the tools `remember` and
`remind`. The same request always gets the same answer.
"""

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import datetime

from assistant.events import TextDelta
from assistant.messages import Message, Reply, ToolCall
from assistant.model.base import Piece, ToolSpec
from assistant.model.catalogue import OLLAMA_EXAMPLE, Offer, offers
from assistant.model.smalltalk import (
    ANSWERS,
    ASKING,
    BETWEEN,
    REMINDING,
    REQUESTS,
    THAT,
    TO,
    small_talk,
)

MOST_QUOTED = 5
"""Maximum number of passages that a reply quotes."""
ORDERS = ("AGENTS.md:", "HEARTBEAT.md:")
"""Files of instructions, quoted only if there is no fact."""

_BEGINNING = (
    rf"[¿\s]*(?:(?:please|bitte|por favor),?\s+|[请請])?(?P<request>(?:{REQUESTS})\b[^.?!:]*?\b)?"
)
ASKED = re.compile(
    rf"{_BEGINNING}"
    rf"(?:{ASKING}|note)(?:[\s,]+(?:{BETWEEN})\b)*(?:[\s,]+(?:{THAT})\b[\s:]*|\s*[:：])"
    r"\s*(?P<fact>.*)",
    re.IGNORECASE | re.DOTALL,
)
STATING = re.compile(
    r"[:：]|\bda(?:ss|ß)\b"
    r"|\b(?:that|que|che|dat) "
    r"(?:(?:i|my|we|our|he|his|she|her|it|they|their|the|there)\b|\d|(?-i:[A-Z]))",
    re.IGNORECASE,
)
"""What shows that a question gives a fact, unlike "can you remember that restaurant?\""""
THANKS = re.compile(r"\s*[?？]+(?:\s+\w+[.!]*)?$")
"""The end of such a question, perhaps with a word of thanks."""
REMEMBER = re.compile(
    r"\s*(?:(?:please,?\s+)?(?:remember|don['’]t forget)|please,?\s+note)\s+(?P<fact>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
REMIND = re.compile(
    rf"{_BEGINNING}(?:{REMINDING})(?:[\s,:]+|(?<=我))(?P<reminder>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
TO_DO = re.compile(rf"(?:{TO})\b", re.IGNORECASE)
BETWEEN_PARAGRAPHS = re.compile(r"\n\s*\n")
TO_REMIND = (
    "No reminder was set. To set one, begin with its time in the shell: "
    "`assistant remind tomorrow at 9 call the bank`."
)
FORGET = re.compile(r"\s*(?:please,?\s+)?forget\b\s*(?:that\b|:|about\b)?\s*(.*)", re.I | re.DOTALL)
ABOUT_ITSELF = re.compile(
    r"\s*(help|(who|what) are you)\b|.*\b(connect|configure|set up|choose|use)\b.*\bmodel\b",
    re.IGNORECASE,
)
BLOCK = re.compile(r"^\[MEMORY\]\n(.*?)^\[/MEMORY\]", re.DOTALL | re.MULTILINE)
ENTRY = re.compile(
    r"^- \((?P<place>[^\n]*?:\d+)(?:, (?P<date>[\d-]+))?\) (?P<text>.*(?:\n  \| .*)*)", re.MULTILINE
)
PLACE = re.compile(r"\S+:\d+")
BRIEFED = re.compile(r"\A\[BRIEFING\]\n.*?^\[/BRIEFING\]\s*", re.DOTALL | re.MULTILINE)
"""The program's briefing at the start of the latest message."""
NOT_ASKED = "Memory could not be searched"
"""The prompt's text if recall failed, instead of the memory block."""
WEAK = "Nothing in memory stands out for this message"
"""The prompt's text for passages that are only the closest."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A passage as the prompt cites it."""

    place: str
    text: str
    date: str | None = None

    @property
    def line(self) -> str:
        """The passage as a list item, followed by its location and date."""
        text = self.text.replace("\n  | ", "\n  ")
        return f"- {text} ({self.place}{f', {self.date}' if self.date else ''})"


class OfflineModel:
    """Quotes memory, stores facts, and states that it is not a language model.

    `find_offers` looks for models that could be connected; it is called when the responder
    introduces itself, at the start of a session or on request.
    """

    name = "offline"
    context_window: int | None = None
    extracts = False
    sees = False
    tools_in_prompt = False

    def __init__(self, find_offers: Callable[[], list[Offer]] = offers) -> None:
        self._find_offers = find_offers

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> Generator[Piece, None, None]:
        """Answer at once, from the request alone."""
        reply = self._answer(messages, {tool.name for tool in tools})
        if reply.text:
            yield TextDelta(reply.text)
        yield reply

    def _answer(self, messages: Sequence[Message], tools: set[str]) -> Reply:
        last = messages[-1]
        if last.role == "tool":
            calls = [call for message in messages for call in message.tool_calls]
            return Reply(_confirmation(last.content, calls[-1].name))
        request = BRIEFED.sub("", last.content, count=1)
        name, given = "remember", {"fact": (fact := fact_to_remember(request))}
        if reminder := reminder_to_set(request):
            name, given = "remind", {"when": reminder, "what": ""}
        if (fact or reminder) and name in tools:
            number = sum(len(message.tool_calls) for message in messages) + 1
            call = ToolCall(f"call_{number}", name, given)
            return Reply(tool_calls=(call,), finish_reason="tool_calls")
        answer = self._say(request, fact, messages)
        first = not any(message.role == "assistant" for message in messages)
        return Reply(f"{answer}\n\n{self._introduction()}" if first else answer)

    def _say(self, request: str, fact: str, messages: Sequence[Message]) -> str:
        if fact:
            return "Nothing was kept: memory cannot be written in this conversation."
        if forget := FORGET.fullmatch(request):
            what = " ".join(forget[1].split()).strip(" .!\"'") or "…"
            return f'To take something out of memory, run `assistant forget "{what}"`.'
        if kind := small_talk(request):
            return ANSWERS[kind]
        if ABOUT_ITSELF.match(request):
            introduced = any(message.role == "assistant" for message in messages)
            return self._introduction() if introduced else "Hello."
        briefed = BRIEFED.match(messages[-1].content)
        system_texts = [message.content for message in messages if message.role == "system"]
        recalled = _recalled([*system_texts, briefed[0]] if briefed else system_texts)
        return f"{recalled}\n\n{TO_REMIND}" if seeks_reminder(request) else recalled

    def _introduction(self) -> str:
        offered = self._find_offers()
        lines = [f"- {offer.reason}: `{offer.command}`" for offer in offered]
        lines = lines or [f"- for example: `assistant config set model.name {OLLAMA_EXAMPLE}`"]
        return (
            "I am the offline responder, not a language model: I quote what memory holds, and "
            "keep what you ask me to (“remember that …”). To connect a model:\n\n"
            + "\n".join(lines)
        )


def fact_to_remember(text: str) -> str:
    """Return the fact in "remember that …", "keep in mind: …", "can you remember that …?" or
    "remember …"; empty if there is none.

    Another question ("Remember our trip?") contains none; "remember to …" keeps its verb.
    """
    if asked := ASKED.fullmatch(text):
        fact = str(asked["fact"]).strip()
        if not asked["request"]:
            return fact
        return THANKS.sub("", fact) if STATING.search(text) else ""
    match = REMEMBER.fullmatch(text)
    fact = str(match["fact"]).strip() if match else ""
    if fact.endswith(("?", "？")):
        return ""
    return f"Remember {fact}" if fact.lower().startswith("to ") else fact


def reminder_to_set(text: str) -> str:
    """Return the time and the text in "remind me tomorrow at 9 to …"; empty if there is none, no
    time begins it, or the verb follows them."""
    match = _reminding(text)
    if not match or match["final"] or not _begins_with_time(words := str(match["reminder"])):
        return ""
    return THANKS.sub("", words) if match["request"] else words


def seeks_reminder(text: str) -> bool:
    """Return whether a text asks to set a reminder, unlike "remind me of Anna's address"."""
    match = _reminding(text)
    return bool(match and (TO_DO.match(match["reminder"]) or _begins_with_time(match["reminder"])))


def _reminding(text: str) -> re.Match[str] | None:
    """Match the first paragraph only: what follows may be someone else's, such as an attachment."""
    return REMIND.fullmatch(BETWEEN_PARAGRAPHS.split(text.strip(), 1)[0])


def _begins_with_time(words: str) -> bool:
    """Return whether words begin with a time, possibly one that `remind` refuses with a cure."""
    from assistant.memory.text.times.wording import moment, schedule

    now = datetime.now()
    once = moment(words, now)
    return bool(once.due or once.cure or schedule(words, now))


def quotes(prompt: str) -> list[Quote]:
    """Return the passages of a prompt's memory block, best first."""
    block = BLOCK.search(prompt)
    if not block:
        return []
    return [
        Quote(entry["place"], entry["text"], entry["date"]) for entry in ENTRY.finditer(block[1])
    ]


def _recalled(prompts: Sequence[str]) -> str:
    passages = [quote for prompt in prompts for quote in quotes(prompt)]
    if passages:
        facts = [quote for quote in passages if not quote.place.startswith(ORDERS)] or passages
        lines = "\n".join(quote.line for quote in facts[:MOST_QUOTED])
        is_weak = any(WEAK in prompt for prompt in prompts)
        nearest = "Nothing in memory matches this closely; these are the nearest"
        return f"{nearest if is_weak else 'Memory holds this'}:\n\n{lines}"
    if any(NOT_ASKED in prompt for prompt in prompts):
        return "Memory could not be searched this time; `assistant doctor` may say why."
    return "Memory holds nothing on this."


def _confirmation(result: str, tool: str) -> str:
    """Rephrase the tool's result for the owner."""
    first, *similar = result.split("\n")
    location = PLACE.search(first)
    if not location:
        return f"{first}\n\n{TO_REMIND}" if tool == "remind" else first
    stored = f"Remembered at {location[0].rstrip('.')}." if first.startswith("Stored") else first
    items = [line for line in similar if line.startswith("- ")]
    if not items:
        return stored
    listed = "\n".join(items)
    return (
        f"{stored} It is close to:\n\n{listed}\n\nIf it replaces one of them, say so with "
        "`assistant remember --replaces FILE:LINE`."
    )
