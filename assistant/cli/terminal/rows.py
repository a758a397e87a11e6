"""A text that is not ours as rows of a screen: behind a bar, with nothing cut or hidden. Pure."""

from collections.abc import Iterator

from rich.cells import cell_len

from assistant.display import revealed

BAR, BAR_AGAIN = "│ ", "┆ "
"""Before each line of a text, and before what of it did not fit the line."""
LEAST_WIDTH = 10


def barred(text: str, columns: int) -> Iterator[tuple[str, str]]:
    """Each row with its bar, in so many columns, and the line of the text that it is of."""
    room = max(LEAST_WIDTH, columns - cell_len(BAR) - 1)
    for line in text.split("\n"):
        first, *rest = wrapped(revealed(line), room)
        yield f"{BAR}{first}", line
        yield from ((f"{BAR_AGAIN}{row}", line) for row in rest)


def wrapped(text: str, columns: int) -> list[str]:
    """The text in rows of at most so many columns; joined they are the text."""
    rows, row, width = [], "", 0
    for char in text:
        if width + cell_len(char) > columns:
            rows.append(row)
            row, width = "", 0
        row, width = row + char, width + cell_len(char)
    return [*rows, row]
