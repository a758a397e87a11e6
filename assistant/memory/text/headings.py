"""The owner's headings of a file, for facts of any day, and the topic that a file and its headings
give to a passage. Pure."""

import calendar
import functools
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path, PurePosixPath

from assistant.memory.text.markdown import PARSER, blotted, breaks_in, inline_words
from assistant.memory.text.times.dates import heading_date

PATH = " › "
"""The separator between the headings of a path."""
_HEADING = re.compile(r"#(?<=^#)#{0,5}[ \t][^\r\n]*", re.MULTILINE)
_FILING = frozenset(Path(__file__).with_name("filing.txt").read_text("utf-8").split())
"""Words that describe where something is filed rather than what it is about."""
_CALENDAR = (calendar.month_name, calendar.month_abbr, calendar.day_name, calendar.day_abbr)
_OF_A_DATE = re.compile(
    "|".join(["am", "pm", "at", "on", r".*\d.*", *filter(None, chain(*_CALENDAR))]), re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+")


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
        """Return the section that a heading opens."""
        keep = bisect_left(self.levels, level)
        return Section(
            (*self.levels[:keep], level),
            (*self.path[:keep], title),
            (*self.dates[:keep], heading_date(title)),
        )


TOP = Section()


@dataclass(frozen=True, slots=True)
class OwnersHeading:
    """A heading for facts of any day: its line, and the position of that line."""

    line: str
    start: int


def headings(text: str) -> dict[str, OwnersHeading]:
    """Return the headings of a file by their paths (`People › Lena`), except dated ones, those
    below them, and the file's title."""
    result: dict[str, OwnersHeading] = {}
    section = TOP
    lines = [(line.start(), line[0].strip()) for line in _HEADING.finditer(blotted(text) or "")]
    marks = [line.split(maxsplit=1)[0] for _, line in lines]
    titled = marks[:1] == ["#"] and marks.count("#") == 1
    for start, line in lines[titled:]:
        mark, _, title = line.partition(" ")
        section = section.under(len(mark), title.strip())
        if title.strip() and not any(section.dates):
            result.setdefault(PATH.join(section.path), OwnersHeading(line, start))
    return result


def heading_paths(text: str) -> list[tuple[str, ...]]:
    """Return the headings above each line of a file, outermost first, including its own."""
    section = TOP
    paths: list[tuple[str, ...]] = []
    for token, content in pairwise(PARSER.parse(text)):
        if token.type == "heading_open" and not token.level and token.map:
            paths += [section.path] * (token.map[0] - len(paths))
            section = section.under(int(token.tag[1]), inline_words(content.content).text)
    return paths + [section.path] * (breaks_in(text) + 1 - len(paths))


def innermost(heading: Sequence[str], paths: Collection[str]) -> str:
    """Return the innermost of these `paths` of headings that a passage is under; "" for none."""
    above = (PATH.join(heading[start:]) for start in range(len(heading)))
    return next((path for path in above if path in paths), "")


@functools.lru_cache(256)
def topic_of(source: str, heading: tuple[str, ...]) -> str:
    """Return the topic that file name and headings give to the text below them, without dates and
    words that only file it ("Remembered", "Notes")."""
    titles = [topic for title in heading if (topic := _undated(title)) and _is_topic(topic)]
    in_titles = {word for title in titles for word in _words(title)}
    path = (words for words in path_words(source) if not in_titles.issuperset(_words(words)))
    return PATH.join([*filter(_is_topic, path), *titles])


@functools.lru_cache(256)
def path_words(source: str) -> tuple[str, ...]:
    """Return the words of a source's folders and of its name, each as a phrase."""
    path = PurePosixPath(source)
    return tuple(" ".join(_WORD.findall(part)) for part in (*path.parts[:-1], path.stem))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _is_topic(text: str) -> bool:
    """Return whether it has a word that is neither a filing word nor a number."""
    return any(not (word in _FILING or word.isdigit()) for word in _words(text))


def _undated(title: str) -> str:
    """Return a heading without the day it names."""
    if heading_date(title) is None:
        return title
    words = ((word, word.strip(".,:;()–—-").casefold()) for word in title.split())
    kept = (word for word, bare in words if bare and not _OF_A_DATE.fullmatch(bare))
    return " ".join(kept).strip(" -–—:,")


_PROJECT = re.compile(r"(?:.+ › )?Project: (.+?)(?: -- \d{4}-\d\d-\d\d)?(?: › .+)?")
"""Matches a heading; of a moved fact, it contains the path of its headings."""


def project_names(heading: Iterable[str]) -> list[str]:
    """Return the names of the projects in these headings."""
    return [match[1] for title in heading if (match := _PROJECT.fullmatch(title))]


def concerns_project(heading: Iterable[str], own: Sequence[str]) -> bool:
    """Return whether facts under these headings belong to the project with these addresses, or to
    no project."""
    projects = project_names(heading)
    return not projects or any(f"/{one}".endswith(f"/{name}") for name in projects for one in own)
