"""Secrets in facts to be written, and in passages to be changed.

A fact is written as the owner gave it, or not at all, and they are notified. The index contains
stand-ins for secrets, and so do passages; to change one in its file, the file's text is needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from assistant.errors import LedgerError
from assistant.memory.base import Fact, Mark, Passage, Remembered, Secret
from assistant.memory.text.masking import verbatim
from assistant.memory.writing.draft import Draft
from assistant.secrets.redactor import Redactor, within
from assistant.secrets.stand_ins import stand_ins
from assistant.workspace.folder import Workspace


class Redaction:
    """Finds the secrets in facts and passages of a workspace, by the current `redactor`."""

    def __init__(self, workspace: Workspace, redactor: Callable[[], Redactor]) -> None:
        self._workspace = workspace
        self._redactor = redactor

    def text(self, text: str) -> str:
        """Return the text with stand-ins for secrets."""
        return self._redactor().redact(text)

    def secrets(self, facts: Sequence[Fact]) -> list[tuple[Secret, ...]]:
        """Return the secrets in the text of each fact.

        All texts are searched as one, since a key may span several lines of input.
        """
        redactor = self._redactor()
        if any(fact.secrets != "keep" and redactor.findings(fact.section) for fact in facts):
            raise LedgerError("the heading holds a secret", "Give the section another name")
        findings = redactor.findings("\n".join(fact.text for fact in facts))
        secrets, start = list[tuple[Secret, ...]](), 0
        for fact in facts:
            end = start + len(fact.text)
            secrets.append(tuple(within(findings, start, end)))
            start = end + 1
        return secrets

    def open_phrases(self, fact: Fact) -> Fact:
        """Return the fact, without its `matters_for` if that contains a secret."""
        return replace(fact, matters_for=self._without_secrets(fact.matters_for))

    def mark(self, mark: Mark) -> Mark:
        """Return the mark with its passage as in the file, and with no secret in what it adds."""
        phrases = mark.matters_for
        return replace(
            mark,
            passage=self.verbatim(mark.passage),
            matters_for=None if phrases is None else self._without_secrets(phrases),
        )

    def _without_secrets(self, phrases: tuple[str, ...]) -> tuple[str, ...]:
        """Return these phrases; none of them if they contain a secret."""
        text = ", ".join(phrases)
        return phrases if self.text(text) == text else ()

    def refusal(self, fact: Fact, secrets: Sequence[Secret]) -> Remembered | None:
        """Return the answer for a fact that is rejected for its secrets; None if it is not."""
        lost = fact.secrets == "ask" and bool(self._redactor().lost(fact.text))
        certain = any(secret.certain for secret in secrets)
        if fact.secrets == "keep" or not (certain or lost or (secrets and fact.secrets == "ask")):
            return None
        return Remembered("secret", "", "", 0, fact.text, secrets=tuple(secrets))

    def verbatim(self, passage: Passage) -> Passage:
        """Return the passage as in its file, including secrets."""
        if not stand_ins(passage.text):
            return passage
        return verbatim(passage, Draft(self._workspace).text(passage.source), self._redactor())

    def check_open(self, passage: Passage) -> None:
        """Raise LedgerError if the passage contains a secret."""
        if self.verbatim(passage) != passage:
            raise LedgerError(
                f"{passage.citation} holds a secret, which a superseded fact would keep",
                "Change that line in the file yourself",
            )
