"""The redactor of a process: what is registered and what the environment holds."""

import os
from collections.abc import Mapping

from assistant.secrets import registered
from assistant.secrets.environment import from_environment
from assistant.secrets.redactor import Redactor


def redactor(environ: Mapping[str, str] = os.environ) -> Redactor:
    """A redactor of the registered secrets and the environment's. Raises ConfigError."""
    return Redactor(from_environment(environ) | registered.values())


class CurrentRedactor:
    """The redactor of a process that stays: made again once a secret is registered or removed."""

    def __init__(self) -> None:
        self._made: tuple[tuple[int, int] | None, Redactor] | None = None

    def __call__(self) -> Redactor:
        """The redactor as of now. Raises ConfigError."""
        try:
            found = registered.store().stat()
            seen = (found.st_ino, found.st_mtime_ns)
        except FileNotFoundError:
            seen = None
        if self._made is None or self._made[0] != seen:
            self._made = (seen, redactor())
        return self._made[1]
