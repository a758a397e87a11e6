"""A chat with a real small model: whatever it says, no fault of the program's follows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.session import listing
from assistant.workspace.folder import Workspace
from tests.cli import tty as terminal
from tests.cli.conftest import Run
from tests.cli.terminal.test_chat import WORKING, chat, leaves
from tests.support.provider import Provider
from tests.support.small_model import WINDOW, SmallModel, install

MESSAGES = (
    "My sister Lena lives in Porto, and she is allergic to nuts.",
    "Please open the file MEMORY.md for me.",
    "Where does Lena live?",
)


@pytest.fixture(scope="module")
def model(request: pytest.FixtureRequest) -> SmallModel:
    folder = Path(request.config.cache.mkdir("small-model"))
    if not install(folder):
        pytest.skip("the package with a small model cannot be installed")
    return SmallModel(folder)


@pytest.fixture
def provider(model: SmallModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setattr(terminal, "PATIENCE", 600)
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("ASSISTANT_CONTEXT_WINDOW", str(WINDOW))
    with Provider(respond=model, window=WINDOW) as server:
        yield server


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore")
def test_a_chat_with_a_tool_compaction_and_capture(
    place: Path, provider: Provider, model: SmallModel, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat(place, provider) as tty:
        tty.wait("›")
        for number, message in enumerate(MESSAGES, 1):
            tty.say(message)
            tty.wait(lambda _, n=number: len(model.answers) >= n)
            tty.wait("›", gone=WORKING)
        tty.say("/compact")
        tty.wait("›", gone=WORKING)
        assert "Traceback" not in tty.whole
        assert leaves(tty) == 0
    assert listing.sessions(Workspace(place).sessions)
    monkeypatch.setenv("ASSISTANT_MODEL", "openai/test")
    monkeypatch.setenv("ASSISTANT_API_BASE", provider.url)
    captured = run("memory", "capture")
    assert captured.returncode in (0, 1) and "Traceback" not in captured.stdout + captured.stderr
    checked = run("doctor")
    assert "Traceback" not in checked.stdout + checked.stderr
