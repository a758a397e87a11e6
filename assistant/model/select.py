"""Chooses the model by the settings. Imports nothing heavy: litellm is imported on the first
turn."""

from assistant import config
from assistant.events import TextDelta
from assistant.messages import Message
from assistant.model.base import ChatModel
from assistant.model.offline import OfflineModel
from assistant.model.profiles import ProfiledModel
from assistant.model.provider.litellm_model import LitellmModel
from assistant.model.text_tools import TextTools
from assistant.settings.sections import ModelSettings, ProfileSettings
from assistant.settings.tree import Settings, validate


def create(settings: Settings, *, patience: float | None = None) -> ChatModel:
    """Return the configured model and its fallbacks, or the offline responder if there is none.

    A failed request is retried for `patience` seconds, by default `model.retry_seconds`.
    """
    models = [_model(settings.model)] if settings.model.name else []
    models += [_fallback(profile, settings.model) for profile in settings.profiles]
    if not models:
        return OfflineModel()
    return ProfiledModel(
        models, patience=settings.model.retry_seconds if patience is None else patience
    )


def try_model(name: str) -> str:
    """Return a model's response to a short prompt, configured by this name. Raises ModelError."""
    settings = validate(config.load({"model": {"name": name, "timeout_seconds": 24.0}}))
    model = create(settings.model_copy(update={"profiles": ()}), patience=0.0)
    pieces = model.stream([Message("user", "Say hello in one word.")])
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)).strip()


def _fallback(profile: ProfileSettings, shared: ModelSettings) -> ChatModel:
    """Return the model of a profile; settings missing there come from [model]."""
    own = profile.model_dump(include={"name", "api_base", "context_window"})
    return _model(shared.model_copy(update=own), profile.api_key_env)


def _model(settings: ModelSettings, api_key_env: str | None = None) -> ChatModel:
    model = LitellmModel(settings, api_key_env=api_key_env)
    if settings.tool_format == "native":
        return model
    return TextTools(model, native=settings.tool_format == "auto")


def with_model(settings: Settings, name: str) -> Settings:
    """Return the settings with another model in first position, for `/model`.

    A profile of that name brings its own address and key. An address and a window set for one
    provider's model do not apply to another provider's.
    """
    own_profiles = [profile for profile in settings.profiles if profile.name == name]
    if own_profiles:
        others = tuple(profile for profile in settings.profiles if profile.name != name)
        unnamed = settings.model.model_copy(update={"name": None})
        return settings.model_copy(update={"model": unnamed, "profiles": (*own_profiles, *others)})
    changed: dict[str, object] = {"name": name}
    if _provider(name) != _provider(settings.model.name or ""):
        changed |= {"api_base": None, "context_window": None}
    return settings.model_copy(update={"model": settings.model.model_copy(update=changed)})


def _provider(name: str) -> str:
    return name.partition("/")[0].removesuffix("_chat")
