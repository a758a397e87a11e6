"""The redactor of a process: what is registered and what the environment holds."""

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
"""An environment variable of such a name holds a key."""


def from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The values of the variables whose names say that they are keys, paths left out."""
    return {
        name: value
        for name, value in environ.items()
        if KEY_NAME.search(name) and len(value) >= 8 and not value.startswith(("/", "~/"))
    }


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
