"""Secrets on their way into memory and out of its passages.

None is written or indexed: its stand-in is, and that is what a passage says. To change the passage
in its file, its own words are needed again.
"""

from collections.abc import Callable
from dataclasses import replace

from assistant.errors import LedgerError
from assistant.memory.base import Fact, Passage
from assistant.memory.text.masking import verbatim
from assistant.memory.writing.draft import Draft
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import stand_ins
from assistant.workspace import Workspace


class Redaction:
    """What of facts and passages of a workspace is secret, as `redactor` knows at the time."""

    def __init__(self, workspace: Workspace, redactor: Callable[[], Redactor]) -> None:
        self._workspace = workspace
        self._redactor = redactor

    def text(self, text: str) -> str:
        """The text with stand-ins in the place of secrets."""
        return self._redactor().redact(text)

    def fact(self, fact: Fact) -> Fact:
        """The fact with stand-ins in the place of secrets."""
        return replace(fact, text=self.text(fact.text), section=self.text(fact.section))

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
