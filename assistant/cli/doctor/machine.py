"""What the program stands on: Python, the path, disk and clock, locks, sockets, events, sandbox."""

import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from assistant import config
from assistant.cli.doctor.check import Check, Remark
from assistant.cli.options import Globals
from assistant.disk import locking
from assistant.errors import StorageError
from assistant.memory.daemon import lifecycle, sockets, watcher
from assistant.settings import tree as settings
from assistant.tools.sandbox import process
from assistant.workspace.folder import MEMORY_FILE, Workspace

LITTLE, TOO_LITTLE = 500 << 20, 50 << 20
"""Bytes free on a disk: below the first it is said, below the second it is a fault."""
AHEAD = 300
"""Seconds that the last write may lie in the future: another machine's clock may be a bit fast."""
EVENT_SECONDS = 3.0
"""How long a file event may take; polling looks each second."""
LOCK_SECONDS = 2.0


def _python(_: Globals) -> str:
    return f"{sys.version.split()[0]} at {sys.executable}"


def _path(_: Globals) -> str:
    found = shutil.which("assistant")
    own = Path(sys.executable).with_name("assistant")
    if not found:
        raise Remark(
            "the shell finds no `assistant`", f"Link it: `ln -s {own} ~/.local/bin/assistant`"
        )
    if own.exists() and not own.samefile(found):
        raise Remark(f"the shell finds another one first: {found}", f"This one is {own}")
    return found


def _disk(options: Globals) -> str:
    places = {options.place().root, _existing(config.cache_dir()), _existing(config.state_dir())}
    free = {place: shutil.disk_usage(place).free for place in places}
    least = min(free, key=free.__getitem__)
    said = f"{free[least] / 1e6:,.0f} MB are free at {least}"
    if free[least] < TOO_LITTLE:
        raise StorageError(said, "Make room: what memory writes would be refused")
    if free[least] < LITTLE:
        raise Remark(said, "Make room soon")
    return said


def _existing(path: Path) -> Path:
    return next(each for each in (path, *path.parents) if each.exists())


def _clock(options: Globals) -> str:
    place = options.place()
    written = [place.journal, *place.sessions.glob("*.jsonl")]
    latest = max((path.stat().st_mtime for path in written if path.exists()), default=0.0)
    if latest > time.time() + AHEAD:
        ahead = f"{(latest - time.time()) / 60:,.0f} minutes"
        raise StorageError(f"the last write lies {ahead} in the future", "Set the clock right")
    return time.strftime("%Y-%m-%d %H:%M %Z")


def _lock(options: Globals) -> str:
    place = options.place()
    place.private.mkdir(exist_ok=True)
    locking.lock(place.ledger_lock, LOCK_SECONDS).release()
    held = locking.try_lock(lifecycle.lock_path(place))
    if held is None:
        return f"process {locking.holder(lifecycle.lock_path(place))} owns the index"
    held.release()
    return "free"


def _sockets(options: Globals) -> str:
    return str(sockets.usable_path(options.place().root).parent)


def _watcher(options: Globals) -> str:
    """Make a file where the workspace lies, and see whether that is noticed."""
    polling = settings.validate(config.load()).daemon.polling
    seen = threading.Event()
    with tempfile.TemporaryDirectory(dir=options.place().private) as name:
        place = Workspace(Path(name).resolve())
        watch = watcher.watch(place, seen.set, polling)
        try:
            (place.root / MEMORY_FILE).write_text("- seen?\n")
            if not seen.wait(EVENT_SECONDS):
                raise StorageError(
                    "a change of a file is not noticed",
                    "Look for changes instead: `assistant config set daemon.polling always`",
                )
        finally:
            watch.stop()
    return "looks for changes each second" if watch.polling else "is told of changes at once"


def _sandbox(_: Globals) -> str:
    if not process.available():
        raise Remark("does not work here: each shell command asks", "Allow user namespaces")
    return "works: user namespaces and a seccomp filter"


CHECKS: dict[str, Check] = {
    "python": _python,
    "path": _path,
    "disk": _disk,
    "clock": _clock,
    "lock": _lock,
    "sockets": _sockets,
    "watcher": _watcher,
    "sandbox": _sandbox,
}
