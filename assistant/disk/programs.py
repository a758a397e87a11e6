"""Finds the programs that this one runs, where no tool can have planted them.

An active virtual environment and the tools' directories are also on the PATH: a `git` that a
sandboxed command plants there must not run outside the sandbox.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import assistant
from assistant.disk import storage
from assistant.errors import StorageError

if TYPE_CHECKING:
    import subprocess  # imported where a program is run: most commands run none

SECONDS = 30.0
"""Timeout of a program whose end is awaited."""
HARMLESS = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|COLORTERM|NO_COLOR|TZ|LANG|LANGUAGE|LC_\w+|PWD|EDITOR|PAGER"
    r"|CI|XDG_\w+_HOME|VIRTUAL_ENV|CONDA_PREFIX|PYENV_ROOT|PYENV_VERSION|PYTHONPATH|PYTHONHOME"
    r"|JAVA_HOME|GOPATH|GOROOT|GOFLAGS|CARGO_HOME|RUSTUP_HOME|NVM_DIR|NVM_BIN|NODE_PATH"
    r"|LD_LIBRARY_PATH|PKG_CONFIG_PATH|CC|CXX|CFLAGS|CXXFLAGS|LDFLAGS|MAKEFLAGS"
)
"""Environment variables that contain no key."""
OF_TOOLCHAINS = re.compile(r"PYTHON\w+|VIRTUAL_ENV|LD_LIBRARY_PATH|NODE_PATH|GO\w+|\w*FLAGS|CC|CXX")
"""Those variables that can make a program load code from a project."""


def find(name: str, roots: Iterable[Path] = ()) -> str | None:
    """Return the absolute path of a program on the PATH, outside the roots, the tools' folders
    and any active virtual environment; None if there is none."""
    if "/" in name:
        return name if Path(name).is_absolute() and os.access(name, os.X_OK) else None
    for folder in _folders(roots):
        if path := shutil.which(name, path=folder):
            return path
    return None


def environment(
    roots: Iterable[Path] = (), variables: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the environment for such a program: no keys, and no variable that makes it load a
    project's code."""
    harmless = {
        name: value
        for name, value in variables.items()
        if HARMLESS.fullmatch(name) and not OF_TOOLCHAINS.fullmatch(name)
    }
    return harmless | {"PATH": os.pathsep.join(_folders(roots))}


def git(
    folder: Path,
    *arguments: str,
    roots: Sequence[Path] | None = None,
    **variables: str,
) -> "subprocess.CompletedProcess[bytes] | None":
    """Run git in a folder; return None if git is missing.

    By default git must not come from that folder.
    """
    import subprocess

    closed = (folder,) if roots is None else roots
    if (program := find("git", closed)) is None:
        return None
    return subprocess.run(
        [program, "-C", folder, *arguments],
        env=environment(closed) | variables,
        capture_output=True,
        check=False,
    )


def run(
    what: str, command: Sequence[str], text: str = "", variables: Mapping[str, str] = os.environ
) -> str:
    """Run a program; return its output.

    Raises StorageError that `what` failed, with the program's message.
    """
    import subprocess

    try:
        process = subprocess.run(
            command, input=text, text=True, capture_output=True, timeout=SECONDS, env=variables
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StorageError(f"{what} failed: {error}") from error
    if process.returncode:
        message = (process.stderr or process.stdout).strip()[:200].rstrip(".")
        parts = [f"{what} failed with {process.returncode}", message]
        raise StorageError(": ".join(filter(None, parts)))
    return process.stdout


def start_own(
    arguments: Sequence[str], stdin: int | IO[bytes] | None = None, fds: Sequence[int] = ()
) -> None:
    """Start this program's Python, without a terminal, in a process that outlives this one."""
    import subprocess

    subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path(assistant.__file__).parent.parent,
        pass_fds=fds,
        start_new_session=True,
    )


def _folders(roots: Iterable[Path]) -> list[str]:
    virtual_env = os.environ.get("VIRTUAL_ENV")
    active = [Path(virtual_env)] if virtual_env else []
    excluded = [Path(root).resolve() for root in (*storage.TOOL_FOLDERS, *roots, *active)]
    return [
        folder
        for folder in os.get_exec_path()
        if Path(folder).is_absolute()
        and not any(Path(folder).resolve().is_relative_to(root) for root in excluded)
    ]
