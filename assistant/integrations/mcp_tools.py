"""The seven tools of the MCP server.

Answers are text only: some clients show their model structured content instead, without the text
that frames passages as data or says that a fact waits for review.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from assistant.agent.memory_text import clean, entries, framed, readable_lines, whole_procedures
from assistant.display import revealed
from assistant.errors import UsageError
from assistant.integrations.visible import QUERY_LENGTH, VisibleFiles, label, parsed_citation
from assistant.memory.base import AGENDA_DAYS, Fact, Keeper, Origin, Passage, Query
from assistant.memory.daemon import wire
from assistant.quoting import neutralised, quoted
from assistant.tables import table_of
from assistant.workspace import project
from assistant.workspace.folder import PROCEDURES_FILE, Workspace

MOST = 50
"""Maximum passages of one recall."""
PAGE = 400
"""Maximum lines of one read."""
FACT_LENGTH = 10_000
"""Maximum characters of one fact; a longer text belongs in a separate file."""
Words = Annotated[str, Meta(max_length=QUERY_LENGTH)]
Short = Annotated[str, Meta(max_length=FACT_LENGTH)]
PROFILE = "USER.md"
_data = table_of(__file__)
INSTRUCTIONS: str = _data["instructions"]
AGENDA: str = _data["agenda"]
ARGUMENTS: Mapping[str, Mapping[str, str]] = _data["arguments"]
WRITES: Mapping[str, str] = _data["writes"]
WRITTEN: Mapping[str, str] = _data["written"]


@dataclass(frozen=True, slots=True)
class Permissions:
    """The owner's permissions for a client.

    `name` overrides the client's own. Its writes wait for the owner's review unless it is
    `trusted`; it cannot write if `read_only`.
    """

    name: str = ""
    trusted: bool = False
    read_only: bool = False

    @property
    def writes(self) -> str:
        """What happens to a fact that it writes: a key of `WRITES`."""
        if self.read_only:
            return "refused"
        return "stored" if self.trusted else "waiting"


class Tool:
    """A function that a client may call; its annotations are the schema of its arguments, and
    `ARGUMENTS` describes them."""

    def __init__(self, work: Callable[..., str], *, writes: bool = False) -> None:
        self.work = work
        self.arguments = wire.arguments(work, strict=True)
        self._writes = writes

    def call(self, arguments: Any) -> str:
        """Call it with an object, which may be a string of JSON; null means a missing argument.

        Raises AssistantError.
        """
        if isinstance(arguments, str):  # some models encode it twice
            with suppress(ValueError, RecursionError):
                arguments = json.loads(arguments)
        if isinstance(arguments, dict):
            arguments = {name: value for name, value in arguments.items() if value is not None}
        try:
            values = msgspec.convert(arguments, self.arguments, strict=False)
        except msgspec.ValidationError as error:
            properties = self._schema["properties"].items()
            takes = [f"`{name}`: {about['description']}" for name, about in properties]
            raise UsageError(
                f"{self.work.__name__}: {error}", f"It takes {' '.join(takes) or 'no arguments'}"
            ) from None
        return self.work(**msgspec.structs.asdict(values))

    @property
    def _schema(self) -> dict[str, Any]:
        _, components = msgspec.json.schema_components([self.arguments])
        schema = components[self.work.__name__]
        for name, about in schema["properties"].items():
            about["description"] = ARGUMENTS[self.work.__name__][name]
        return {key: value for key, value in schema.items() if key != "title"}

    @property
    def listed(self) -> dict[str, Any]:
        """The tool's description, which clients send to their model with every request."""
        name = self.work.__name__
        return {
            "name": name,
            "description": self.work.__doc__,
            "inputSchema": self._schema,
            "annotations": {
                "readOnlyHint": not self._writes,
                "destructiveHint": name == "forget",
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }


@dataclass
class MemoryTools:
    """The tools for a workspace's memory, which is `opened` at the first call that needs it.

    `client` is the client's own name. If it `can_ask` the owner, `ask` returns yes, no, or None
    without an answer.
    """

    workspace: Workspace
    permissions: Permissions
    opened: Callable[[], Keeper]
    client: str = ""
    can_ask: bool = False
    ask: Callable[[str], bool | None] = lambda question: None

    @cached_property
    def offered(self) -> dict[str, Tool]:
        """The tools by name; only those that read if the client is `read_only`."""
        reading = [Tool(work) for work in (
            self.recall, self.read, self.context, self.agenda, self.status
        )]  # fmt: skip
        writing = [Tool(self.remember, writes=True), Tool(self.forget, writes=True)]
        tools = reading if self.permissions.read_only else [*reading, *writing]
        return {tool.work.__name__: tool for tool in tools}

    def call(self, name: Any, arguments: Any) -> str:
        """Call a tool; only `status` if the workspace is not open. Raises AssistantError."""
        if name not in [*self.offered]:  # it may be a value without a hash
            raise UsageError(f"there is no tool {name!r}", f"Available: {', '.join(self.offered)}")
        if name != "status":  # it reports that nothing is shown
            self.files.check_open()
        return self.offered[name].call(arguments)

    def instructions(self) -> str:
        """Return the instructions for the client's model."""
        return INSTRUCTIONS.format(root=self.workspace.root, writes=WRITES[self.permissions.writes])

    @property
    def files(self) -> VisibleFiles:
        """The visible files under the present rules."""
        return VisibleFiles(self.workspace)

    @cached_property
    def memory(self) -> Keeper:
        """Memory, opened once. Raises DaemonError, ConfigError, EmbedderError, StorageError."""
        return self.opened()

    def close(self) -> None:
        """Close memory if it was opened."""
        if "memory" in vars(self):
            self.memory.close()

    def recall(
        self, query: Words, k: Annotated[int, Meta(ge=1, le=MOST)] = 8, as_of: str = ""
    ) -> str:
        """Search the owner's long-term memory. Cite the FILE:LINE you rely on."""
        if not query.strip():
            raise UsageError("the query is empty", "Say in words what to look for")
        from assistant.memory.text.times.dates import day_of  # not needed for the first answer

        day = day_of(as_of[:40], date.today(), last=True).isoformat() if as_of else None
        recall = self.memory.recall(Query(query, k=k, as_of=day))
        passages = self.files.shown(recall.passages)
        text = framed(passages) if passages else "Nothing in memory mentions this."
        return f"{text}\n\n{recall.caveat}".rstrip()

    def remember(self, fact: Short, replaces: Short = "", of_project: bool = False) -> str:
        """Write down what the owner stated. Never say it is saved unless the answer does."""
        origin = Origin(f"mcp:{self._name()}")
        new = Fact(
            fact,
            project.section() if of_project else "Remembered",
            replaces or None,
            origin,
            secrets="ask",
            waits=not self.permissions.trusted,
        )
        (written,) = self.memory.remember([new])
        if written.status == "secret":
            raise UsageError(
                "nothing was written: the fact holds what looks like a secret",
                "Leave it out, or have the owner write it with `assistant remember --secret NAME`",
            )
        place = f"{written.source}:{written.line}" if written.source else ""
        text = WRITTEN[written.status].format(place=place, id=written.id)
        if similar := self.files.shown(written.similar):
            text += f"\nIf it supersedes one of these, name it in `replaces`:\n{entries(similar)}"
        return text

    def read(self, path: str = "") -> str:
        """Read a file of memory, or the lines around a citation."""
        name, first, last = parsed_citation(path)
        listed = not name.strip()
        lines = self.files.names() if listed else readable_lines(self.files.text(name))
        if first > len(lines) or (last is not None and last < first):
            raise UsageError(f"{name} has {len(lines)} lines", "Name lines from 1 to that")
        around = 3 if last == first else 0
        first = max(1, first - around)
        last = min(len(lines), first + PAGE - 1, len(lines) if last is None else last + around)
        page = lines[first - 1 : last]
        page = page if listed else [f"{n}  {line}".rstrip() for n, line in enumerate(page, first)]
        body = quoted("\n".join(page))
        head = "The files of this memory:" if listed else f"{name}:{first}-{last}"
        left = len(lines) - last
        more = f"\n({left} more: read {'' if listed else name}:{last + 1}-)" if left else ""
        return f"{head}\n  | {body}{more}"

    def context(self, topic: Words = "") -> str:
        """Who the owner is, their standing procedures, and what bears on a task. Call it first."""
        files = self.files
        profile = self._file(files, PROFILE)
        procedures = whole_procedures(self._file(files, PROCEDURES_FILE))
        parts = [f"# The owner\n\n{profile}"] if profile else []
        parts += [f"# Their procedures\n\n{procedures}"] if procedures else []
        if topic.strip():
            without = (PROCEDURES_FILE,) if procedures else ()
            query = Query(topic, turn=True, coding=True, without=without)
            if passages := files.shown(self.memory.recall(query).passages):
                parts.append(f"# What memory holds on this\n\n{framed(passages)}")
        return "\n\n".join(parts) or "Nothing is written down yet."

    def agenda(self, days: Annotated[int, Meta(ge=0, le=366)] = AGENDA_DAYS) -> str:
        """What is due: appointments, birthdays, deadlines, each day that memory speaks of."""
        files = self.files
        from assistant.upkeep.agenda import listed  # not needed for the first answer

        dues = listed(
            self.memory,
            self.workspace,
            date.today(),
            days,
            lambda passage: bool(files.shown([passage])),
        )
        return f"{AGENDA}\n\n{dues}"

    def status(self) -> str:
        """Which memory this is, its size, what waits for review, and what you may do."""
        trusted = bool(self.files.is_open)
        memory = self.memory.status()
        state = {
            "workspace": self.workspace.root,
            "trusted": trusted,
            "facts": memory.facts,
            "waiting": memory.waiting_for_review,
            "you": self._name(),
            "writes": self.permissions.writes if trusted else "refused",
            "notices": f"{len(memory.notices)}, which `assistant memory status` shows the owner"
            if memory.notices and trusted
            else "",
        }
        return "\n".join(f"{name}: {value}".rstrip() for name, value in state.items())

    def forget(self, target: Short) -> str:
        """Remove a fact, once the owner has said yes; they are asked."""
        passage = self._fact(target)
        question = f"Forget {passage.citation}?\n{revealed(passage.readable.strip())}"
        answer = self.ask(question) if self.can_ask else None
        if answer is None:
            why = (
                "the owner did not answer" if self.can_ask else "this program cannot ask the owner"
            )
            raise UsageError(
                f"{passage.citation} was not forgotten: {why}",
                f"They can run `assistant forget {passage.citation}`",
            )
        if not answer:
            return f"The owner said no: {passage.citation} was not forgotten."
        self.memory.forget([passage])
        return f"Forgotten: {passage.citation}. The owner can `assistant memory undo`."

    def _fact(self, target: str) -> Passage:
        """Return the one fact that the target identifies. Raises LedgerError."""
        located = self.memory.locate(target)
        passages = self.files.shown(located.passages)
        return replace(located, passages=passages).one(target)

    def _name(self) -> str:
        """Return the owner's name for the client, otherwise the client's own."""
        return label(self.permissions.name or self.client)

    def _file(self, files: VisibleFiles, name: str) -> str:
        """Return a file's text; empty if it is missing or not visible."""
        try:
            return neutralised(clean(files.text(name)))
        except UsageError:
            return ""
