"""Obsidian's markup as its reader sees it: links, embeds, callouts, comments, properties. Pure.

The text of a passage stays verbatim, so it can be cited; only the text it is matched by loses its
markup and gains the note's names. Comments are never indexed.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml
from msgspec.structs import replace

from assistant.memory.annotations import real_day
from assistant.memory.text.chunk import Chunk, reworded

_FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n(?P<yaml>.*?)^(?:---|\.\.\.)[ \t]*$", re.S | re.M)
_FENCE_OR_COMMENT = re.compile(
    r"^(?P<fence>[ \t>]*(?:`{3,}|~{3,})).*?(?:^(?P=fence)|\Z)|`[^`\n]+`|(?P<hidden>%%.*?(?:%%|\Z))",
    re.S | re.M,
)
_LINK = re.compile(r"!?\[\[([^\[\]|#^]*)(?:#\^?([^\[\]|]*))?(?:\|([^\[\]]*))?\]\]")
_SIZE = re.compile(r"\d+(?:x\d+)?")
_CALLOUT = re.compile(r"\[!([\w-]+)(?:\|[^\]]*)?\][+-]?")
_BLOCK_ID = re.compile(r"(?:^|\s)\^[A-Za-z0-9-]+$", re.M)
_FIELD = re.compile(r"(?<=\w)::(?=\s)")
_HIGHLIGHT = re.compile(r"==(?=\S)(.+?)(?<=\S)==")
_DAY = re.compile(r"(?:1[89]|2[01])\d\d-\d\d-\d\d")
LONGEST = 600
"""Characters of a note's properties that are matched."""
_DATES = ("date", "created", "created_at", "day")
"""Properties that state when a note was written."""


@dataclass(frozen=True, slots=True)
class Properties:
    """The front matter of a note, its first `end` characters: other names, tags, the day, and the
    other properties as text."""

    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    day: str | None = None
    end: int = 0

    @property
    def words(self) -> str:
        """All properties as text to match."""
        parts = [f"also called {', '.join(self.aliases)}"] if self.aliases else []
        parts += [f"tags: {', '.join(self.tags)}"] if self.tags else []
        return ". ".join([*parts, *self.others])[:LONGEST]


def without_comments(text: str) -> str:
    """Return the text with its comments (`%%…%%`) blanked out, so no position changes."""
    return _FENCE_OR_COMMENT.sub(_blank, text) if "%%" in text else text


def properties(text: str) -> Properties:
    """Parse the properties of a note; none if they are not YAML."""
    front = _FRONT.match(text)
    if not front:
        return Properties()
    try:
        values = yaml.load(front["yaml"], Loader=yaml.BaseLoader)  # strings only, no objects
    except (yaml.YAMLError, RecursionError, ValueError):
        return Properties()
    if not isinstance(values, dict):
        return Properties()
    named = {str(key).lower(): value for key, value in values.items()}
    aliases = _listed(named.pop("aliases", None)) + _listed(named.pop("alias", None))
    tags = _listed(named.pop("tags", None)) + _listed(named.pop("tag", None))
    named.pop("cssclasses", None)
    days = (_DAY.match(str(named.get(key, ""))) for key in _DATES)
    return Properties(
        aliases,
        tuple(tag.lstrip("#") for tag in tags),
        tuple(f"{key}: {words(', '.join(texts))}" for key, value in named.items()
              if (texts := _listed(value))),
        next((day for match in days if match and (day := real_day(match[0]))), None),
        front.end(),
    )  # fmt: skip


def words(plain: str) -> str:
    """Return the text of a passage as a reader sees it."""
    plain = _LINK.sub(_link, plain)
    plain = _CALLOUT.sub(r"\1:", plain)
    plain = _FIELD.sub(":", plain)
    return _BLOCK_ID.sub("", _HIGHLIGHT.sub(r"\1", plain)).strip()


def refined(chunks: Iterable[Chunk], name: str, text: str) -> Iterator[Chunk]:
    """Yield the chunks of a note, under its names, and one for its properties."""
    front = properties(text)
    title = PurePosixPath(name).stem
    names = f"{title} ({', '.join(front.aliases)})" if front.aliases else title
    shift = 0
    if front.words:
        yield _properties_chunk(name, names, text, front)
        shift = 1
    for chunk in chunks:
        if plain := words(chunk.plain):
            shifted = replace(chunk, ordinal=chunk.ordinal + shift, date=chunk.date or front.day)
            yield reworded(shifted, chunk.text, plain, _under(title, names, chunk.heading))


def _properties_chunk(name: str, names: str, text: str, front: Properties) -> Chunk:
    from assistant.memory.text.identity import digest

    start = 1 if text.startswith("\ufeff") else 0
    own = text[start : front.end]
    return Chunk(
        id=digest(f"{name}\nproperties\n{own}")[:16],
        source=name,
        ordinal=0,
        text=own,
        plain=f"{names}: {front.words}",
        heading=(names,),
        start_line=1,
        end_line=text.count("\n", 0, front.end) + 1,
        start_char=0,
        end_char=front.end - start,
        date=front.day,
    )


def _under(title: str, names: str, heading: tuple[str, ...]) -> tuple[str, ...]:
    """Return a heading path below the note's names, without a first heading that repeats its
    title."""
    cleaned = tuple(words(part) for part in heading)
    rest = cleaned[1:] if cleaned and cleaned[0].casefold() == title.casefold() else cleaned
    return (names, *rest)


def _link(match: "re.Match[str]") -> str:
    """Return a link as a reader sees it, with the note's name if the link shows another text."""
    target, part, shown = (group or "" for group in match.groups())
    name = PurePosixPath(target.strip()).name
    if match[0].startswith("!") and _SIZE.fullmatch(shown):
        shown = ""
    if shown:
        return shown if not name or name.casefold() in shown.casefold() else f"{shown} ({name})"
    return " › ".join(word for word in (name, part.strip()) if word)


def _blank(match: "re.Match[str]") -> str:
    hidden = match["hidden"]
    return match[0] if hidden is None else re.sub(r"[^\r\n]", " ", hidden)


def _listed(value: Any) -> tuple[str, ...]:
    """Return the texts of a property: one, several separated by commas, or a list."""
    match value:
        case None | "":
            return ()
        case str():
            return tuple(part.strip() for part in value.split(",") if part.strip())
        case list():
            return tuple(str(item).strip() for item in value if isinstance(item, str) and item)
        case _:
            return ()
