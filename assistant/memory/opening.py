"""Opens memory in this process: the model loads while the rest is still being imported."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from assistant.memory.base import Notify, Progress, no_notices, no_progress
from assistant.memory.embedding import compile
from assistant.secrets.standing import Standing
from assistant.settings import Settings
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.memory.local.memory import LocalMemory


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
        from assistant.memory.local.memory import LocalMemory  # 0.2 s, on the other core

        embedder = loading.result()
    redactor = Standing()
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
