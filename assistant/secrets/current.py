"""The redactor of a process: registered secrets and those of the environment."""

import os
import re
from collections.abc import Mapping

from assistant.secrets import registered
from assistant.secrets.redactor import Redactor

KEY_NAME = re.compile(
    r"(?:(?:^|_)(?:KEY|PASS|PASSPHRASE|PWD|CREDENTIAL|AUTH|PAT)|APIKEY|PASSWORD|PASSWD|SECRET|TOKEN)"
    r"S?(?:_|$)",
    re.IGNORECASE,
)
"""Names of environment variables that hold keys."""


def from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables whose names mark them as keys, without paths."""
    return {
        name: value
        for name, value in environ.items()
        if KEY_NAME.search(name) and len(value) >= 8 and not value.startswith(("/", "~/"))
    }


def redactor(environ: Mapping[str, str] = os.environ) -> Redactor:
    """Return a redactor of the registered secrets and the environment's. Raises ConfigError."""
    return Redactor(from_environment(environ) | registered.values())


class CurrentRedactor:
    """The redactor of a long-running process, rebuilt when the registered secrets change."""

    def __init__(self) -> None:
        self._cached: tuple[tuple[int, int] | None, Redactor] | None = None

    def __call__(self) -> Redactor:
        """Return the current redactor. Raises ConfigError."""
        try:
            status = registered.store().stat()
            version = (status.st_ino, status.st_mtime_ns)
        except FileNotFoundError:
            version = None
        if self._cached is None or self._cached[0] != version:
            self._cached = (version, redactor())
        return self._cached[1]
