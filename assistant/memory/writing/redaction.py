"""Secrets on their way into memory and out of its passages.

What the owner gives is theirs: it is written as they gave it, or not at all and they are told. The
index holds stand-ins, and that is what a passage says. To change the passage in its file, its own
words are needed again.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from assistant.errors import LedgerError
from assistant.memory.base import Fact, Mark, Passage, Remembered, Secret
from assistant.memory.text.masking import verbatim
from assistant.memory.writing.draft import Draft
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import stand_ins
from assistant.workspace.folder import Workspace


class Redaction:
    """What of facts and passages of a workspace is secret, as `redactor` knows at the time."""

    def __init__(self, workspace: Workspace, redactor: Callable[[], Redactor]) -> None:
        self._workspace = workspace
        self._redactor = redactor

    def text(self, text: str) -> str:
        """The text with stand-ins in the place of secrets."""
        return self._redactor().redact(text)

    def secrets(self, facts: Sequence[Fact]) -> list[tuple[Secret, ...]]:
        """The secrets in the text of each fact that may not be written unseen.

        They are looked for in all together: a key may stand in several lines of input.
        """
        redactor = self._redactor()
        for fact in facts:
            _check_section(fact, redactor)
        whole = "\n".join(fact.text for fact in facts)
        found, at = [], 0
        places = redactor.findings(whole)
        for fact in facts:
            end = at + len(fact.text)
            inside = [place for place in places if place.start < end and at < place.end]
            found.append(
                tuple(
                    Secret(
                        max(each.start, at) - at, min(each.end, end) - at, each.kind, each.certain
                    )
                    for each in inside
                )
            )
            at = end + 1
        return found

    def open_phrases(self, fact: Fact) -> Fact:
        """The fact, without what says what it matters for if that holds a secret."""
        return replace(fact, matters_for=self._open(fact.matters_for))

    def mark(self, mark: Mark) -> Mark:
        """The mark with its passage as the file has it, and no secret in what it adds."""
        named = mark.matters_for
        return replace(
            mark,
            passage=self.verbatim(mark.passage),
            matters_for=None if named is None else self._open(named),
        )

    def _open(self, phrases: tuple[str, ...]) -> tuple[str, ...]:
        said = ", ".join(phrases)
        return phrases if self.text(said) == said else ()

    def refusal(self, fact: Fact, secrets: Sequence[Secret]) -> Remembered | None:
        """What a fact is answered that is not written because of its secrets."""
        lost = fact.secrets == "ask" and bool(self._redactor().lost(fact.text))
        certain = any(secret.certain for secret in secrets)
        if fact.secrets == "keep" or not (certain or lost or (secrets and fact.secrets == "ask")):
            return None
        return Remembered("secret", "", "", 0, fact.text, secrets=tuple(secrets))

    def verbatim(self, passage: Passage) -> Passage:
        """The passage as its file has it, which may be with a secret."""
        if not stand_ins(passage.text):
            return passage
        return verbatim(passage, Draft(self._workspace).text(passage.source), self._redactor())

    def check_open(self, passage: Passage) -> None:
        """Raise LedgerError if the passage holds a secret."""
        if self.verbatim(passage) != passage:
            raise LedgerError(
                f"{passage.citation} holds a secret, which a superseded fact would keep",
                "Change that line in the file yourself",
            )


def _check_section(fact: Fact, redactor: Redactor) -> None:
    if fact.secrets != "keep" and redactor.findings(fact.section):
        raise LedgerError("the heading holds a secret", "Give the section another name")
