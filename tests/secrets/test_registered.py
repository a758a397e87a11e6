from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.backends.fail
import pytest

from assistant.app.chat import open_chat
from assistant.app.options import ChatOptions
from assistant.errors import ConfigError, UsageError
from assistant.secrets import registered
from assistant.secrets.registered import redactor
from assistant.workspace import template, trust
from tests.support.scripted import ScriptedModel


class Keyring(keyring.backend.KeyringBackend):
    """A keyring of this test alone."""

    priority = 5

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def no_keyring() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def system_keyring() -> Iterator[Keyring]:
    before = keyring.get_keyring()
    kept = Keyring()
    keyring.set_keyring(kept)
    yield kept
    keyring.set_keyring(before)


def test_without_a_keyring_values_are_in_a_file_of_the_owner_alone(
    no_keyring: None, home: Path
) -> None:
    assert registered.names() == []
    where = registered.add("DOOR", "open-sesame")
    assert where == str(home / ".config/assistant/secrets.json")
    assert Path(where).stat().st_mode & 0o777 == 0o600
    assert Path(where).parent.stat().st_mode & 0o777 == 0o700
    registered.add("DOOR", "close-sesame")
    registered.add("ALPHA", "aaaaaa")
    assert registered.names() == ["ALPHA", "DOOR"]
    assert registered.values() == {"DOOR": "close-sesame", "ALPHA": "aaaaaa"}
    assert redactor({}).redact("close-sesame") == "[[secret:DOOR]]"
    registered.remove("DOOR")
    assert registered.names() == ["ALPHA"]
    assert "close-sesame" not in Path(where).read_text()


def test_with_a_keyring_values_are_in_it_and_the_file_has_names(system_keyring: Keyring) -> None:
    assert registered.add("DOOR", "open-sesame") == "the keyring"
    assert system_keyring.kept == {("assistant", "DOOR"): "open-sesame"}
    assert "open-sesame" not in registered.store().read_text()
    assert registered.values() == {"DOOR": "open-sesame"}
    registered.remove("DOOR")
    assert system_keyring.kept == {}
    assert registered.names() == []


def test_a_value_gone_from_the_keyring_is_named(system_keyring: Keyring) -> None:
    registered.add("DOOR", "open-sesame")
    system_keyring.kept.clear()
    with pytest.raises(ConfigError, match="no longer holds DOOR"):
        registered.values()


@pytest.mark.parametrize(("name", "value"), [("a-b", "x" * 9), ("", "x" * 9), ("A", "short")])
def test_what_cannot_be_a_secret_is_refused(no_keyring: None, name: str, value: str) -> None:
    with pytest.raises(UsageError):
        registered.add(name, value)
    with pytest.raises(UsageError):
        registered.remove("UNKNOWN")


def test_a_file_that_others_can_read_or_that_is_damaged_is_refused(no_keyring: None) -> None:
    registered.add("DOOR", "open-sesame")
    registered.store().chmod(0o644)
    with pytest.raises(ConfigError, match="read by others"):
        redactor({})
    registered.store().chmod(0o600)
    registered.store().write_text("{")
    with pytest.raises(ConfigError, match="damaged"):
        redactor({})


def test_a_chat_that_is_open_knows_what_another_shell_registers(
    no_keyring: None, tmp_path: Path
) -> None:
    place = template.create(tmp_path / "place").workspace
    trust.grant(place)
    with open_chat(place, ChatOptions(), no_daemon=True) as chat:
        chat.conversation.model = model = ScriptedModel("One.", "Two.", "Three.")
        list(chat.send("We say blue-door-at-dusk to the porter"))
        registered.add("PORTER", "blue-door-at-dusk")
        list(chat.send("The word is blue-door-at-dusk"))
        assert "The word is [[secret:PORTER]]" in str(model.requests[-1])
        registered.remove("PORTER")
        list(chat.send("blue-door-at-dusk is no secret any more"))
        assert "blue-door-at-dusk is no secret" in str(model.requests[-1])
