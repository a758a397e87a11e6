"""The year as short chats: each is read when it is over, and asked about in the next."""

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from assistant.agent.capture.reading import Reading, capture
from assistant.agent.context_budget import ContextBudget
from assistant.conversation import Conversation
from assistant.memory.base import Keeper, Query
from assistant.memory.embedding.embedder import Embedder
from assistant.memory.local import LocalMemory
from assistant.memory.text.markdown import plain
from assistant.session.history import group
from assistant.session.transcript import Transcript
from assistant.settings.tree import Settings
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.support.scripted import ScriptedModel
from tests.writes.people import Talker
from tests.writes.world import DAYS, Said, World
from tests.writes.year import WINDOW, Clock, Figures, figures, messages, take

TURNS = (1, 4)
"""The fewest and the most turns of a chat."""
RESERVE = 1_000
"""Tokens of the window that are kept for the answer."""


@dataclass(frozen=True, slots=True)
class Chats:
    """What came of them. `found` of the `said` facts were recalled in the chat after; `requests`
    were made to read them."""

    chats: int
    said: int
    found: int
    requests: int
    year: Figures

    @property
    def recallable(self) -> float:
        """The share of what was said that the next chat recalls."""
        return self.found / max(1, self.said)


def short_chats(world: World, seed: int = 1) -> Iterator[tuple[int, list[str]]]:
    """The year's messages in chats of a few turns, each with its day."""
    chance = random.Random(seed)
    for day in range(DAYS):
        left = list(messages(world, day))
        while left:
            turns = chance.randint(*TURNS)
            yield day, left[:turns]
            left = left[turns:]


def live_in_chats(world: World, place: Workspace, embedder: Embedder) -> Chats:
    """Go through the year chat by chat, and look at what each leaves for the next."""
    clock, talker = Clock(world.day(0)), Talker(world)
    told = {each.text: each for each in world.said}
    said = found = asked = number = 0
    with closing(LocalMemory(place, Settings(), embedder, today=clock.date)) as memory:
        for number, (day, turns) in enumerate(short_chats(world), start=1):
            clock.today = world.day(day)
            record = Transcript(f"chat-{number}", place.sessions / f"chat-{number}.jsonl")
            model = ScriptedModel(respond=talker, context_window=WINDOW)
            talk = Conversation(place, model, memory, Toolbox([]), record, clock=clock.now)
            for message in turns:
                take(talk, message)
            answers = len(model.requests)
            window = ContextBudget(WINDOW, RESERVE)
            for _ in capture(Reading(record, memory, model, window, str), group(record.entries)):
                pass
            asked += len(model.requests) - answers
            record.close()
            memory.upkeep()
            stated = [each for text, each in told.items() if any(text in turn for turn in turns)]
            said += len(stated)
            found += sum(_is_recalled(world, memory, each) for each in stated)
        return Chats(number, said, found, asked, figures(world, memory, place, talker))


def _is_recalled(world: World, memory: Keeper, fact: Said) -> bool:
    """Whether memory finds it by another wording of it."""
    wordings = world.wordings[fact.meaning]
    other = wordings[(wordings.index(fact.text.removesuffix(".")) + 1) % len(wordings)]
    passages = memory.recall(Query(other)).passages
    return fact.meaning in {world.read(plain(each.text)) for each in passages}
