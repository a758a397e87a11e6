"""The means of recall that `scripts/eval --without NAME` can switch off, one by one."""

from collections.abc import Callable, Mapping

from assistant.errors import UsageError
from assistant.settings.memory import MemorySettings
from assistant.settings.tree import Settings

Change = Callable[[Settings], Settings]


def _memory(**changed: object) -> Change:
    def change(settings: Settings) -> Settings:
        memory = MemorySettings.model_validate({**settings.memory.model_dump(), **changed})
        return settings.model_copy(update={"memory": memory})

    return change


MEANS: Mapping[str, Change] = {
    "abstaining": _memory(abstain=False),
}
"""What each leaves out."""


def without(name: str | None) -> Settings:
    """The settings without one of the means; all of them for None. Raises UsageError."""
    if name is None:
        return Settings()
    if name not in MEANS:
        raise UsageError(f"there are no means {name!r}", f"Name one of: {', '.join(MEANS)}")
    return MEANS[name](Settings())
