"""The quarantine: facts that wait for the owner before they are memory.

A fact that a tool's output may have planted reaches neither a memory file nor a prompt until the
owner has read it. `.assistant/review.jsonl`: one JSON object a line, rewritten as a whole.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from assistant.disk import locking, storage
from assistant.errors import LedgerError, StorageError
from assistant.memory.base import Fact, Held, Origin, Passage
from assistant.memory.text.identity import digest, fact_key
from assistant.memory.writing.adding import Written
from assistant.memory.writing.ledger import Ledger
from assistant.memory.writing.markup.items import clean
from assistant.memory.writing.record.writes import now
from assistant.workspace.folder import Workspace


class Review:
    """The quarantine of one workspace. Safe to use from several threads and processes at once."""

    def __init__(self, workspace: Workspace, ledger: Ledger) -> None:
        self._workspace = workspace
        self._ledger = ledger
        self.path = workspace.private / "review.jsonl"

    def hold(self, facts: Sequence[Fact]) -> tuple[Held, ...]:
        """Let facts wait; one that waits already, whoever said it, is not added again."""
        held: list[Held] = []
        with self.locked():
            waiting = list(self.waiting())
            for fact in facts:
                held.append(self._held(fact, waiting))
                waiting += [each for each in held[-1:] if each not in waiting]
            self._save(waiting)
        return tuple(held)

    def waiting(self) -> tuple[Held, ...]:
        """The facts that wait, oldest first. Raises StorageError if the file is damaged."""
        lines = storage.held(self.path).splitlines()
        return tuple(self._read(number, line) for number, line in enumerate(lines, start=1))

    def accept(
        self,
        name: str,
        text: str | None = None,
        *,
        request: str | None = None,
        replaced: Mapping[str, Sequence[Passage]] | None = None,
    ) -> Written:
        """Write a fact that waits, or `text` in its place: what the owner read is what is written.

        Asked twice, it is written once. `replaced` has the passages that its `replaces` names; if
        there are none any more, it is written by itself. Raises LedgerError if nothing waits under
        this id (then what was shown is not what waits now), or those passages cannot be superseded.
        """
        if request and (done := self._ledger.answered(request)):
            return done[0]
        with self.locked():
            held = self._find(name)
            fact = held.fact if text is None else _reworded(held.fact, text)
            there = (replaced or {}).get(fact.replaces or "", ())
            if not any(passage.status == "current" for passage in there):
                fact = replace(fact, replaces=None)
            (written,) = self._ledger.remember(
                [fact], request=request or f"review-{held.id}-{held.time}", replaced=replaced
            )
            self._save([each for each in self.waiting() if each.id != name])
        return written

    def refuse(self, name: str) -> Held:
        """Drop a fact that waits. Raises LedgerError if nothing waits under this id."""
        with self.locked():
            held = self._find(name)
            self._save([each for each in self.waiting() if each.id != name])
        return held

    def without(self, holds: Callable[[str], bool]) -> list[tuple[Path, bytes]]:
        """The file and what it shall hold, if a fact is in it that holds what must go."""
        waiting = self.waiting()
        left = [each for each in waiting if not holds(each.fact.text)]
        return [(self.path, _lines(left))] if len(left) < len(waiting) else []

    def locked(self) -> locking.Lock:
        """Let nobody else change what waits, until the lock is released."""
        return locking.lock(storage.private_directory(self._workspace.locks) / "review.lock")

    def _held(self, fact: Fact, waiting: Sequence[Held]) -> Held:
        shown = replace(fact, text=clean(fact.text))
        if not shown.text:
            raise LedgerError("there is nothing to hold for review", "Give the fact in words")
        name = digest(json.dumps(asdict(shown), sort_keys=True))[:12]
        there = (each for each in waiting if _same(each.fact, shown))
        return next(there, Held(name, now(), shown))

    def _find(self, name: str) -> Held:
        found = next((each for each in self.waiting() if each.id == name), None)
        if found is None:
            raise LedgerError(f"nothing waits as {name}", "`assistant memory review` lists them")
        return found

    def _save(self, waiting: Sequence[Held]) -> None:
        storage.replace(self.path, _lines(waiting))

    def _read(self, number: int, line: bytes) -> Held:
        try:
            raw = json.loads(line)
            fact = raw["fact"]
            origin = fact.pop("origin")
            origin = Origin(origin["kind"], origin["session"], tuple(origin["entries"]))
            return Held(raw["id"], raw["time"], Fact(**fact, origin=origin))
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(
                f"{self.path}:{number} is damaged ({error})",
                "Put the line right, or remove it if it cannot be",
            ) from error


def _lines(waiting: Sequence[Held]) -> bytes:
    return "".join(json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in waiting).encode()


def _same(one: Fact, other: Fact) -> bool:
    return (fact_key(one.text), one.replaces) == (fact_key(other.text), other.replaces)


def _reworded(fact: Fact, text: str) -> Fact:
    """The fact in the owner's own words."""
    return replace(fact, text=text, origin=replace(fact.origin, kind="owner"))
