"""The forms by which secrets are known: tokens by their own (`tokens.txt`), others by where they
stand (`forms.toml`).

The table of tokens is ours because detect-secrets, the library for it, scans files for a report and
does not rewrite text.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from assistant.secrets.detection.grades import Grade, grade

Span = tuple[int, int, str]
"""A secret's first character, its end, and its kind. An empty one at the end of the text says that
more of it is needed to tell."""

LINE = 200
"""Characters before a mark in which its command is looked for."""
WORD = r"\w"
_TOKEN_CHARACTERS = {
    "<alnum>": "[A-Za-z0-9]",
    "<word>": r"[\w-]",
    "<hex>": "[0-9a-f]",
    "<base64>": "[A-Za-z0-9+/]",
    "<space>": "[ ]",
}
_PARTS = {
    "<value>": r"(?:'([^'\n]{4,200})'|\"([^\"\n$]{4,200})\"|([^\s\"'`$-][^\s\"'`]{3,200}))",
    "<code>": (
        r"(?:(?=[A-Z]{0,11}\d)[A-Z0-9]{4,12}|[A-Z0-9]{4,12}(?=[-.]))(?:[-.][A-Z0-9]{4,12}){0,3}"
        r"(?![A-Za-z0-9])"
    ),
}
"""A value of a command line; a backup code, which has a digit in it or a dash."""
_MADE_UP = re.compile(r"(\w)\1{7}|EXAMPLE")
_compiled = lru_cache(None)(re.compile)  # the first time it is needed: most never are


@dataclass(frozen=True, slots=True)
class Form:
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
        match = pattern.match(text, start - self.back) if start >= self.back else None
        if not match or not self._follows(text, start):
            return
        if self.is_token and _MADE_UP.search(match[0]):
            return
        for group in range(1, pattern.groups + 1) if pattern.groups else (0,):
            value = match[group]
            if value is not None and (not self.bar or grade(value) >= self.bar):
                yield *match.span(group), self.kind

    def _follows(self, text: str, start: int) -> bool:
        """Whether what must stand before it on its line does."""
        if not self.after:
            return True
        first = max(text.rfind("\n", max(0, start - LINE), start) + 1, start - LINE, 0)
        after = _compiled(self.after, re.IGNORECASE)
        return after.search(text[first : start + 1]) is not None


def _tokens() -> Iterator[Form]:
    for line in _data("tokens.txt").splitlines():
        if line and not line.startswith("#"):
            kind, marks, before, rest = (part.strip() for part in line.split(" | ", 3))
            starts = marks.split(" ")
            before = WORD if before == "-" else before
            pattern = f"(?<!{before})(?:{'|'.join(map(re.escape, starts))}){rest}"
            lowered = tuple(mark.lower() for mark in starts)
            yield Form(kind, lowered, _filled(pattern, _TOKEN_CHARACTERS), is_token=True)


def _places() -> Iterator[Form]:
    for form in tomllib.loads(_data("forms.toml"))["form"]:
        yield Form(
            form["kind"],
            tuple(form["marks"]),
            _filled(form["pattern"], _PARTS),
            form.get("back", 0),
            Grade[form.get("bar", "NOTHING")],
            form.get("after", ""),
        )


def _filled(pattern: str, parts: dict[str, str]) -> str:
    for name, part in parts.items():
        pattern = pattern.replace(name, part)
    return pattern


def _data(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


FORMS = (*_tokens(), *_places())
