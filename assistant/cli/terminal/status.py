"""The line under the prompt: which model, how full its window, what it cost, what was recalled."""

from assistant.app.chat import Chat

THOUSAND = 1000


def status(chat: Chat, seconds: float | None = None, recalled: int = 0) -> list[str]:
    """The facts, most important first; `seconds` is what the last turn took."""
    talk = chat.conversation
    facts = [talk.model.name.rpartition("/")[2]]
    if talk.filled is not None:
        used, window = talk.filled
        facts.append(f"{_short(used)} of {_short(window)} tokens ({used / window:.0%})")
    if talk.usage.cost:
        facts.append(f"${talk.usage.cost:.4f}")
    if seconds is not None:
        facts.append(f"{seconds:.0f} s")
    if recalled:
        facts.append(f"{recalled} recalled")
    return facts


def _short(tokens: int) -> str:
    return f"{tokens / THOUSAND:.1f}k" if tokens >= THOUSAND else str(tokens)
