"""What another embedding model has to do before memory is asked by it, in words."""

from typing import TYPE_CHECKING

from assistant import config
from assistant.cli.progress import ProgressLine
from assistant.display import counted, spelled
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.settings.memory import EmbeddingSettings

WAITS = "The next question waits for that; by `assistant memory model` none does"


def embedding_by(name: str) -> "EmbeddingSettings":
    """The settings of embedding as they are, but with this model."""
    from assistant.settings.memory import EmbeddingSettings
    from assistant.settings.tree import validate

    own = validate(config.load()).embedding.model_dump()
    return EmbeddingSettings.model_validate({**own, "model": name})


def cost_of(place: Workspace, name: str) -> str:
    """What it costs in this workspace. Raises EmbedderError where the model cannot be used."""
    from assistant.memory.opening import open_ahead

    with ProgressLine() as progress:
        plan = open_ahead(place, embedding_by(name), progress).plan()
    told = cost(name, plan.texts, plan.total, plan.seconds, plan.bytes)
    return f"{told}\n{WAITS}" if plan.texts else told


def cost(name: str, texts: int, total: int, seconds: float, size: int) -> str:
    """A plan in words."""
    return (
        f"{spelled(name)} has {counted(texts, 'text')} of {total:,} to embed:"
        f" about {_time(seconds)} here, {size / 1e6:.1f} MB"
    )


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(1, round(seconds))} s"
