"""Opens memory in this process: the model loads while the rest is still being imported."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from assistant.memory.base import Notify, Progress, no_notices, no_progress
from assistant.memory.embedding import compile
from assistant.secrets.current import CurrentRedactor
from assistant.settings.memory import EmbeddingSettings
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.memory.index.ahead import Ahead
    from assistant.memory.local import LocalMemory


def open_local(
    workspace: Workspace,
    settings: Settings,
    progress: Progress = no_progress,
    notify: Notify = no_notices,
    let_go: Callable[[], None] | None = None,
    *,
    resident: bool = False,
) -> "LocalMemory":
    """Memory in this process, which must own the index (`owner.py`); the files are not read yet.

    `let_go` is called when it is closed; `resident` says that it stays. Raises
    EmbedderError, StorageError.
    """
    with ThreadPoolExecutor(1) as loader:
        loading = loader.submit(compile.load, settings.embedding, progress)
        from assistant.memory.local import LocalMemory  # 0.2 s, on the other core

        embedder = loading.result()
    redactor = CurrentRedactor()
    return LocalMemory(
        workspace,
        settings,
        embedder,
        progress,
        notify,
        let_go,
        redactor=redactor,
        resident=resident,
    )


def open_ahead(
    workspace: Workspace, embedding: EmbeddingSettings, progress: Progress = no_progress
) -> "Ahead":
    """What another embedding model has to do before memory can go over to it.

    The index belongs to whom it belongs to meanwhile. Raises EmbedderError, StorageError.
    """
    from assistant.memory.index.ahead import Ahead

    return Ahead(workspace, compile.load(embedding, progress), CurrentRedactor())
