"""The environment of a command: nothing that is, or could be, a key."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache

from assistant.secrets.redactor import Redactor

PASSED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|COLORTERM|NO_COLOR|TZ|LANG|LANGUAGE|LC_\w+|PWD|EDITOR|PAGER"
    r"|CI|XDG_\w+_HOME|VIRTUAL_ENV|CONDA_PREFIX|PYENV_ROOT|PYENV_VERSION|PYTHONPATH|PYTHONHOME"
    r"|JAVA_HOME|GOPATH|GOROOT|GOFLAGS|CARGO_HOME|RUSTUP_HOME|NVM_DIR|NVM_BIN|NODE_PATH"
    r"|LD_LIBRARY_PATH|PKG_CONFIG_PATH|CC|CXX|CFLAGS|CXXFLAGS|LDFLAGS|MAKEFLAGS"
)
"""Names of harmless variables. Keys are under other names."""
GIT_SECONDS = 5.0


def interpreter() -> str:
    """The shell that runs commands."""
    return shutil.which("bash") or "/bin/sh"


def environment(variables: Mapping[str, str], redactor: Redactor) -> dict[str, str]:
    """What of the environment a command is given, and who the owner is to git."""
    harmless = {name: value for name, value in variables.items() if PASSED.fullmatch(name)}
    chosen = _identity(variables.get("HOME", "")) | harmless
    return {name: value for name, value in chosen.items() if redactor.redact(value) == value}


@cache
def _identity(home: str) -> dict[str, str]:
    """The owner's name and address as git knows them: a sandbox does not show its configuration.

    Asked once for each home.
    """
    git = shutil.which("git")
    found: dict[str, str] = {}
    for key in ("name", "email") if git and home else ():
        asked = [str(git), "config", "--global", "--get", f"user.{key}"]
        try:
            done = subprocess.run(asked, capture_output=True, timeout=GIT_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        value = done.stdout.decode("utf-8", "replace").strip()
        if value:
            found[f"GIT_AUTHOR_{key.upper()}"] = found[f"GIT_COMMITTER_{key.upper()}"] = value
    return found
