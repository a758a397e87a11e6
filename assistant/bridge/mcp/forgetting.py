"""`forget`: the owner is asked by the client's own means, and nothing goes without their yes."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from mcp.server.mcpserver import (
    AcceptedElicitation,
    Context,
    Elicit,
    ElicitationResult,
    Resolve,
)
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from assistant.agent.passages import entry
from assistant.bridge import guests
from assistant.bridge.mcp.answers import result
from assistant.bridge.mcp.desk import Desk
from assistant.bridge.mcp.results import Forgotten
from assistant.display import revealed
from assistant.errors import LedgerError, UsageError
from assistant.memory.base import Passage


class Consent(BaseModel):
    """The owner's decision."""

    forget: bool = Field(default=False, description="Forget this fact?")


def forgetting(desk: Desk) -> Callable[..., Any]:
    """The tool over a memory."""

    def located(target: str) -> Passage:
        desk.shelf.check_open()
        guests.check_length("target", target, guests.FACT_LENGTH)
        found = desk.memory().locate(target)
        return _single(desk.shelf.shown(found.passages), target, exact=found.exact)

    def consented(
        call: Context[Any, Any], passage: Annotated[Passage, Resolve(located)]
    ) -> Consent | Elicit[Consent]:
        able = call.client_capabilities
        if able is None or able.elicitation is None:
            raise UsageError(
                f"{passage.citation} stands as it was: this program cannot ask its owner",
                f"They can run `assistant forget {passage.citation}`",
            )
        asked = f"Forget {passage.citation}?\n{revealed(passage.text.strip())}"
        return Elicit(asked, Consent)

    def forget(
        target: Annotated[str, Field(description="The fact's FILE:LINE, id or very words.")],
        passage: Annotated[Passage, Resolve(located)],
        consent: Annotated[ElicitationResult[Consent], Resolve(consented)],
    ) -> Annotated[CallToolResult, Forgotten]:
        """Remove a fact, once the owner has said yes; they are asked."""
        if not isinstance(consent, AcceptedElicitation) or not consent.data.forget:
            kept = Forgotten(status="kept", id=passage.id, place=passage.citation)
            return result(f"The owner said no: {passage.citation} stands.", kept)
        gone = desk.memory().forget([passage])
        said = f"Forgotten: {passage.citation}. The owner can `assistant memory undo`."
        receipt = Forgotten(
            status="forgotten", id=passage.id, place=passage.citation, undo=gone.entry
        )
        return result(said, receipt)

    return forget


def _single(passages: Sequence[Passage], target: str, *, exact: bool) -> Passage:
    if exact and len(passages) == 1:
        return passages[0]
    if not passages:
        raise LedgerError(f"memory holds nothing for {target!r}", "Try `recall` first")
    listed = "\n".join(map(entry, passages))
    raise LedgerError(f"no single fact is {target!r}; name one by its FILE:LINE:\n{listed}")
