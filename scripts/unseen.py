"""Write the table of characters that show nothing, after the Unicode that `regex` knows."""

import re
from pathlib import Path

import regex

PLACE = Path(__file__).parents[1] / "assistant" / "characters.py"
TABLE = re.compile(r"IGNORABLE = \(\n.*?^\)\n", re.DOTALL | re.MULTILINE)


def ranges() -> list[tuple[int, int]]:
    """The first and last code point of each run of Default_Ignorable_Code_Point."""
    every = "".join(map(chr, range(0x110000)))
    runs = regex.finditer(r"\p{Default_Ignorable_Code_Point}+", every)
    return [(run.start(), run.end() - 1) for run in runs]


def main() -> None:
    """Replace the table in its module."""
    rows = "".join(f"    (0x{first:X}, 0x{last:X}),\n" for first, last in ranges())
    text = PLACE.read_text(encoding="utf-8")
    PLACE.write_text(TABLE.sub(f"IGNORABLE = (\n{rows})\n", text), encoding="utf-8")


if __name__ == "__main__":
    main()
