"""A session as a markdown document, for people and other programs. Pure."""

from collections.abc import Iterator, Sequence

from assistant.session.entries import (
    AssistantEntry,
    AttachmentEntry,
    CompactionEntry,
    Entry,
    InterruptedEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.listing import title_of


def markdown(entries: Sequence[Entry]) -> str:
    """What was said, under headings that say by whom; what tools did stands as quotations."""
    return "\n\n".join([f"# {title_of(entries) or 'Nothing said'}", *_parts(entries)]) + "\n"


def _parts(entries: Sequence[Entry]) -> Iterator[str]:
    speaker = ""
    for entry in entries:
        match entry:
            case UserEntry(text=text):
                who, said = "You", text
            case AssistantEntry(text=text) if text.strip():
                who, said = "Assistant", text
            case AttachmentEntry(title=name, text=text):
                who, said = speaker, _quote(f"{name}\n{text}")
            case ToolResultEntry(tool=tool, compact=compact):
                who, said = "Assistant", _quote(f"{tool}: {compact}".removesuffix(": "))
            case InterruptedEntry(text=text):
                who, said = speaker, _quote(f"({text})")
            case CompactionEntry(summary=summary):
                who, said = speaker, _quote(f"(summary of what came before)\n{summary}")
            case _:
                continue
        if who != speaker:
            yield f"## {who}"
            speaker = who
        yield said.strip("\n")


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
