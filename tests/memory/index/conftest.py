"""A real Chroma server for all tests of the index that ask one."""

from collections.abc import Iterator

import pytest

from tests.support.chroma import ChromaServer


@pytest.fixture(scope="session")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    """A server that is there, with whatever others put on it."""
    server = ChromaServer(tmp_path_factory.mktemp("server"))
    server.start()
    yield server
    server.stop()
