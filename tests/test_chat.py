"""An open chat goes over to another session, or stays where it is."""

from pathlib import Path

import pytest

from assistant import config
from assistant.app.chat import open_chat
from assistant.app.options import ChatOptions
from assistant.errors import StorageError
from assistant.session import transcript
from assistant.session.entries import UserEntry
from assistant.workspace import template, trust


def test_a_session_that_cannot_be_gone_over_to_is_not_left_open(tmp_path: Path) -> None:
    place = template.create(tmp_path / "place").workspace
    trust.grant(place)
    record = transcript.create(place.sessions)
    record.append(UserEntry("hello"))
    record.close()
    config.config_file().parent.mkdir(parents=True, exist_ok=True)
    config.config_file().write_text("[mcpServers.tides]\ncommand = 'tides'\n")
    pins = config.state_dir() / "mcp.json"
    pins.parent.mkdir(parents=True, exist_ok=True)
    pins.write_text('{"tides": {"tools": {}}}')
    with open_chat(place, ChatOptions(), no_daemon=True) as chat:
        before = chat.conversation
        pins.write_text("{")
        with pytest.raises(StorageError):
            chat.switch(record.session)
        assert chat.conversation is before
        pins.write_text('{"tides": {"tools": {}}}')
        chat.switch(record.session)
        assert chat.conversation.transcript.session == record.session
