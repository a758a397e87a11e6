"""The system's keyring, where there is one."""

from assistant.errors import ConfigError

SERVICE = "assistant"
"""Under which the system's keyring keeps our values."""


def keep(name: str, value: str) -> bool:
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


def read(name: str) -> str:
    """The value kept under a name. Raises ConfigError if the keyring does not give it up."""
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


def drop(name: str) -> None:
    """Have the keyring forget a value. Raises ConfigError if it does not open."""
    import keyring
    from keyring.errors import KeyringError, PasswordDeleteError

    try:
        keyring.delete_password(SERVICE, name)
    except PasswordDeleteError:
        return  # it is gone already
    except (KeyringError, RuntimeError) as error:
        raise ConfigError(f"the keyring does not open: {error}", "Unlock it") from error
