"""Writes the table of invisible characters, from the Unicode data of `regex`."""

from pathlib import Path

import regex

PLACE = Path(__file__).parents[1] / "assistant" / "characters.txt"


def ranges() -> list[tuple[int, int]]:
    """Return the first and last code point of each run of Default_Ignorable_Code_Point."""
    every = "".join(map(chr, range(0x110000)))
    runs = regex.finditer(r"\p{Default_Ignorable_Code_Point}+", every)
    return [(run.start(), run.end() - 1) for run in runs]


def main() -> None:
    """Replace the table."""
    rows = "".join(f"{first:X}..{last:X}\n" for first, last in ranges())
    PLACE.write_text(rows, encoding="ascii")


if __name__ == "__main__":
    main()
