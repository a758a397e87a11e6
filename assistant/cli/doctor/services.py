"""What the program asks: memory with its embedding model and index, and language models."""

import os

from assistant import config
from assistant.app.models import try_model
from assistant.cli.doctor.check import Check, Remark
from assistant.cli.options import Globals
from assistant.display import counted
from assistant.errors import ConfigError, MemoryFailure
from assistant.memory.state import MemoryStatus
from assistant.model import catalogue
from assistant.model.offers import KEYS, OLLAMA, ollama_models
from assistant.settings import tree as settings
from assistant.settings.tree import Settings


def _chosen() -> Settings:
    return settings.validate(config.load())


def _status(options: Globals) -> MemoryStatus:
    with options.memory() as memory:
        return memory.status()


def _embedder(options: Globals) -> str:
    return _status(options).embedder


def _index(options: Globals) -> str:
    state = _status(options)
    trouble = state.server.trouble if state.server else ""
    if notices := [each for each in state.notices if each != trouble]:
        raise Remark("; ".join(notices), "")
    held = f"{counted(state.chunks, 'chunk')} of {counted(len(state.sources), 'file')}"
    return f"{held}, {state.index_bytes / 1e6:.1f} MB"


def _chroma(options: Globals) -> str:
    server = _status(options).server
    if server is None:
        return "inside the workspace"
    if server.trouble:
        raise MemoryFailure(server.trouble, "Start it, or remove index.url")
    if server.lacks:
        lacks = f"{server.url} lacks {counted(server.lacks, 'vector')}"
        raise Remark(lacks, "It is being filled: memory answers from its own catalog meanwhile")
    return f"{server.url} answers, and has every vector"


def _model(_: Globals) -> str:
    chosen = _chosen()
    name = chosen.model.name
    if name is None:
        return "none configured: the offline responder answers (`assistant config set model NAME`)"
    if doubts := catalogue.doubts(name, chosen.model.api_base):
        raise Remark("; ".join(doubts), "`assistant doctor --with-model` asks it for a word")
    return name


def _keys(_: Globals) -> str:
    wanted = [each.api_key_env for each in _chosen().profiles if each.api_key_env]
    if absent := [key for key in wanted if not os.environ.get(key)]:
        raise ConfigError(f"{', '.join(absent)} is named by a profile, and not set", "Export it")
    return ", ".join(key for key in KEYS if os.environ.get(key)) or "none in this shell"


def _ollama(_: Globals) -> str:
    served = ollama_models(OLLAMA)
    if served is None:
        return f"none answers at {OLLAMA}"
    return f"answers at {OLLAMA} with {counted(len(served), 'model')}"


def model_name() -> str | None:
    """The configured model, if the settings are well."""
    try:
        return _chosen().model.name
    except ConfigError:
        return None


def answer(_: Globals) -> str:
    """What the configured model says to a word. Raises ModelError; a remark if there is none."""
    if (name := _chosen().model.name) is None:
        raise Remark("no model is configured", "`assistant config set model NAME` connects one")
    return f"{name} says: {try_model(name)}"


CHECKS: dict[str, Check] = {
    "embedder": _embedder,
    "index": _index,
    "chroma": _chroma,
    "model": _model,
    "keys": _keys,
    "ollama": _ollama,
}
