"""A form by which a secret is known, or the place where one stands."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from assistant.secrets.detection.grades import Grade, grade

Span = tuple[int, int, str]
"""A secret's first character, its end, and its kind. An empty one at the end of the text says that
more of it is needed to tell."""

LINE = 200
"""Characters before a mark in which its command is looked for."""
_MADE_UP = re.compile(r"(\w)\1{7}|EXAMPLE")
_compiled = lru_cache(None)(re.compile)  # the first time it is needed: most never are


@dataclass(frozen=True, slots=True)
class Format:
    """A form. The groups of `pattern`, if there are any, are the secrets.

    `marks`, in lower case, are what the form is looked for by; `pattern` is matched `back`
    characters before one. What a group holds must be graded `bar` or better, and `after` stand
    before on the same line.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str
    back: int = 0
    bar: Grade = Grade.NOTHING
    after: str = ""
    is_token: bool = False
    """Letters count as they are, and `ghp_xxxxxxxx` is an example."""

    def spans(self, text: str, start: int, end: int) -> Iterator[Span]:
        """The secrets of this form at a mark."""
        pattern = _compiled(self.pattern, 0 if self.is_token else re.IGNORECASE)
        found = pattern.match(text, start - self.back) if start >= self.back else None
        if not found or not self._follows(text, start):
            return
        if self.is_token and _MADE_UP.search(found[0]):
            return
        for group in range(1, pattern.groups + 1) if pattern.groups else (0,):
            said = found[group]
            if said is not None and (not self.bar or grade(said) >= self.bar):
                yield *found.span(group), self.kind

    def _follows(self, text: str, start: int) -> bool:
        """Whether what must stand before it on its line does."""
        if not self.after:
            return True
        first = max(text.rfind("\n", max(0, start - LINE), start) + 1, start - LINE, 0)
        after = _compiled(self.after, re.IGNORECASE)
        return after.search(text[first : start + 1]) is not None
