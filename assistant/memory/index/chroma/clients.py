"""Chroma's clients, of a folder and of a server. The only import of chromadb."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from assistant.settings.memory import IndexSettings

Client = Any
"""Chroma's own annotations leave out what its clients can do, `close` among it."""
PART_SECONDS = 30.0
"""How long a server may be silent within one answer. Chroma would wait for ever."""

_TRACED = "CHROMA_OTEL_GRANULARITY"
"""With this in the environment Chroma tells a collector what it does."""
_EXPORTER = "opentelemetry.exporter.otlp.proto.grpc.trace_exporter"

_M_PERTURB = -6
_FILLED_WITH = 0xA5

_UNUSABLE = {"InvalidArgumentError", "InvalidDimensionException", "NotFoundError"}
_FORBIDDEN = {"ChromaAuthError", "AuthorizationError"}
"""Chroma's errors, by name: nothing is imported to look at one."""


def embedded_client(directory: Path) -> Client:
    """Embedded Chroma on a directory.

    Its hnswlib writes memory to its files as it was given it, unused places too: a vector that was
    purged would lie there again. So what is freed is overwritten from here on, and what is given.
    """
    load()
    import chromadb
    from chromadb.api.shared_system_client import SharedSystemClient

    _overwrite_freed_memory()

    try:
        return chromadb.PersistentClient(str(directory), _quiet())
    except BaseException:
        # Chroma keeps the half-started system, and would give it to the next who opens the path.
        SharedSystemClient.clear_system_cache()
        raise


def server_client(settings: IndexSettings) -> Client:
    """A client of the server that is set; making one asks the server a few things."""
    load()
    import chromadb

    assert settings.url is not None
    url = urlsplit(settings.url)
    key = os.environ.get(settings.api_key_env or "")
    client = chromadb.HttpClient(
        host=url.hostname or "localhost",
        port=url.port or (443 if url.scheme == "https" else 8000),
        ssl=url.scheme == "https",
        headers={"x-chroma-token": key} if key else None,
        settings=_quiet(),
        tenant=settings.tenant,
        database=settings.database,
    )
    for session in _sessions(client):
        session.timeout = PART_SECONDS
    return client


def close_server_client(client: Client) -> None:
    """Close it with its connections, which Chroma leaves open."""
    client.close()
    for session in _sessions(client):
        session.close()


def load() -> None:
    """Import chromadb, which takes a second."""
    with _untraced():
        import chromadb  # noqa: F401


@contextlib.contextmanager
def _untraced() -> Iterator[None]:
    """Leave out what would report on Chroma over gRPC, 12 MB, unless it is told to."""
    wished = any(name.upper() == _TRACED for name in os.environ)
    if wished or _EXPORTER in sys.modules or "chromadb" in sys.modules:
        yield
        return
    sys.modules[_EXPORTER] = stand_in = ModuleType(_EXPORTER)
    vars(stand_in)["OTLPSpanExporter"] = None
    try:
        yield
    finally:
        del sys.modules[_EXPORTER]  # for who really wants it


def _overwrite_freed_memory() -> None:
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # another C library, which has no such option
            ctypes.CDLL(None).mallopt(_M_PERTURB, _FILLED_WITH)


def says_unusable(error: BaseException) -> bool:
    """Whether a server says that our collection is gone, or was made for other vectors."""
    return type(error).__name__ in _UNUSABLE


def says_late(error: BaseException) -> bool:
    """Whether a server took too long: httpx has timeouts of its own."""
    return type(error).__name__.endswith("Timeout")


def says_forbidden(error: BaseException) -> bool:
    """Whether a server wants another token."""
    return type(error).__name__ in _FORBIDDEN


def _quiet() -> Any:
    """No telemetry, and deaf to any `.env` in the current directory."""
    from chromadb.config import Settings

    return Settings(_env_file=None, anonymized_telemetry=False)  # type: ignore[call-arg]


def _sessions(client: Client) -> list[Any]:
    """The HTTP connections of a server's client, and of the client within it."""
    return [each._server._session for each in (client, client._admin_client)]
