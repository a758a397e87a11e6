"""The configured model, asked for something outside of a conversation."""

from functools import partial

from assistant import config
from assistant.messages import Message
from assistant.model import select
from assistant.model.base import TextPiece
from assistant.secrets.current import redactor
from assistant.settings import tree as settings
from assistant.upkeep.tidy import Judge
from assistant.upkeep.tidy_by_model import relations
from assistant.workspace import trust
from assistant.workspace.folder import Workspace


def try_model(name: str) -> str:
    """What a model says to a word if it is configured, asked once. Raises ModelError."""
    hasty = {"name": name, "retry_seconds": 0.0, "first_token_seconds": 60.0}
    chosen = settings.validate(config.load({"model": hasty}))
    model = select.create(chosen.model_copy(update={"profiles": ()}))
    pieces = model.stream([Message("user", "Say hello in one word.")])
    return "".join(each.text for each in pieces if isinstance(each, TextPiece)).strip()


def judge(place: Workspace) -> Judge | None:
    """Who says how facts relate: the configured model; None without one, or without trust."""
    model = select.create(settings.validate(config.load()))
    if not (model.extracts and trust.is_trusted(place)):
        return None
    return partial(relations, model, redact=redactor().redact)
