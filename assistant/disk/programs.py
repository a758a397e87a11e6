"""Programs of the machine that we run ourselves, found where no tool can have put them.

An active virtual environment and the directories of tools are on the PATH too: a sandboxed command
that plants a `git` there must not have it run outside of the sandbox.
"""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

HARMLESS = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|COLORTERM|NO_COLOR|TZ|LANG|LANGUAGE|LC_\w+|PWD|EDITOR|PAGER"
    r"|CI|XDG_\w+_HOME|VIRTUAL_ENV|CONDA_PREFIX|PYENV_ROOT|PYENV_VERSION|PYTHONPATH|PYTHONHOME"
    r"|JAVA_HOME|GOPATH|GOROOT|GOFLAGS|CARGO_HOME|RUSTUP_HOME|NVM_DIR|NVM_BIN|NODE_PATH"
    r"|LD_LIBRARY_PATH|PKG_CONFIG_PATH|CC|CXX|CFLAGS|CXXFLAGS|LDFLAGS|MAKEFLAGS"
)
"""Names of variables that hold no key. Keys are under other names."""
OF_TOOLCHAINS = re.compile(r"PYTHON\w+|VIRTUAL_ENV|LD_LIBRARY_PATH|NODE_PATH|GO\w+|\w*FLAGS|CC|CXX")
"""Those of them that may have a program load something out of a project."""


def find(name: str, roots: Iterable[Path] = ()) -> str | None:
    """The path of a program on the PATH, absolute, and in none of the roots or in an active
    virtual environment; None if there is none."""
    if "/" in name:
        return name if Path(name).is_absolute() and os.access(name, os.X_OK) else None
    for folder in _folders(roots):
        if found := shutil.which(name, path=folder):
            return found
    return None


def environment(
    roots: Iterable[Path] = (), variables: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The environment of such a program: no key, nothing that makes it load a project's code."""
    kept = {
        name: value
        for name, value in variables.items()
        if HARMLESS.fullmatch(name) and not OF_TOOLCHAINS.fullmatch(name)
    }
    return kept | {"PATH": os.pathsep.join(_folders(roots))}


def _folders(roots: Iterable[Path]) -> list[str]:
    active = os.environ.get("VIRTUAL_ENV")
    closed = [Path(root).resolve() for root in (*roots, *([Path(active)] if active else []))]
    return [
        folder
        for folder in os.get_exec_path()
        if Path(folder).is_absolute()
        and not any(Path(folder).resolve().is_relative_to(root) for root in closed)
    ]
