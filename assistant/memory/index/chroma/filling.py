"""Chroma's data filled by a process of its own.

To take vectors in, Chroma's native part keeps Python's lock: a thousand at a time for a second of
every other thread's time. In here it holds up nobody.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.chroma.base import SPACE, VectorsDamaged
from assistant.memory.index.chroma.clients import embedded_client

NICE = 5
"""Whoever answers goes first."""
_PR_SET_PDEATHSIG = 1


class Filling:
    """What the process is told; each is done, and on the disk, when the call returns."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def upsert(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Put vectors under ids, new or not."""
        self._tell(ids, vectors)

    def delete(self, ids: Sequence[str]) -> None:
        """Remove ids; one that is not there is none."""
        self._tell(ids, None)

    def _tell(self, ids: Sequence[str], vectors: Vectors | None) -> None:
        if not len(ids):
            return
        told, answers = self._process.stdin, self._process.stdout
        assert told is not None and answers is not None
        width = None if vectors is None else vectors.shape[1]
        with contextlib.suppress(BrokenPipeError):
            told.write(json.dumps([list(ids), width]).encode() + b"\n")
            if vectors is not None:
                told.write(np.ascontiguousarray(vectors, dtype=np.float32).tobytes())
            told.flush()
            if answers.readline():
                return
        raise VectorsDamaged("Chroma's data could not be filled")


@contextlib.contextmanager
def filling(directory: Path, name: str) -> Iterator[Filling]:
    """A process that fills a collection of a directory, which nobody else may have open.

    Raises VectorsDamaged if it fails.
    """
    command = [sys.executable, "-m", __name__, str(directory), name]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield Filling(process)
        finally:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # what it was told last, if it is dead
                process.stdin.close()


def main(directory: str, name: str, told: IO[bytes], answers: IO[bytes]) -> None:
    """Do what is told until there is no more; whoever told it may be gone."""
    os.nice(NICE)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    client = embedded_client(Path(directory))
    collection = client.get_or_create_collection(name, embedding_function=None, configuration=SPACE)
    while line := told.readline():
        ids, width = json.loads(line)
        if width is None:
            collection.delete(ids=ids)
        else:
            vectors = np.frombuffer(told.read(4 * width * len(ids)), dtype=np.float32)
            collection.upsert(ids=ids, embeddings=vectors.reshape(-1, width))
        answers.write(b"\n")
        answers.flush()
    client.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.stdin.buffer, sys.stdout.buffer)
