"""The prompt of a conversation: its sections, as they are sent and as they are shown."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from assistant.agent.prompt.context import (
    Section,
    briefing,
    system_messages,
    turn_sections,
)
from assistant.agent.prompt.prefix import stable_sections
from assistant.agent.prompt.recipe import Part
from assistant.agent.prompt.request import shown_messages
from assistant.errors import StorageError
from assistant.memory.base import Recall
from assistant.messages import Given, Message
from assistant.model.base import ChatModel, ToolSpec
from assistant.model.provider.outgoing import wire_tool
from assistant.model.select import in_prompt
from assistant.model.xml.form import describe
from assistant.secrets.redactor import Redactor
from assistant.session import sent
from assistant.session.history.turns import history, shown_attachment
from assistant.session.transcript import Transcript
from assistant.tools.scratch import Scratch
from assistant.workspace.folder import Workspace

SESSION = "the session"
TOOLS = "Tools"


def tools_section(model: ChatModel, specs: Sequence[ToolSpec]) -> Section:
    """The tools as this model is offered them: beside the prompt, or in words within it."""
    if in_prompt(model) and specs:
        return Section(TOOLS, describe(specs).removeprefix(f"# {TOOLS}\n\n"))
    lines = (json.dumps(wire_tool(each), ensure_ascii=False) for each in specs)
    return Section(TOOLS, "\n".join(lines))


@dataclass(frozen=True, slots=True)
class Prompt:
    """Makes the prompt anew for each request.

    `begun` tells when the turn began. `briefs`: what changes with a turn stands before the owner's
    message, not in the system prompt. `most` says how many characters files may take.
    """

    workspace: Workspace
    transcript: Transcript
    scratch: Scratch
    redactor: Redactor
    skills: str
    trusted: bool
    briefs: bool
    begun: Callable[[], datetime]
    recipe: Sequence[Part]
    most: Callable[[], int]

    def sections(self, recall: Recall | None, model: str) -> list[Section]:
        """The prompt, section by section, with what was recalled."""
        stable = stable_sections(
            self.workspace,
            recipe=self.recipe,
            skills=self.skills,
            off_the_record=self.transcript.off_the_record,
            trusted=self.trusted,
            briefed=self.briefs,
            most=self.most(),
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
        model: ChatModel,
        specs: Sequence[ToolSpec],
        message: str,
        attached: Given,
    ) -> list[Section]:
        """What would be sent with a message, in the order in which it is sent."""
        said = shown_messages(history(self.transcript.entries))
        given = {title: shown_attachment(title, str(each)) for title, each in attached.items()}
        message_of = Section("Message", message, source="you")
        after = [message_of, *(Section(*each, source="you") for each in given.items())]
        return self.whole(recall, model, specs, said, [each for each in after if each.text])

    def whole(
        self,
        recall: Recall | None,
        model: ChatModel,
        specs: Sequence[ToolSpec],
        said: Sequence[Message] = (),
        after: Sequence[Section] = (),
    ) -> list[Section]:
        """Every section of a request, the tools' schemas among them, in the order it is sent."""
        earlier = "\n\n".join(f"{each.role}: {each.content}" for each in said)
        tools, history = tools_section(model, specs), Section("History", earlier, source=SESSION)
        sections = self.sections(recall, model.name)
        stable = [each for each in sections if each.stable]
        turn = [each for each in sections if not each.stable]
        first, before = ([tools], [history]) if in_prompt(model) else ([], [tools, history])
        ordered = [*before, *turn] if self.briefs else [*turn, *before]
        shown = [*first, *stable, *ordered]
        shown = [*(each for each in shown if each.text), *after]
        return [replace(each, text=self.redactor.redact(each.text)) for each in shown]

    def keep(
        self, turn: str, recall: Recall | None, model: ChatModel, specs: Sequence[ToolSpec]
    ) -> None:
        """Write down what a turn is sent, for `assistant context --session`; not off the record."""
        if self.transcript.path is None:
            return
        sections = self.whole(recall, model, specs)
        kept = tuple(sent.Part(each.title, each.source, each.text) for each in sections)
        told = sent.Sent(turn, self.begun().isoformat(), model.name, kept)
        sent.keep(self.transcript.path.parent, self.transcript.session, told)

    def cuts(self) -> list[str]:
        """What to tell the owner of files that do not stand in the prompt whole."""
        try:
            return [each.cut for each in self.sections(None, "") if each.cut]
        except StorageError:
            return []  # the turn says which file cannot be read
