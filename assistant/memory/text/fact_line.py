"""A line that says a fact, as a list, a pipe or a model gives it. Needs no markdown parser."""

import re

_BULLET = re.compile(r"(?:[-*+•][ \t]+(?=\S))?(?:\[[ xX]\](?:\s+|$))?")
_STRUCK = re.compile(r"~~(?!~)(?:(?!~~).)*~~|~~(?!~).*~~\s*\(superseded\b.*\)", re.DOTALL)
_NO_FACT = re.compile(r"#{1,6}[ \t].*|[-*_=][-*_= ]*|(?:`{3,}|~{3,}).*")


def fact_of_line(line: str) -> str | None:
    """The fact on a line, without its bullet and check box; None if the line is not a current fact
    but a struck-out one, a heading or a rule."""
    text = _BULLET.sub("", line.strip(), count=1).strip()
    return None if not text or is_struck_line(text) or _NO_FACT.fullmatch(text) else text


def is_struck_line(text: str) -> bool:
    """Whether a line is a fact that was struck out as a whole."""
    return text.startswith("~~") and _STRUCK.fullmatch(text) is not None
