"""Characters that a stream cuts in two: UTF-16's halves, which no file takes. Pure."""

import re
from dataclasses import dataclass, field

SURROGATE = re.compile("[\ud800-\udfff]")


def unpaired(text: str) -> bool:
    """Whether there are halves of characters in it."""
    return SURROGATE.search(text) is not None


def mend(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced."""
    if not unpaired(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@dataclass(slots=True)
class GrowingText:
    """A text that grows; a character cut in two is held back until its other half is there."""

    parts: list[str] = field(default_factory=list)
    held: str = ""

    def add(self, piece: str) -> str:
        """Take a piece in; returns what can be shown of it."""
        text = self.held + piece
        self.held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return self._keep(mend(text[: len(text) - len(self.held)]))

    def flush(self) -> str:
        """What was held back."""
        held, self.held = self.held, ""
        return self._keep(mend(held))

    @property
    def whole(self) -> str:
        """The text so far."""
        return "".join(self.parts)

    def _keep(self, text: str) -> str:
        if text:
            self.parts.append(text)
        return text
