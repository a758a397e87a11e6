"""What the command line says of a conversation, and how that becomes one."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.app.options import ChatOptions
from assistant.cli.options import Globals
from assistant.cli.progress import ProgressLine
from assistant.errors import UsageError
from assistant.memory.base import Progress

if TYPE_CHECKING:
    from assistant.app.chat import Chat
    from assistant.tools.policy import Approver

Message = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MESSAGE]...",
        help="The message. Standard input is sent with it, or is the message itself.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Opening:
    """What the command line says of a conversation, and how to open it."""

    options: Globals
    wish: ChatOptions = field(default_factory=ChatOptions)
    plain: bool = False

    def __post_init__(self) -> None:
        if self.wish.resume and self.wish.latest:
            raise UsageError("--continue and --resume exclude each other", "Give one of them")

    def open(
        self, approver: "Approver | None" = None, *, progress: Progress | None = None
    ) -> "Chat":
        """The conversation; progress of memory's first indexing goes to standard error, if to
        nobody else."""
        from assistant.app.chat import open_chat  # the agent and its models: behind the prompt

        with ProgressLine() as line:
            return open_chat(
                self.options.place(),
                self.wish,
                approver=approver,
                no_daemon=self.options.no_daemon,
                progress=progress or line,
            )
