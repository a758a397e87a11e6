"""Why an answer ended, in one vocabulary: providers and servers have some sixty words for it."""

import re

ENDED = frozenset({"stop", "tool_calls"})
"""The answer came to its own end."""
TOO_LONG = "too_long"
"""The answer was cut here: it had no end."""
MALFORMED = "malformed_call"
"""The model made a call that its provider could not read, and did not pass on."""

MEANINGS = {
    MALFORMED: r"malformed|unexpected_tool_call|too_many_tool_calls|missing_thought_signature",
    "tool_calls": r"tool_calls?$|tool_use$|function_call$",
    "content_filter": r"filter|safety|toxic|sensitive|refusal|recitation|blocklist|prohibited|spii"
    r"|guardrail|language$|other$|_other$|no_image|escalation|model_armor|moderation|policy",
    "incomplete": r"error|abort|cancel|time_?(?:out|_limit)|insufficient|overload|unspecified|fail"
    r"|interrupt|pause_turn|(?:un)?load$|repetition",
    "length": r"length|max_|_max$|limit|context|compaction",
}
"""What the words have in them where the answer did not simply end; the first that fits counts. A
provider's new word is mostly made of known ones. Any other says that it ended."""
_MEANINGS = {meaning: re.compile(words) for meaning, words in MEANINGS.items()}


def ending(reason: str | None) -> str:
    """The provider's word as `Reply.finish_reason` has it. None: the stream broke off."""
    if not reason:
        return "incomplete"
    said = reason.lower()
    return next((meaning for meaning, words in _MEANINGS.items() if words.search(said)), "stop")
