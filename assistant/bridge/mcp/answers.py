"""What the tools do and say: passages are quoted, and no write is claimed without its receipt."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from assistant.agent.passages import FRAMING, entries
from assistant.bridge import guests
from assistant.bridge.brief import brief
from assistant.bridge.mcp.desk import Desk
from assistant.bridge.mcp.results import Brief, Found, Pages, Recalled, Receipt, State
from assistant.bridge.shelf import lines_of
from assistant.errors import UsageError
from assistant.memory.base import Passage, Query, Remembered
from assistant.quoting import neutralised, quoted

MOST = 50
"""Passages of one recall."""
PAGE = 400
"""Lines of one read."""
HOLDS_SECRET = (
    "nothing was written: the fact holds what looks like a secret",
    "Leave it out, or have the owner write it with `assistant remember --secret NAME`",
)


class Answers:
    """The tools of one server."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def recall(
        self,
        query: Annotated[str, Field(description="What to look for, in words.")],
        k: Annotated[int, Field(ge=1, le=MOST, description="The most passages.")] = 8,
        as_of: Annotated[str, Field(description="ISO date: as memory was that day.")] = "",
    ) -> Annotated[CallToolResult, Recalled]:
        """Search the owner's long-term memory. Cite the FILE:LINE you rely on."""
        self._desk.shelf.check_open()
        guests.check_query(query)
        guests.check_date(as_of)
        found = self._desk.memory().recall(Query(query, k=k, as_of=as_of or None))
        passages = self._desk.shelf.shown(found.passages)
        said = f"{FRAMING}\n\n{entries(passages)}" if passages else "Memory holds nothing on this."
        said = f"{said}\n\n{found.caveat}".rstrip()
        return result(said, Recalled(passages=list(map(shown, passages))))

    def remember(
        self,
        fact: Annotated[str, Field(description="One lasting fact, a sentence of its own.")],
        call: Context[Any, Any],
        replaces: Annotated[str, Field(description="FILE:LINE or id it supersedes.")] = "",
    ) -> Annotated[CallToolResult, Receipt]:
        """Write down what the owner stated. Never say it is saved unless the answer does."""
        desk = self._desk
        desk.shelf.check_open()
        waits = not desk.terms.trusted
        new = guests.fact_of(fact, name_of(call, desk), replaces=replaces, waits=waits)
        (written,) = desk.memory().remember([new])
        if written.status == "secret":
            raise UsageError(*HOLDS_SECRET)
        similar = desk.shelf.shown(written.similar)
        receipt = Receipt(
            status=written.status,
            id=written.id,
            place=_place(written),
            similar=list(map(shown, similar)),
        )
        return result(_told(written, similar), receipt)

    def read(
        self,
        path: Annotated[
            str, Field(description="FILE, FILE:LINE or FILE:FROM-TO; '' lists them.")
        ] = "",
    ) -> Annotated[CallToolResult, Pages]:
        """Read a file of memory, or the lines around a citation."""
        name, first, last = lines_of(path)
        shelf = self._desk.shelf
        if not name.strip():
            shelf.check_open()
            return _paged("", "\n".join(shelf.names()), first, last)
        return _paged(name, shelf.text(name), first, last)

    def context(
        self,
        topic: Annotated[str, Field(description="The task at hand.")] = "",
    ) -> Annotated[CallToolResult, Brief]:
        """Who the owner is, their standing procedures, and what bears on a task. Call it first."""
        self._desk.shelf.check_open()
        guests.check_length("topic", topic, guests.QUERY_LENGTH)
        text = brief(self._desk.shelf, self._desk.memory, topic)
        return result(text, Brief(text=text))

    def status(self, call: Context[Any, Any]) -> Annotated[CallToolResult, State]:
        """Which memory this is, its size, what waits for review, and what you may do."""
        desk = self._desk
        trusted = bool(desk.shelf.is_open)
        memory = desk.memory().status()
        writes: Literal["stored", "waiting", "refused"] = (
            "stored" if desk.terms.trusted else "waiting"
        )
        state = State(
            workspace=str(desk.place.root),
            trusted=trusted,
            facts=memory.facts,
            waiting=memory.waiting_for_review,
            you=name_of(call, desk),
            writes="refused" if desk.terms.read_only or not trusted else writes,
            notices=list(memory.notices) if trusted else [],
        )
        return result("\n".join(f"{name}: {value}" for name, value in state), state)


def name_of(call: Context[Any, Any], desk: Desk) -> str:
    """What the client is called: by the owner, else by itself."""
    client = call.session.client_params
    return guests.label(desk.terms.name or (client.client_info.name if client else ""))


def result(text: str, value: BaseModel) -> CallToolResult:
    """An answer for the model and for the program."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=value.model_dump()
    )


def shown(passage: Passage) -> Found:
    """A passage as a program reads it."""
    return Found(
        id=passage.id,
        place=passage.citation,
        text=neutralised(passage.text),
        date=passage.date or "",
        origin=passage.origin or "",
        superseded=passage.status == "superseded",
    )


def _place(written: Remembered) -> str:
    return f"{written.source}:{written.line}" if written.source else ""


def _told(written: Remembered, similar: Sequence[Passage]) -> str:
    place = _place(written)
    said = {
        "stored": f"Stored at {place} (id {written.id}).",
        "exists": f"It stands already, at {place} (id {written.id}); nothing was written.",
        "superseded": f"Stored at {place} (id {written.id}); the old fact is struck through.",
        "waiting": f"It waits for the owner's review (`assistant memory review`) as {written.id}; "
        "it is not in memory yet, and no recall finds it.",
    }[written.status]
    if not similar:
        return said
    return f"{said}\nIf it supersedes one of these, name it in `replaces`:\n{entries(similar)}"


def _paged(name: str, text: str, first: int, last: int | None) -> CallToolResult:
    lines = text.split("\n")
    if first > len(lines) or (last is not None and last < first):
        raise UsageError(f"{name} has {len(lines)} lines", "Name lines from 1 to that")
    around = 3 if last == first else 0
    first = max(1, first - around)
    last = min(len(lines), first + PAGE - 1, len(lines) if last is None else last + around)
    body = "\n".join(lines[first - 1 : last])
    more = f"\n({len(lines) - last} more: read {name}:{last + 1}-)" if last < len(lines) else ""
    pages = Pages(file=name, first=first, last=last, lines=len(lines), text=neutralised(body))
    head = f"{name}:{first}-{last}" if name else "The files of this memory:"
    return result(f"{head}\n  | {quoted(body)}{more}", pages)
