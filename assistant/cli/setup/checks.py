"""The checks of `assistant doctor`: each says what is well, or raises an error with its cure."""

import sys
from collections.abc import Callable

from assistant import config, settings, workspace
from assistant.cli.options import Globals
from assistant.display import counted
from assistant.errors import StorageError


def _python(_: Globals) -> str:
    return sys.version.split()[0]


def _settings(_: Globals) -> str:
    settings.validate(config.load())
    path = config.config_file()
    return f"{path} is valid" if path.exists() else "all at their defaults"


def _workspace(options: Globals) -> str:
    place = options.place()
    for name in (*workspace.ALWAYS_FILES, *place.sources()):
        try:
            workspace.read_text(place.root / name)
        except FileNotFoundError:
            raise StorageError(
                f"{name} is missing", f"Run `assistant init {place.root}`, it adds what is missing"
            ) from None
    return str(place.root)


def _memory(options: Globals) -> str:
    with options.memory() as memory:
        state = memory.status()
    return f"{counted(state.chunks, 'chunk')} indexed by {state.embedder}"


def _model(_: Globals) -> str:
    model = settings.validate(config.load()).model
    if model.name is None:
        return "none configured: the offline responder answers (`assistant config set model NAME`)"
    return model.name


CHECKS: dict[str, Callable[[Globals], str]] = {
    "python": _python,
    "settings": _settings,
    "workspace": _workspace,
    "memory": _memory,
    "model": _model,
}
