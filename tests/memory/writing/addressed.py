"""A ledger that takes addresses, as memory does: they are resolved in the files' chunks."""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256

from assistant.errors import LedgerError
from assistant.memory.base import Fact, Passage, Remembered
from assistant.memory.text.chunk import chunks_of, passage
from assistant.memory.writing.ledger import Ledger


class AddressedLedger(Ledger):
    """A ledger whose facts may name what they replace by `FILE:LINE` or an id."""

    def remember(
        self,
        facts: Sequence[Fact],
        *,
        request: str | None = None,
        replaced: Mapping[str, Sequence[Passage]] | None = None,
    ) -> tuple[Remembered, ...]:
        targets = {fact.replaces for fact in facts if fact.replaces}
        found = {target: self._named(target) for target in targets}
        return super().remember(facts, request=request, replaced=found | dict(replaced or {}))

    def observe(self, source: str, *_: str) -> None:
        """See a file as the index does when somebody has saved it."""
        data = (self._workspace.root / source).read_bytes()
        super().observe(source, data.decode(), sha256(data).hexdigest())

    def locate(self, address: str) -> Passage:
        """The one passage at an address. Raises LedgerError if there is none."""
        found = self._named(address)
        if not found:
            raise LedgerError(f"there is no fact at {address}")
        return found[0]

    def _named(self, address: str) -> list[Passage]:
        place = re.fullmatch(r"(.+):(\d+)", address)
        found = []
        for source in self._workspace.sources():
            text = (self._workspace.root / source).read_bytes().decode("utf-8", "replace")
            for each in chunks_of(text.removeprefix("\ufeff"), source):
                lines = range(each.start_line, each.end_line + 1)
                there = place and place[1] == source and int(place[2]) in lines
                if there or each.id == address:
                    found.append(passage(each))
        return found
