"""AGENTS.md in the prompt: whole while it is short, else what each task calls for.

Procedures compete badly with facts for places: a task seldom says what its procedure does.
"""

from assistant.messages import estimate_tokens

WHOLE_TOKENS = 1_500
"""Up to this AGENTS.md stands whole in the prefix, which providers keep: some 35 procedures."""
PLACES = 4
"""Passages of a longer one that come with each turn, whatever else memory finds."""
FRAMING = """\
These are the owner's procedures. Follow one when it applies to the message, without being asked."""


def whole(text: str) -> str:
    """The procedures as the prefix has them; nothing if they are too long for it."""
    if not text.strip() or estimate_tokens(text) > WHOLE_TOKENS:
        return ""
    return f"{FRAMING}\n\n{text}"
