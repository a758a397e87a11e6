"""How a command comes by memory: over the daemon's socket, or in this process."""

from assistant import config
from assistant.memory import client
from assistant.memory.base import Memory, Notify, Progress, no_notices, no_progress
from assistant.workspace import Workspace


def open_memory(
    place: Workspace,
    raw: config.Raw,
    *,
    no_daemon: bool = False,
    progress: Progress = no_progress,
    notify: Notify = no_notices,
) -> Memory:
    """Memory over the workspace's daemon, started if need be, or in this process.

    `raw` are the settings of `config.load`; `notify` takes what the owner should know. Raises
    ConfigError, DaemonError, EmbedderError, StorageError.
    """
    if not no_daemon:
        return client.connect(place, raw, progress, notify)
    from assistant import settings  # pydantic and onnxruntime: not for clients
    from assistant.memory import owner

    return owner.open_in_process(place, settings.validate(raw), progress, notify)
