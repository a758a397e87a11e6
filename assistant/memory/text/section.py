"""What stands above a place in a file: its headings, and the day that they name. Pure."""

import json
from dataclasses import dataclass

from assistant.memory.text.times.dates import heading_date


@dataclass(frozen=True, slots=True)
class Section:
    """The headings above a unit, outermost first, and the date of the nearest dated one."""

    levels: tuple[int, ...] = ()
    path: tuple[str, ...] = ()
    dates: tuple[str | None, ...] = ()

    @property
    def date(self) -> str | None:
        return next((date for date in reversed(self.dates) if date), None)

    def under(self, level: int, title: str) -> "Section":
        """The section that a heading opens."""
        keep = sum(1 for _ in filter(lambda above: above < level, self.levels))
        return Section(
            (*self.levels[:keep], level),
            (*self.path[:keep], title),
            (*self.dates[:keep], heading_date(title)),
        )

    def written(self) -> str:
        """The section as a line of text, equal for equal ones."""
        return json.dumps([self.levels, self.path, self.dates])


def section_of(written: str) -> Section:
    """The section that was written so."""
    return Section(*map(tuple, json.loads(written)))
