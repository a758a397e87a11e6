"""The few passages that are relevant to a coding agent's prompt.

Most prompts are about code, and most of memory is not. A prompt about code therefore gets the
passages about the same of it ("what does our build use?"), and not the owner's blood type for "Fix
the type error".
"""

import re
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from assistant.agent.memory_text import framed
from assistant.integrations.visible import QUERY_LENGTH, VisibleFiles
from assistant.memory.base import CLEAR, OF_BEST, Passage, Query
from assistant.memory.open import open_memory
from assistant.model.smalltalk import small_talk
from assistant.tables import beside, patterns
from assistant.workspace.folder import Workspace

MOST_PASSAGES = 5
MOST_CHARACTERS = 10_000
"""Characters of a hook's answer that programs accept."""
UNASKED = 0.32
"""The least score for a prompt that is neither about code nor a question, nor of the owner: "make
it faster" has 0.23, "the address form needs street and city" 0.3."""
RE = patterns(beside(__file__))
COMMON, STRICT, EVERYDAY, TOPICS = (
    frozenset(part.partition("\n")[2].split())
    for part in Path(__file__).with_name("coding_words.txt").read_text("ascii").split("# ")[1:]
)
"""Stop words, words of code (some are in other prompts too), and those that say about which."""
CODING = STRICT | EVERYDAY


def relevant_passages(
    workspace: Workspace,
    raw: Mapping[str, Any],
    prompt: str,
    known: Set[str] = frozenset(),
    directory: Path | None = None,
) -> tuple[str, list[str]]:
    """The relevant passages, quoted, and their ids; empty for small talk or a command.

    `known` are the ids of passages that the conversation has already received; the program works
    in `directory`.
    """
    files = VisibleFiles(workspace, directory)
    query = prompt.strip()[:QUERY_LENGTH]
    if not query or query.startswith(("/", "!")) or small_talk(query) or not files.is_open:
        return "", []
    recall = open_memory(workspace, dict(raw)).recall(Query(query, turn=True))
    passages = relevant(query, files.shown(recall.passages))
    chosen = [passage for passage in passages if passage.id not in known]
    while chosen:
        text = framed(chosen)
        if len(text) <= MOST_CHARACTERS:
            return text, [passage.id for passage in chosen]
        chosen.pop()
    return "", []


def relevant(prompt: str, passages: Sequence[Passage]) -> list[Passage]:
    """The passages, best first, that are relevant."""
    words = _words(prompt)
    if not passages or not words:
        return []
    personal = bool(RE["personal"].search(prompt))
    asks = personal or bool(RE["asks"].search(prompt))
    telling = STRICT | TOPICS if asks else CODING | TOPICS
    if not (RE["code"].search(prompt) or any(_in(telling, word) for word in words)):
        least = CLEAR if asks else UNASKED
        return [passage for passage in passages[:MOST_PASSAGES] if passage.score >= least]
    least = OF_BEST * passages[0].score
    strong = [passage for passage in passages if passage.score >= least]
    return [each for each in strong if _shares_topic(words, each, personal)][:MOST_PASSAGES]


def _shares_topic(words: Set[str], passage: Passage, personal: bool) -> bool:
    """Whether a passage shares a topic with the words of a prompt about code, which may be
    `personal`. One shared word is enough if the passage is about code, too."""
    text = " ".join((*passage.heading, passage.plain))
    own = _words(text)
    shared = {word for word in words if any(_same(word, other) for other in own)}
    has_topic = any(not _in(CODING, word) for word in shared)
    if any(_in(TOPICS, word) for word in own):
        return has_topic
    return has_topic and len(shared) > 1 and (personal or not RE["personal"].search(text))


def _words(text: str) -> set[str]:
    """The words of a text without stop words."""
    words = {word.lower() for word in re.findall(r"\b[^\W\d_]{2,}\b", text)}
    return {word for word in words if not _in(COMMON, word)}


def _in(words: Set[str], word: str) -> bool:
    """Whether a word or its stem is among these."""
    return word in words or any(
        word.endswith(end) and (word[: -len(end)] in words or f"{word[: -len(end)]}e" in words)
        for end in ("s", "es", "ed", "ing", "er", "ning", "ting")
    )


def _same(word: str, other: str) -> bool:
    """Whether two words are forms of one, as "deploys" and "deployment"."""
    shorter = min(len(word), len(other))
    return word == other or (
        shorter >= 4 and word[: max(4, shorter - 2)] == other[: max(4, shorter - 2)]
    )
