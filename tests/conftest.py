"""Every test has a home of its own; only compiled embedding models are shared between them."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from assistant.cli import resident
from assistant.disk import storage
from assistant.memory.embedding import compile
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.settings.sections import EmbeddingSettings
from assistant.workspace.folder import Workspace
from tests.support.provider import Provider

ROOT = Path(__file__).resolve().parent.parent
KEYS = ("_API_KEY", "_TOKEN", "_SECRET")


def pytest_configure(config: pytest.Config) -> None:
    """The default run tries the same examples each time; no run judges them by a clock."""
    settings.register_profile(
        "tests",
        deadline=None,
        derandomize=config.option.markexpr == "not slow",
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("tests")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HOME, and an environment without settings or keys."""
    place = tmp_path / "home"
    place.mkdir()
    for name in list(os.environ):
        if name.startswith(("ASSISTANT_", "XDG_")) or name.endswith(KEYS):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(place))
    models = ROOT / ".cache" / "assistant" / "models"
    models.mkdir(parents=True, exist_ok=True)
    cache = tmp_path / "cache"
    (cache / "assistant").mkdir(parents=True)
    (cache / "assistant" / "models").symlink_to(models)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("ASSISTANT_MEMORY__CAPTURE", "compaction")  # no process after each chat
    monkeypatch.setenv("ASSISTANT_MEMORY__UPKEEP", "never")
    return place


@pytest.fixture(autouse=True)
def nothing_closed() -> None:
    """No folder of another test's keeps programs from being found."""
    storage.TOOL_FOLDERS.clear()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with an empty MEMORY.md."""
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    return Workspace(root)


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A language-model provider on a local socket, with an empty script."""
    with Provider() as server:
        yield server


@pytest.fixture(autouse=True, scope="session")
def resident_ended() -> Iterator[None]:
    """The process that waits for `ask` serves all tests, and is ended after the last."""
    yield
    with pytest.MonkeyPatch.context() as as_in_tests:
        as_in_tests.delenv("XDG_RUNTIME_DIR", raising=False)
        resident.stop()


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> None:
    """Ctrl-C and a hang-up work in tests and their children, also where the run was started in the
    background or by `nohup`."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True, scope="session")
def loopless() -> None:
    """Without a loop of this thread litellm ends each that it needs, and leaves none open."""
    asyncio.set_event_loop(None)


@pytest.fixture(scope="session")
def embedder() -> PolyglotEmbedder:
    """all-MiniLM-L6-v2 on onnxruntime, compiled once into the cache that all tests share."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(ROOT / ".cache")
    try:
        loaded = compile.load(EmbeddingSettings())
    finally:
        os.environ.pop("XDG_CACHE_HOME")
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before
    assert isinstance(loaded, PolyglotEmbedder)
    return loaded
