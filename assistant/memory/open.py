"""Open the memory of a workspace: over its daemon's socket, or in this process.

Clients import this module, so whatever parses markdown, loads a model or validates settings is
imported only when needed.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from assistant import config
from assistant.memory.base import Keeper, Notify, Origin, Progress, no_notices, no_progress
from assistant.memory.daemon import client
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.memory.index.model_switch import ModelSwitch
    from assistant.memory.writing.copies import Copies
    from assistant.settings.sections import EmbeddingSettings
    from assistant.settings.tree import Settings


def open_memory(
    workspace: Workspace,
    raw: config.Raw,
    *,
    no_daemon: bool = False,
    progress: Progress = no_progress,
    notify: Notify = no_notices,
) -> Keeper:
    """Open memory over the workspace's daemon, which is started if needed, or in this process.

    `raw` are the settings from `config.load`; `notify` receives lines for the owner. Raises
    ConfigError, DaemonError, EmbedderError, StorageError.
    """
    if not no_daemon:
        return client.connect(workspace, raw, progress, notify)
    from assistant.settings import tree as settings

    return open_in_process(workspace, settings.validate(raw), progress, notify)


def open_in_process(
    workspace: Workspace,
    settings: "Settings",
    progress: Progress = no_progress,
    notify: Notify = no_notices,
) -> Keeper:
    """Open memory in this process, which owns the index until `close`; a daemon has to yield it.

    Raises DaemonError if another process does not release the index, EmbedderError, StorageError.
    """
    from assistant.memory.daemon import lifecycle

    def has_yielded() -> bool:
        lifecycle.ask_to_yield(workspace)  # a chat may have started it again
        return False

    lifecycle.ask_to_yield(workspace)
    lock = lifecycle.claim(workspace, progress=progress, is_needless=has_yielded)
    assert lock is not None
    try:
        return lifecycle.open_owned(workspace, settings, progress, notify, lock.release)
    except BaseException:
        lock.release()
        raise


def open_model_switch(
    workspace: Workspace, embedding: "EmbeddingSettings", progress: Progress = no_progress
) -> "ModelSwitch":
    """Prepare the switch to another embedding model; the index need not be owned.

    Raises EmbedderError, StorageError.
    """
    from assistant.memory.embedding import compile
    from assistant.memory.index.model_switch import ModelSwitch
    from assistant.secrets.registered import CurrentRedactor

    return ModelSwitch(workspace, compile.load(embedding, progress), CurrentRedactor())


def amending(
    workspace: Workspace, texts: Mapping[str, str], origin: Origin
) -> AbstractContextManager[None]:
    """Journal the change of whole memory files (source to new text) that the block makes.

    It is one write, so `undo` reverses it. If the block raises, it must have changed nothing.
    Raises StorageError if a file is not UTF-8.
    """
    from assistant.memory.writing.transaction import Commits

    return Commits(workspace).amending(texts, origin)


def amend_files(
    workspace: Workspace, texts: Mapping[str, tuple[str, str]], origin: Origin, together: str = ""
) -> None:
    """Replace the texts of memory files (source to old and new text), as one write for `undo`.

    Writes with the same `together` are undone together. Raises LedgerError if a file has changed,
    StorageError.
    """
    from assistant.memory.writing.transaction import Commits

    Commits(workspace).replace(texts, origin, together)


def with_item(text: str, title: str, item: str) -> tuple[str, int]:
    """Return the text with `item` as the last list item under `## {title}`, and its line number.

    Raises LedgerError if the text has no position for it.
    """
    from assistant.memory.writing.markup import insertion, item_of, line_of

    splice = insertion(text, f"## {title}", item)
    text = splice.apply(text)
    return text, line_of(text, item_of(splice.inserted))


def copies(workspace: Workspace) -> "Copies":
    """Return the conflict copies of memory files that syncing left behind."""
    from assistant.memory.writing.copies import Copies

    return Copies(workspace)
