"""The secrets that the owner registered, and the redactor of these and the environment's.

Their names are in a file, their values in the system's keyring; without a keyring the values are
also in the file, which only the owner may read.
"""

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assistant.config import config_file
from assistant.disk import locking, storage
from assistant.errors import ConfigError, UsageError
from assistant.secrets.patterns import PATTERNS
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import SHORTEST

SERVICE = "assistant"
"""The service name of the values in the keyring."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def store() -> Path:
    """Return the file of the registered names, and of their values if there is no keyring."""
    return config_file().parent / "secrets.json"


def names() -> list[str]:
    """Return the names of the registered secrets, sorted."""
    return sorted(_read())


class SecretLost(ConfigError):
    """The keyring no longer holds a value."""


def values() -> dict[str, str]:
    """Return the registered secrets. Raises ConfigError if the keyring fails."""
    return {name: _resolved(name, value) for name, value in _read().items()}


def add(name: str, value: str) -> str:
    """Register a secret, or replace its value; return where it is stored.

    Raises UsageError for an invalid name or value.
    """
    check(name, value)
    with _lock():
        in_keyring = _store_in_keyring(name, value)
        _write({**_read(), name: None if in_keyring else value})
    return "the keyring" if in_keyring else str(store())


def check(name: str, value: str) -> None:
    """Raise UsageError for an invalid name or value."""
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a secret", "Use letters, digits and underscores")
    if len(value) < SHORTEST:
        raise UsageError(
            f"a secret of fewer than {SHORTEST} characters would be found in ordinary text",
            "Give the whole value",
        )


def remove(name: str) -> None:
    """Delete a registered secret. Raises UsageError if there is none of that name."""
    with _lock():
        values = _read()
        _check_known(name, values)
        if values.pop(name) is None:
            with _keyring() as keyring, contextlib.suppress(keyring.errors.PasswordDeleteError):
                keyring.delete_password(SERVICE, name)  # it may already be gone
        _write(values)


def value(name: str) -> str:
    """Return a registered secret. Raises UsageError if there is none of that name, and ConfigError
    if the keyring fails."""
    values = _read()
    _check_known(name, values)
    return _resolved(name, values[name])


def _check_known(name: str, values: Mapping[str, str | None]) -> None:
    if name not in values:
        raise UsageError(f"there is no secret {name!r}", "Run `assistant secrets show`")


def _lock() -> locking.Lock:
    """Lock the file, so that concurrent registrations are all kept."""
    return locking.lock(storage.private_directory(store().parent) / "secrets.lock")


def _read() -> dict[str, str | None]:
    """Return the values by name, None for a value in the keyring."""
    try:
        data = storage.read(store())
    except FileNotFoundError:
        return {}
    if stat.S_IMODE(store().stat().st_mode) & 0o077:
        raise ConfigError(f"{store()} can be read by others", f"Run `chmod 600 {store()}`")
    try:
        values = json.loads(data)["secrets"]
        return {str(name): value if value is None else str(value) for name, value in values.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{store()} is damaged", "Correct it, or delete it") from error


def _write(values: Mapping[str, str | None]) -> None:
    storage.private_directory(store().parent)
    storage.replace(store(), json.dumps({"version": 1, "secrets": values}, indent=2).encode())


@contextlib.contextmanager
def _keyring() -> Iterator[Any]:
    """Yield the module of the system's keyring. Raises ConfigError if it fails."""
    import keyring  # 0.1 s, and it may ask the owner to unlock: imported only when needed
    from keyring.errors import KeyringError

    try:
        yield keyring
    except (KeyringError, RuntimeError) as error:
        raise ConfigError(f"the keyring cannot be opened: {error}", "Unlock it") from error


def _store_in_keyring(name: str, value: str) -> bool:
    """Store the value in the system's keyring; return whether that worked."""
    with contextlib.suppress(ConfigError), _keyring() as keyring:
        if keyring.get_keyring().priority >= 1:
            keyring.set_password(SERVICE, name, value)
            return True
    return False


def _resolved(name: str, value: str | None) -> str:
    """Return the value, from the keyring if the file has none. Raises ConfigError on failure."""
    if value is not None:
        return value
    with _keyring() as keyring:
        stored: str | None = keyring.get_password(SERVICE, name)
    if stored is None:
        raise SecretLost(
            f"the keyring no longer holds {name}", f"Run `assistant secrets add {name}`"
        )
    return stored


# The redactor


def from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables whose names mark them as keys, without paths."""
    names_a_key = PATTERNS["key_name"]
    return {
        name: value
        for name, value in environ.items()
        if names_a_key.search(name) and len(value) >= 8 and not value.startswith(("/", "~/"))
    }


def redactor(environ: Mapping[str, str] = os.environ) -> Redactor:
    """Return a redactor of the registered secrets and the environment's. Raises ConfigError."""
    return Redactor(from_environment(environ) | values())


class CurrentRedactor:
    """The redactor of a long-running process, which follows the registered secrets."""

    def __init__(self) -> None:
        self._redactor = Redactor()
        self._version: storage.Stat | None = None
        self._is_new = True

    def __call__(self) -> Redactor:
        """Return a redactor of the currently registered secrets. Raises ConfigError."""
        version = storage.stat_or_none(store())
        if self._is_new or version != self._version:
            self._redactor.replace(from_environment(os.environ) | values())
            self._version, self._is_new = version, False
        return self._redactor
