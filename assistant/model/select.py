"""Which model answers, by the settings. Imports nothing heavy: litellm waits for the first turn."""

from assistant.model.base import ChatModel
from assistant.model.litellm_model import LitellmModel
from assistant.model.offline import OfflineModel
from assistant.model.profiles import ProfiledModel
from assistant.model.xml_tools import AutoTools, XmlTools
from assistant.settings import ModelSettings, ProfileSettings, Settings


def create(settings: Settings) -> ChatModel:
    """The configured model and then its fallbacks, or the offline responder if there is none."""
    models = [_model(settings.model)] if settings.model.name else []
    models += [_fallback(profile, settings.model) for profile in settings.profiles]
    return ProfiledModel(models) if models else OfflineModel()


def _fallback(profile: ProfileSettings, shared: ModelSettings) -> ChatModel:
    """A profile is a model of its own; what it does not say it shares with [model]."""
    own = profile.model_dump(include={"name", "api_base", "context_window"})
    return _model(shared.model_copy(update=own), profile.api_key_env)


def _model(settings: ModelSettings, api_key_env: str | None = None) -> ChatModel:
    model = LitellmModel(settings, api_key_env=api_key_env)
    match settings.tool_format:
        case "native":
            return model
        case "xml":
            return XmlTools(model)
        case _:
            return AutoTools(model)
