"""The front matter of a SKILL.md: its fields, and the line on which each stands."""

import json
import re
from dataclasses import dataclass

import yaml


class Malformed(Exception):
    """What is wrong, on which line of the file, and what to do about it."""

    def __init__(self, line: int, message: str, cure: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.cure = cure


@dataclass(frozen=True, slots=True)
class Field:
    """A field's texts, one for a plain value, its line, and in a list that of each text."""

    texts: tuple[str, ...]
    line: int
    is_list: bool = False
    lines: tuple[int, ...] = ()

    @property
    def line_of_text(self) -> str:
        """A plain value on one line, so that it cannot begin another line of the prompt."""
        return "" if self.is_list else " ".join(" ".join(self.texts).split())


def parts(text: str) -> tuple[str, str]:
    """The front matter, between a first line of `---` and the next one, and the body behind it."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise Malformed(
            1,
            "it does not begin with front matter between two lines of ---",
            "Begin the file with ---, a line `description: …`, and ---",
        )
    ends = [number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == "---"]
    if not ends:
        raise Malformed(
            1,
            "it does not begin with front matter between two lines of ---: the second is missing",
            "Close the front matter with a line of ---",
        )
    return "\n".join(lines[1 : ends[0]]), "\n".join(lines[ends[0] + 1 :])


_UNQUOTED = re.compile(
    r"^([A-Za-z][\w-]*):[ \t]+(?![\"'|>\[{&*!#])(.*: .*?|.*:)[ \t]*$", re.MULTILINE
)
"""A plain value that holds a colon, which YAML takes for another field."""


def fields(block: str) -> dict[str, Field]:
    """The fields by name; every value is text, whatever YAML would make of it."""
    block = _UNQUOTED.sub(
        lambda found: f"{found[1]}: {json.dumps(found[2], ensure_ascii=False)}", block
    )
    try:
        node = yaml.compose(block, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = str(getattr(error, "problem", "") or "it cannot be read")
        raise Malformed(
            mark.line + 2 if mark else 2,
            f"its front matter is no YAML ({reason})",
            "Quote a value that holds a colon or a bracket",
        ) from error
    except RecursionError as error:
        raise Malformed(
            2, "its front matter is no YAML (nested too deep)", "Keep it to plain fields"
        ) from error
    if not isinstance(node, yaml.MappingNode):
        raise Malformed(2, "its front matter has no fields", "Write `description: …` in it")
    return {
        key.value: _field(value, key.start_mark.line + 2)
        for key, value in node.value
        if isinstance(key, yaml.ScalarNode)
    }


def _field(node: yaml.Node, line: int) -> Field:
    if isinstance(node, yaml.ScalarNode):
        return Field((node.value,), line, lines=(line,))
    items = node.value if isinstance(node, yaml.SequenceNode) else ()
    texts = [each for each in items if isinstance(each, yaml.ScalarNode)]
    lines = tuple(each.start_mark.line + 2 for each in texts)
    return Field(tuple(each.value for each in texts), line, True, lines)
