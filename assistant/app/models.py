"""The configured model, asked for something outside of a conversation."""

from collections.abc import Callable, Sequence
from functools import partial

from assistant import config
from assistant.memory.base import Progress, no_progress
from assistant.messages import Message
from assistant.model import select
from assistant.model.base import ChatModel, TextPiece
from assistant.secrets.current import redactor
from assistant.settings import tree as settings
from assistant.upkeep.quiz_by_model import questions
from assistant.upkeep.tidy import Judge
from assistant.upkeep.tidy_by_model import relations
from assistant.workspace import trust
from assistant.workspace.folder import Workspace

Asker = Callable[[Sequence[str]], Sequence[str | None]]
"""Makes a question of each fact, or None."""


def try_model(name: str) -> str:
    """What a model says to a word if it is configured, asked once. Raises ModelError."""
    hasty = {"name": name, "retry_seconds": 0.0, "first_token_seconds": 60.0}
    chosen = settings.validate(config.load({"model": hasty}))
    model = select.create(chosen.model_copy(update={"profiles": ()}))
    pieces = model.stream([Message("user", "Say hello in one word.")])
    return "".join(each.text for each in pieces if isinstance(each, TextPiece)).strip()


def judge(place: Workspace) -> Judge | None:
    """Who says how facts relate: the configured model; None without one, or without trust."""
    model = _reader(place)
    return partial(relations, model, redact=redactor().redact) if model else None


def asker(place: Workspace, progress: Progress = no_progress) -> Asker | None:
    """Who makes questions of facts: the configured model; None without one, or without trust."""
    model = _reader(place)
    if model is None:
        return None
    return partial(questions, model, redact=redactor().redact, progress=progress)


def _reader(place: Workspace) -> ChatModel | None:
    """The configured model, if it may be shown what memory holds, and can make sense of it."""
    model = select.create(settings.validate(config.load()))
    return model if model.extracts and trust.is_trusted(place) else None
