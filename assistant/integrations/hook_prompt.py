"""At a prompt of a coding agent: the few passages that bear on it, cited; nothing if none does.

Most prompts are about code, and most of memory is not. So in such a prompt each passage needs
evidence of its own: words in common that say what it is about. "Fix the type error" is no reason
to tell the owner's blood type.
"""

import re
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from assistant.agent.passages import FRAMING, entries
from assistant.integrations.shelf import QUERY_LENGTH, Shelf
from assistant.memory.base import Passage, Query
from assistant.memory.open import open_memory
from assistant.model.smalltalk import small_talk
from assistant.workspace.folder import Workspace

MOST_PASSAGES = 5
MOST_CHARACTERS = 10_000
"""What a program takes in of a hook's answer."""
OF_THE_BEST = 0.5
"""The share of the best passage's score that another must have."""
CODE = re.compile(
    r"`|\w\(|[\w.-]/[\w.-]|\w_\w|::|=>|->|\b[a-z]+[A-Z]\w|\b\w+\.(?:py|js|ts|tsx|rs|go|c|h|cpp|java|rb"
    r"|md|json|ya?ml|toml|sh|sql|css|html|lock|cfg|ini|txt)\b"
)
"""What only stands in a text about code: calls, paths, names with joints."""
ASKS = re.compile(
    r"\b(?:who|whom|whose|when|where|which day|what(?:'s| is| are| was| did| do| does)|my|mine|our"
    r"|remind|remember|wer|wen|wem|wann|wo|mein\w*|unser\w*)\b",
    re.IGNORECASE,
)
"""A question that memory may answer, or about what is the owner's."""
COMMON, CODING = (
    frozenset(part.partition("\n")[2].split())
    for part in Path(__file__).with_name("coding_words.txt").read_text("ascii").split("# ")[1:]
)
"""Words that say nothing, and those that say that a prompt is about code and not about which."""
LONG_WORD = 5
"""Letters from which one word in common is evidence; of shorter ones it takes two."""


def worth_knowing(
    workspace: Workspace, raw: Mapping[str, Any], prompt: str, told: Set[str] = frozenset()
) -> tuple[str, list[str]]:
    """What memory holds on a prompt, quoted, and the ids of those passages.

    Empty for small talk, a command, or nothing. `told` are the ids of passages that the
    conversation was told before.
    """
    shelf = Shelf(workspace)
    asked = prompt.strip()[:QUERY_LENGTH]
    if not asked or asked.startswith(("/", "!")) or small_talk(asked) or not shelf.is_open:
        return "", []
    found = open_memory(workspace, dict(raw)).recall(Query(asked, turn=True))
    bearing = bearing_on(asked, shelf.shown(found.passages), weak=found.weak)
    chosen = [passage for passage in bearing if passage.id not in told]
    while chosen:
        text = f"{FRAMING}\n\n{entries(chosen)}"
        if len(text) <= MOST_CHARACTERS:
            return text, [passage.id for passage in chosen]
        chosen.pop()
    return "", []


def bearing_on(prompt: str, passages: Sequence[Passage], *, weak: bool) -> list[Passage]:
    """The passages, best first, that bear on a prompt; if `weak`, none stands out to recall."""
    if not passages:
        return []
    words = _words(prompt)
    least = OF_THE_BEST * passages[0].score
    strong = [passage for passage in passages if passage.score >= least]
    coding = CODE.search(prompt) or any(_in(CODING, word) for word in words)
    if weak or coding or not ASKS.search(prompt):
        telling = {word for word in words if not _in(CODING, word)}
        strong = [passage for passage in strong if _bears(telling, passage)]
    return strong[:MOST_PASSAGES]


def _bears(words: Set[str], passage: Passage) -> bool:
    """Whether a passage has a long word of the prompt, a name, or two short ones."""
    text = " ".join((*passage.heading, passage.plain))
    names = {word.lower() for word in re.findall(r"(?<![.!?] )(?<!^)\b[A-Z]\w+", text)}
    own = _words(text)
    shared = [word for word in words if any(_same(word, other) for other in own)]
    return len(shared) > 1 or any(len(word) >= LONG_WORD or word in names for word in shared)


def _words(text: str) -> set[str]:
    """The words of a text that say something."""
    words = {word.lower() for word in re.findall(r"[^\W\d_]{3,}", text)}
    return {word for word in words if not _in(COMMON, word)}


def _in(words: Set[str], word: str) -> bool:
    """Whether a word, or what it is a form of, is among these."""
    return word in words or any(
        word.endswith(end) and (word[: -len(end)] in words or f"{word[: -len(end)]}e" in words)
        for end in ("s", "es", "ed", "ing", "er", "ning", "ting")
    )


def _same(word: str, other: str) -> bool:
    """Whether two words are forms of one: "deploys" and "deployment"."""
    shorter = min(len(word), len(other))
    return word == other or (
        shorter >= 4 and word[: max(4, shorter - 2)] == other[: max(4, shorter - 2)]
    )
