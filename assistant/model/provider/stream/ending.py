"""Why an answer ended, in one vocabulary: providers and servers have some sixty words for it."""

import re

ENDED = frozenset({"stop", "tool_calls"})
"""The answer came to its own end."""
TOO_LONG = "too_long"
"""The answer was cut here: it had no end."""
MALFORMED = "malformed_call"
"""The model made a call that its provider could not read, and did not pass on."""

LONGEST = 60
"""Characters that are quoted of a provider's word."""
UNKNOWN = "“"
"""A word that is not known begins with this."""

MEANINGS = {
    MALFORMED: r"malformed|unexpected_tool_call|too_many_tool_calls|missing_thought_signature",
    "tool_calls": r"tool_calls?$|tool_use$|function_call$",
    "content_filter": r"filter|safety|toxic|sensitive|refusal|recitation|blocklist|prohibited|spii"
    r"|guardrail|language$|other$|_other$|no_image|escalation|model_armor|moderation|policy",
    "incomplete": r"error|abort|cancel|incomplete|time_?(?:out|_limit)|insufficient|overload"
    r"|unspecified|fail|interrupt|pause_turn|(?:un)?load$|repetition",
    "length": r"length|max_|_max$|limit|context|compaction",
    "stop": r"stop|eos|end$|end_turn|done|complete|finish|success",
}
"""What the words have in them; the first that fits counts. A provider's new word is mostly made of
known ones. Any other is passed on if the answer lacks something, else it says that it ended."""
_ODD = re.compile(r"[^a-z0-9_.: -]")
_MEANINGS = {meaning: re.compile(words) for meaning, words in MEANINGS.items()}


def ending(reason: str | None) -> str:
    """The provider's word as `Reply.finish_reason` has it; one that is not known is quoted. None:
    the stream broke off."""
    if not reason:
        return "incomplete"
    said = reason.lower()
    known = (meaning for meaning, words in _MEANINGS.items() if words.search(said))
    return next(known, f"{UNKNOWN}{_ODD.sub('', said)[:LONGEST]}”")
