"""Which model answers, by the settings. Imports nothing heavy: litellm waits for the first turn."""

from assistant.model.base import ChatModel
from assistant.model.litellm_model import LitellmModel
from assistant.model.offline import OfflineModel
from assistant.settings import Settings


def create(settings: Settings) -> ChatModel:
    """The configured model, or the offline responder if none is configured."""
    if settings.model.name is None and not settings.profiles:
        return OfflineModel()
    return LitellmModel(settings.model)
