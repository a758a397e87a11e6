"""What the command line says of a conversation, and how that becomes one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.cli.options import Globals
from assistant.cli.progress import ProgressLine
from assistant.errors import UsageError
from assistant.memory.base import Progress

if TYPE_CHECKING:
    from assistant.app.chat import Chat
    from assistant.tools.policy import Approver


@dataclass(frozen=True, slots=True)
class Opening:
    """What the command line says of a conversation, and how to open it."""

    options: Globals
    resume: str | None = None
    latest: bool = False
    off_the_record: bool = False
    model: str | None = None
    yes: bool = False
    directories: Sequence[Path] = ()
    news: bool = False
    plain: bool = False

    def __post_init__(self) -> None:
        if self.resume and self.latest:
            raise UsageError("--continue and --resume name two sessions", "Give one of them")

    def open(
        self, approver: "Approver | None" = None, *, progress: Progress | None = None
    ) -> "Chat":
        """The conversation; progress of memory's first indexing goes to standard error, if to
        nobody else."""
        from assistant.app.chat import open_chat  # the agent and its models: behind the prompt
        from assistant.app.wish import ChatWish

        wish = ChatWish(
            self.resume,
            self.latest,
            self.off_the_record,
            self.model,
            self.yes,
            self.directories,
            self.news,
        )
        with ProgressLine() as line:
            return open_chat(
                self.options.place(),
                wish,
                approver=approver,
                no_daemon=self.options.no_daemon,
                progress=progress or line,
            )
