"""The two who talk: a model that says what a plausible one would, and what it is careless in."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.messages import Message
from assistant.model.base import ToolSpec
from assistant.model.offline import quotes
from tests.writes.world import Meaning, World

RESTATED = 2
"""Recalled passages that a reply repeats, in other words."""
COPIES = 2
"""Of so many known facts that the owner repeats, one is copied out instead of skipped."""
INVENTS = 9
"""Every so manieth answer tells something nobody said."""
_ENTRY = re.compile(r"^(e\d+) (owner|assistant): (.*(?:\n  \| .*)*)", re.MULTILINE)
_KNOWN = re.compile(r"^(K\d+): - (.*)", re.MULTILINE)
_STANDING = re.compile(r"^- \(:\d+\) (.*)", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])(?<!Dr\.) +")


@dataclass(slots=True)
class Talker:
    """The language model of the year, deterministic. It follows the extraction's instructions
    where the owner is concerned, and not where it listens to itself: what it said after a recall
    it takes for news. `echoes` counts how often."""

    world: World
    echoes: int = 0
    answers: int = 0
    copies: int = 0

    def __call__(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
        head = messages[0].content
        if "long-term memory of an owner" in head:
            return self._extract(messages[-1].content)
        if "You summarise a conversation" in head:
            return "They spoke of this and that."
        return self._reply(messages)

    def _reply(self, messages: Sequence[Message]) -> str:
        if not messages[-1].content.endswith("?"):
            return "Noted."
        self.answers += 1
        shown = [each.text for each in quotes(messages[-1].content)]
        shown = shown or self._standing(messages)
        told = [self._reworded(each) for each in shown[:RESTATED]]
        if self.answers % INVENTS == 0:
            told.append(self._invention(0))
        return " ".join(told) or "I do not know."

    def _standing(self, messages: Sequence[Message]) -> list[str]:
        """What the prompt, in which memory stands whole, says of whom the question names."""
        names = set(re.findall(r"[A-Z]\w+", messages[-1].content)) - {"Where", "What", "Which"}
        stated = _STANDING.findall(messages[0].content)
        return [each for each in stated if names & set(re.findall(r"\w+", each))]

    def _reworded(self, text: str) -> str:
        """A fact in another of its wordings."""
        meaning = self.world.read(text)
        wordings = self.world.wordings.get(meaning, ()) if meaning else ()
        others = [each for each in wordings if each != text.rstrip(".")]
        return f"{others[self.answers % len(others)]}." if others else f"{text.rstrip('.')}."

    def _invention(self, use: int) -> str:
        """A hallucination, always the same one."""
        wordings = ("The owner is allergic to walnuts", "It is walnuts the owner is allergic to")
        meaning = ("owner: allergy", "walnuts")
        self.world.learn(meaning, wordings)
        return f"{wordings[use]}."

    def _extract(self, shown: str) -> str:
        known = {handle: text for handle, text in _KNOWN.findall(shown)}
        states: dict[str, tuple[Meaning, str, str]] = {}
        operations: list[dict[str, object]] = []
        for entry, speaker, said in _ENTRY.findall(shown):
            for sentence in _SENTENCE.split(said.replace("\n  | ", " ")):
                meaning = self.world.read(sentence)
                if meaning is None:
                    continue
                if speaker == "owner":
                    states[meaning[0]] = meaning, entry, sentence
                elif meaning not in (state for state, *_ in states.values()):
                    self.echoes += 1
                    operations.append({"op": "add", "text": sentence, "entries": [entry]})
        operations += [self._operation(*state, known) for state in states.values()]
        return json.dumps({"operations": operations})

    def _operation(
        self, meaning: Meaning, entry: str, quote: str, known: dict[str, str]
    ) -> dict[str, object]:
        """What the instructions ask for, given what is known."""
        source = {"entries": [entry], "quote": quote}
        read = {handle: self.world.read(text) for handle, text in known.items()}
        for handle, there in read.items():
            if there == meaning:
                self.copies += 1
                if self.copies % COPIES == 0:
                    return {"op": "add", "text": known[handle].upper(), **source}
                return {"op": "skip", "which": handle}
        wordings = self.world.wordings[meaning]
        text = wordings[int(entry[1:]) % len(wordings)]
        for handle, there in read.items():
            if there and there[0] == meaning[0]:
                return {"op": "supersede", "which": handle, "text": text, **source}
        return {"op": "add", "text": text, **source}
