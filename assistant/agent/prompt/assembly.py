"""The prompt of a conversation: its sections, as they are sent and as they are shown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from assistant.agent.prompt.context import (
    Section,
    briefing,
    stable_sections,
    system_messages,
    turn_sections,
)
from assistant.agent.prompt.request import shown_messages
from assistant.memory.base import Recall
from assistant.messages import Message
from assistant.model.base import ToolSpec
from assistant.secrets.redactor import Redactor
from assistant.session.transcript import Transcript
from assistant.session.turns import history, shown_attachment
from assistant.tools.scratch import Scratch
from assistant.workspace.folder import Workspace


@dataclass(frozen=True, slots=True)
class Prompt:
    """Makes the prompt anew for each request.

    `begun` tells when the turn began. `briefs`: what changes with a turn stands before the owner's
    message, not in the system prompt.
    """

    workspace: Workspace
    transcript: Transcript
    scratch: Scratch
    redactor: Redactor
    skills: str
    trusted: bool
    briefs: bool
    begun: Callable[[], datetime]

    def sections(self, recall: Recall | None, model: str) -> list[Section]:
        """The prompt, section by section, with what was recalled."""
        stable = stable_sections(
            self.workspace,
            skills=self.skills,
            off_the_record=self.transcript.off_the_record,
            trusted=self.trusted,
            briefed=self.briefs,
        )
        turn = turn_sections(
            recall,
            working_memory=self.scratch.render(),
            now=self.begun(),
            place=self.workspace,
            model=model,
        )
        return [*stable, *turn]

    def system(self, recall: Recall | None, model: str) -> list[Message]:
        """The system messages."""
        kept = [each for each in self.sections(recall, model) if each.stable or not self.briefs]
        redact = self.redactor.redact
        return [
            replace(message, content=redact(message.content)) for message in system_messages(kept)
        ]

    def briefing(self, recall: Recall | None, model: str) -> str:
        """What the program says before the owner's message; nothing if it is in the system's."""
        if not self.briefs:
            return ""
        return self.redactor.redact(briefing(self.sections(recall, model)))

    def preview(
        self,
        recall: Recall,
        model: str,
        specs: Sequence[ToolSpec],
        message: str,
        attached: Mapping[str, str],
    ) -> list[Section]:
        """What would be sent with a message, in the order in which it is sent."""
        said = shown_messages(history(self.transcript.entries))
        tools = "\n".join(f"- {each.name}: {each.description}" for each in specs)
        earlier = "\n\n".join(f"{each.role}: {each.content}" for each in said)
        given = {title: shown_attachment(title, text) for title, text in attached.items()}
        before = [Section("Tools", tools), Section("History", earlier)]
        after = [Section("Message", message), *(Section(*each) for each in given.items())]
        sections = self.sections(recall, model)
        stable = [each for each in sections if each.stable]
        turn = [each for each in sections if not each.stable]
        ordered = [*before, *turn, *after] if self.briefs else [*turn, *before, *after]
        shown = [*stable, *(each for each in ordered if each.text)]
        return [replace(each, text=self.redactor.redact(each.text)) for each in shown]
