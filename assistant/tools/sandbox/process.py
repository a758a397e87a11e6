"""A command and its supervisor, seen from the assistant."""

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assistant.errors import ToolError
from assistant.tools.sandbox.plan import Launch

START = [sys.executable, "-I", "-S", str(Path(__file__).resolve().parents[1] / "launch/start.py")]
"""How a supervisor is started."""
TICK = 0.1
"""Seconds between two looks at whether the owner interrupted."""
PATIENCE = 10.0
"""Seconds that a supervisor is given to end what it watches, before it is killed itself."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended: its exit code, None if it had none; and what ended it, if not itself.

    `cause` is `time`, `memory` or `processes` for a limit, `stopped` for the assistant.
    """

    code: int | None
    cause: str = ""


class Process:
    """A running command. It ends with this process at the latest, however that ends.

    Raises ToolError if it cannot be started.
    """

    def __init__(self, launch: Launch, environment: Mapping[str, str] | None = None) -> None:
        self._ending: Ending | None = None
        self._process = subprocess.Popen(
            START,
            cwd="/",
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(launch.line())
            self._process.stdin.flush()
        except BrokenPipeError as error:
            said = self.close()
            raise ToolError("the command could not be started", said.cause) from error

    def arriving(self) -> Iterator[bytes]:
        """The output as it arrives, and nothing at least every `TICK`; ends with the command."""
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(TICK):
                    yield b""
                    continue
                data = self._process.stdout.read(65536)
                if not data:
                    break
                yield data
        while self._running():
            yield b""

    def _running(self) -> bool:
        """Whether it still runs, though it says no more; takes up to a `TICK`."""
        try:
            self._process.wait(TICK)
        except subprocess.TimeoutExpired:
            return True
        return False

    def stop(self) -> None:
        """Let the command be ended, with all that it started; that takes a second or two."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def close(self) -> Ending:
        """End the command if it still runs; how it ended."""
        if self._ending is None:
            self._ending = self._ended()
        return self._ending

    def _ended(self) -> Ending:
        self.stop()
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._process.stdout.close()
        with self._process.stderr as report:
            return _read(report.read())

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _read(report: bytes) -> Ending:
    try:
        told = json.loads(report)
        return Ending(told["code"], told["ended"])
    except (ValueError, KeyError, TypeError):  # the supervisor was killed, or failed
        return Ending(None, report.decode("utf-8", "replace").strip()[-300:] or "killed")
