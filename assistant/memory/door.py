"""How a command comes by memory: over the daemon's socket, or in this process."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from assistant import config
from assistant.errors import DaemonError
from assistant.memory.base import Notify, Origin, Progress, no_notices, no_progress
from assistant.memory.daemon import client
from assistant.memory.protocol import Keeper
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.disk.locking import Lock
    from assistant.memory.writing.copies import Copies
    from assistant.settings.tree import Settings

TAKE_OVERS, TAKE_OVER_SECONDS = 5, 1.0
"""How often a daemon is asked to yield that others start again, and the wait in between."""


def open_memory(
    place: Workspace,
    raw: config.Raw,
    *,
    no_daemon: bool = False,
    progress: Progress = no_progress,
    notify: Notify = no_notices,
) -> Keeper:
    """Memory over the workspace's daemon, started if need be, or in this process.

    `raw` are the settings of `config.load`; `notify` takes what the owner should know. Raises
    ConfigError, DaemonError, EmbedderError, StorageError.
    """
    if not no_daemon:
        return client.connect(place, raw, progress, notify)
    from assistant.settings import tree as settings  # pydantic: not for clients

    return open_in_process(place, settings.validate(raw), progress, notify)


def amending(
    place: Workspace, texts: Mapping[str, str], origin: Origin
) -> AbstractContextManager[None]:
    """Journal a change of whole memory files (source to new text), which the block makes.

    It is one write, so that `undo` takes it back. If the block raises, it must have changed
    nothing. Raises StorageError if a file is not UTF-8.
    """
    from assistant.memory.writing.transaction import Commits  # a markdown parser: not for clients

    return Commits(place).amending(texts, origin)


def replace_files(
    place: Workspace, texts: Mapping[str, tuple[str, str]], origin: Origin, together: str = ""
) -> None:
    """Give memory files (source to what it says and shall say) new texts, which `undo` takes back.

    Those of one name of `together` are undone together. Raises LedgerError if a file changed
    meanwhile, StorageError.
    """
    from assistant.memory.writing.transaction import Commits  # a markdown parser: not for clients

    Commits(place).replace(texts, origin, together)


def copies(place: Workspace) -> "Copies":
    """The copies that syncing left of memory files, to be taken in."""
    from assistant.memory.writing.copies import Copies  # a markdown parser: not for clients

    return Copies(place)


def open_in_process(
    workspace: Workspace,
    settings: "Settings",
    progress: Progress = no_progress,
    notify: Notify = no_notices,
) -> Keeper:
    """Memory in this process, which owns the index until `close`; a live daemon is seen off.

    Raises DaemonError if the owner keeps it, EmbedderError, StorageError.
    """
    from assistant.memory import opening  # loads onnxruntime: not for clients

    held = _take_over(workspace, progress)
    try:
        return opening.open_local(workspace, settings, progress, notify, held.release)
    except BaseException:
        held.release()
        raise


def _take_over(workspace: Workspace, progress: Progress) -> "Lock":
    """The claim, once whatever daemon runs has yielded; an open chat may start it again."""
    from assistant.memory.daemon import lifecycle  # not for clients

    for seconds in (*[TAKE_OVER_SECONDS] * TAKE_OVERS, lifecycle.CLAIM_SECONDS):
        lifecycle.ask_to_yield(workspace)
        try:
            return lifecycle.claim(workspace, seconds, progress)
        except DaemonError as error:
            failure = error
    raise failure
