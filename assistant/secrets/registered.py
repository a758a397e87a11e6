"""The secrets that the owner registered: names in a file, values in the system's keyring.

Without a keyring the values are in the file too, which only the owner may read.
"""

import json
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from assistant.config import config_file
from assistant.disk import locking, storage
from assistant.errors import ConfigError, UsageError
from assistant.secrets.stand_ins import SHORTEST

SERVICE = "assistant"
"""Under which the system's keyring keeps our values."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def store() -> Path:
    """The file of the registered names, and of their values where there is no keyring."""
    return config_file().parent / "secrets.json"


def names() -> list[str]:
    """The names of the registered secrets, sorted."""
    return sorted(_read())


def values() -> dict[str, str]:
    """The registered secrets. Raises ConfigError if the keyring does not give one up."""
    return {name: _opened(name, value) for name, value in _read().items()}


def add(name: str, value: str) -> str:
    """Register a secret, or replace its value; returns where it is kept, `keyring` or the file.

    Raises UsageError for a name or a value that cannot be one.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a secret", "Use letters, digits and underscores")
    if len(value) < SHORTEST:
        raise UsageError(
            f"a secret of fewer than {SHORTEST} characters would be found in ordinary text",
            "Give the whole value",
        )
    with _alone():
        kept = _keep(name, value)
        _write({**_read(), name: None if kept else value})
    return "keyring" if kept else str(store())


def remove(name: str) -> None:
    """Forget a registered secret. Raises UsageError if there is none of that name."""
    with _alone():
        values = _read()
        _known(name, values)
        if values.pop(name) is None:
            _drop(name)
        _write(values)


def value(name: str) -> str:
    """A registered secret. Raises UsageError if there is none of that name, and ConfigError if the
    keyring does not give it up."""
    values = _read()
    _known(name, values)
    return _opened(name, values[name])


def _known(name: str, values: Mapping[str, str | None]) -> None:
    if name not in values:
        raise UsageError(f"there is no secret {name!r}", "Run `assistant secrets show`")


def _alone() -> locking.Lock:
    """A lock, so that two that register at once both do."""
    return locking.lock(storage.private_directory(store().parent) / "secrets.lock")


def _read() -> dict[str, str | None]:
    """Name → value, None for a value in the keyring."""
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


def _keep(name: str, value: str) -> bool:
    """Whether the system has a keyring, and it took the value."""
    import keyring  # 0.1 s, and it may ask the owner to unlock: only where a secret is kept
    from keyring.errors import KeyringError

    try:
        if keyring.get_keyring().priority < 1:
            return False
        keyring.set_password(SERVICE, name, value)
    except (KeyringError, RuntimeError):
        return False
    return True


def _opened(name: str, value: str | None) -> str:
    """The value, from the keyring if the file has none. Raises ConfigError if that fails."""
    if value is not None:
        return value
    import keyring
    from keyring.errors import KeyringError

    try:
        value = keyring.get_password(SERVICE, name)
    except (KeyringError, RuntimeError) as error:
        raise ConfigError(f"the keyring does not open: {error}", "Unlock it") from error
    if value is None:
        raise ConfigError(
            f"the keyring no longer holds {name}", f"Run `assistant secrets add {name}`"
        )
    return value


def _drop(name: str) -> None:
    import keyring
    from keyring.errors import KeyringError, PasswordDeleteError

    try:
        keyring.delete_password(SERVICE, name)
    except PasswordDeleteError:
        return  # it is gone already
    except (KeyringError, RuntimeError) as error:
        raise ConfigError(f"the keyring does not open: {error}", "Unlock it") from error
