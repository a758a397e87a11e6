"""Messages that hold all it takes to answer them: a sum, a measure to convert, a text to translate.

Memory is not asked for them, whatever in it has the same numbers.
"""

import re

LONGEST = 400
_QUANTITY = r"[-+]?\d[\d.,]*"
_OPERATION = (
    r"(?:[+*×÷^]|[-−/x](?=\s)|plus|minus|times|divided by|to the power of|mod|percent of|% of)"
)
_SUM = re.compile(
    rf"(?:what(?:'s|’s| is| are)|how much is|calculate|compute|solve)?\s*(?:the )?"
    rf"(?:{_QUANTITY}(?:\s*{_OPERATION}\s*{_QUANTITY})+|square root of {_QUANTITY}"
    rf"|{_QUANTITY} squared|{_QUANTITY}/{_QUANTITY} as a (?:decimal|percentage)"
    rf"|sum of (?:all )?(?:the )?numbers from {_QUANTITY} to {_QUANTITY})\s*[=?.]*",
    re.IGNORECASE,
)
_CONVERSION = re.compile(
    rf"(?:convert\s+{_QUANTITY}\s*\S+(?: \w+)? (?:to|into|in) \S+"
    rf"|how (?:many|much) \w+ (?:are|is)(?: there)?(?: in)? {_QUANTITY} \w+"
    rf"|what(?:'s|’s| is) {_QUANTITY}\s*\w+ in \w+)\s*[?.]*",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"(?:please )?(?:translate|correct|proofread|rephrase|reword|shorten|summari[sz]e|spell"
    r"|make this|count the)\b[^\"“«„]{0,60}[\"“«„].+[\"”»“]\s*(?:to \w+|into \w+|in \w+)?\s*[?.]*",
    re.IGNORECASE | re.DOTALL,
)


def is_self_contained(text: str) -> bool:
    """Whether nothing that is remembered could change the answer."""
    text = text.strip()
    if len(text) > LONGEST:
        return False
    return any(form.fullmatch(text) for form in (_SUM, _CONVERSION, _GIVEN))
