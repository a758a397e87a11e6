"""The quarantine: facts that wait for the owner before they are memory.

A fact that a tool's output may have planted reaches neither a memory file nor a prompt until the
owner has read it. `.assistant/review.jsonl`: one JSON object a line, rewritten as a whole. A line
that is damaged is passed over, and stays until it is `set_aside`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from assistant.disk import locking, storage
from assistant.errors import LedgerError
from assistant.memory.base import Fact, Held, Origin, Passage, Remembered
from assistant.memory.text.identity import digest, fact_key
from assistant.memory.writing.journal import now
from assistant.memory.writing.ledger import Ledger
from assistant.memory.writing.markup import clean
from assistant.memory.writing.transaction import SetAside
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
        """The facts that wait, oldest first. Raises StorageError."""
        return tuple(each for _, each in self._lines() if isinstance(each, Held))

    def damaged(self) -> dict[int, bytes]:
        """The lines that cannot be read, by their number."""
        return {number: each for number, each in self._lines() if isinstance(each, bytes)}

    def set_aside(self) -> SetAside | None:
        """Take damaged lines out of the file, and keep them; None if there are none."""
        with self.locked():
            return self.set_aside_alone()

    def set_aside_alone(self) -> SetAside | None:
        """Do the same where the lock is held."""
        damaged = self.damaged()
        if not damaged:
            return None
        kept = self._ledger.commits.keep(damaged)
        storage.replace(self.path, _written(self.waiting()))
        return kept

    def accept(
        self,
        name: str,
        text: str | None = None,
        *,
        request: str | None = None,
        replaced: Mapping[str, Sequence[Passage]] | None = None,
    ) -> Remembered:
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
        return [(self.path, _written(left))] if len(left) < len(waiting) else []

    def locked(self) -> locking.Lock:
        """Let nobody else change what waits, until the lock is released.

        Raises StorageError if another folder stands in the workspace's place.
        """
        self._ledger.commits.anchor.check()
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
            raise LedgerError(
                f"no fact {name!r} waits for review", "`assistant memory review` lists them"
            )
        return found

    def _save(self, waiting: Sequence[Held]) -> None:
        damaged = b"".join(line + b"\n" for line in self.damaged().values())
        storage.replace(self.path, damaged + _written(waiting))

    def _lines(self) -> Iterator[tuple[int, Held | bytes]]:
        """Each line by its number: a fact, or what cannot be read."""
        for number, line in enumerate(storage.held(self.path).split(b"\n"), start=1):
            if line.strip():
                yield number, _read(line) or line


def _read(line: bytes) -> Held | None:
    try:
        raw = json.loads(line)
        fact = raw["fact"]
        origin = fact.pop("origin")
        origin = Origin(origin["kind"], origin["session"], tuple(origin["entries"]))
        fact["matters_for"] = tuple(fact.get("matters_for", ()))
        return Held(raw["id"], raw["time"], Fact(**fact, origin=origin))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _written(waiting: Sequence[Held]) -> bytes:
    return "".join(json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in waiting).encode()


def _same(one: Fact, other: Fact) -> bool:
    return (fact_key(one.text), one.replaces) == (fact_key(other.text), other.replaces)


def _reworded(fact: Fact, text: str) -> Fact:
    """The fact in the owner's own words."""
    return replace(fact, text=text, origin=replace(fact.origin, kind="owner"))
