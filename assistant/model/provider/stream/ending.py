"""Why an answer ended, in one vocabulary: providers and servers have some forty words for it."""

ENDED = frozenset({"stop", "tool_calls"})
"""The answer came to its own end."""
TOO_LONG = "too_long"
"""The answer was cut here: it had no end."""
MALFORMED = "malformed_call"
"""The model made a call that its provider could not read, and did not pass on."""

WORDS = {
    "length": ("length", "max_tokens", "model_length", "max_output_tokens", "compaction"),
    "content_filter": (
        *("content_filter", "content_filtered", "sensitive", "refusal", "safety", "recitation"),
        *("blocklist", "prohibited_content", "spii", "guardrail_intervened", "error_toxic"),
        *("language", "other", "image_safety", "image_prohibited_content", "no_image"),
    ),
    "tool_calls": ("tool_calls", "tool_use", "function_call"),
    MALFORMED: (
        *("malformed_function_call", "malformed_response", "unexpected_tool_call"),
        *("too_many_tool_calls", "missing_thought_signature"),
    ),
    "incomplete": (
        *("error", "network_error", "insufficient_system_resource", "abort", "aborted", "timeout"),
        *("cancelled", "engine_overloaded"),
    ),
}
"""What providers say where the answer did not simply end; any other word says that it did."""
_MEANING = {word: meaning for meaning, words in WORDS.items() for word in words}


def ending(reason: str | None) -> str:
    """The provider's word as `Reply.finish_reason` has it. None: the stream broke off."""
    return _MEANING.get(reason.lower(), "stop") if reason else "incomplete"
