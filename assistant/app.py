"""The composition root: settings become objects here, and nowhere else."""

from typing import TYPE_CHECKING

from assistant import config
from assistant.memory.base import Memory, Progress, no_progress
from assistant.workspace import Workspace

if TYPE_CHECKING:
    from assistant.conversation import Conversation


def open_memory(
    place: Workspace,
    raw: config.Raw,
    *,
    no_daemon: bool = False,
    progress: Progress = no_progress,
) -> Memory:
    """Memory over the workspace's daemon, started if need be, or in this process.

    The imports are per branch: a client of the daemon loads nothing heavy.
    """
    if no_daemon:
        from assistant import settings
        from assistant.memory import service

        return service.open_memory(place, settings.validate(raw), progress=progress)
    from assistant.memory import client

    return client.connect(place, raw, progress=progress)
