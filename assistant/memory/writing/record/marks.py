"""The marks of a text's lines. Those of a text much like the last one cost what is new in it."""

import threading
from array import array

from assistant.memory.text import alike
from assistant.memory.writing.record.checkpoint import mark


class Marks:
    """Makes them; remembers those of the last text. Thread-safe."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._text = ""
        self._marks = array("q", [mark("")])

    def of(self, text: str) -> "array[int]":
        """The mark of each line of a text with line feeds, white space around it left out."""
        with self._turn:
            old, known = self._text, self._marks
            head = self._begin(old, text)
            tail = self._end(old, text, min(len(old), len(text)) - head)
            above, below = text.count("\n", 0, head), text.count("\n", len(text) - tail)
            new = text[head : len(text) - tail]
            fresh = array("q", (mark(line.strip()) for line in new.split("\n")))
            self._marks = known[:above] + fresh + known[len(known) - below :]
            self._text = text
            return self._marks

    def _begin(self, one: str, other: str) -> int:
        """How many characters the whole lines have that two texts begin with alike."""
        return other.rfind("\n", 0, alike.head(one, other)) + 1

    def _end(self, one: str, other: str, most: int) -> int:
        """How many characters, `most` at the most, the whole lines have that two texts end with."""
        size = alike.tail(one, other, most)
        at = other.find("\n", len(other) - size)
        return len(other) - at if size and at >= 0 else 0
