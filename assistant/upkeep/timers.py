"""Installs a timer for the heartbeat: systemd of the user, launchd, or cron.

Each workspace has its own timer, which can be removed again.
"""

import getpass
import hashlib
import os
import plistlib
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from assistant import config
from assistant.disk import programs, storage
from assistant.errors import ConfigError, StorageError
from assistant.workspace.folder import Workspace

Kind = Literal["systemd", "launchd", "cron"]
HOUR = 60
LINGERING = Path("/var/lib/systemd/linger")
"""Has a file for each user whose timers run without a session."""
LINGER = "`loginctl enable-linger` keeps it running"
NO_CRONTAB = re.compile(r"no crontab|no such file", re.IGNORECASE)
"""Matches the output of `crontab -l` without a crontab."""


def choice() -> Kind:
    """Return the kind of timer that this machine supports. Raises ConfigError if there is none."""
    if sys.platform == "darwin":
        return "launchd"
    if programs.find("systemctl") and _succeeds(["systemctl", "--user", "show-environment"]):
        return "systemd"
    if programs.find("crontab"):
        return "cron"
    raise ConfigError(
        "this machine has neither systemd for its user nor cron",
        "Call `assistant heartbeat run` every few minutes by other means",
    )


def advice() -> str:
    """Return how to run the heartbeat automatically on this machine."""
    try:
        choice()
    except ConfigError as error:
        return f"{error.cure}: {error.message}"
    return "`assistant heartbeat install` installs one"


def files(workspace: Workspace, kind: Kind, minutes: int) -> dict[str, str]:
    """Return the files, or the line of the crontab, that call `heartbeat run` every few minutes."""
    return {"systemd": _systemd, "launchd": _launchd, "cron": _cron}[kind](workspace, minutes)


def install(workspace: Workspace, kind: Kind, files: Mapping[str, str]) -> None:
    """Write the files and start the timer. Raises StorageError."""
    if kind == "cron":
        _run(["crontab", "-"], _lines([*_other_lines(workspace), *files.values()]))
        return
    for path, text in files.items():
        with storage.reported("made", Path(path).parent):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        storage.replace(Path(path), text.encode())
    if kind == "systemd":
        _run(["systemctl", "--user", "daemon-reload"])
        _run(["systemctl", "--user", "enable", "--now", f"{name(workspace)}.timer"])
    else:
        (path,) = files
        _succeeds(["launchctl", "bootout", f"gui/{os.getuid()}", path])
        _run(["launchctl", "bootstrap", f"gui/{os.getuid()}", path])


def uninstall(workspace: Workspace) -> list[str]:
    """Remove the timer of a workspace; return the removed files."""
    removed = [path for path in (*_units(workspace), _agent(workspace)) if path.exists()]
    for path in removed:
        if path.suffix == ".timer":
            _succeeds(["systemctl", "--user", "disable", "--now", path.name])
        elif path.suffix == ".plist":
            _succeeds(["launchctl", "bootout", f"gui/{os.getuid()}", str(path)])
        path.unlink()
    if any(path.suffix == ".timer" for path in removed):
        _succeeds(["systemctl", "--user", "daemon-reload"])
    in_cron = []
    if programs.find("crontab") and len(others := _other_lines(workspace)) < len(_crontab()):
        _run(["crontab", "-"], _lines(others))
        in_cron = ["crontab"]
    return [*map(str, removed), *in_cron]


def is_installed(workspace: Workspace) -> bool:
    """Return whether a timer calls the heartbeat of a workspace."""
    if any(path.exists() for path in (*_units(workspace), _agent(workspace))):
        return True
    try:
        return programs.find("crontab") is not None and len(_other_lines(workspace)) < len(
            _crontab()
        )
    except StorageError:
        return False


def ends_at_logout(workspace: Workspace) -> bool:
    """Return whether a workspace's timer is a systemd one that ends with its user's last
    session."""
    return _units(workspace)[0].exists() and not (LINGERING / getpass.getuser()).exists()


def name(workspace: Workspace) -> str:
    """Return the name of a workspace's timer."""
    digest = hashlib.sha256(str(workspace.root).encode()).hexdigest()[:8]
    return f"assistant-heartbeat-{digest}"


def environment_file() -> Path:
    """Return the file of the timer's variables, such as a provider's key: NAME=VALUE, one per
    line."""
    return config.config_file().parent / "environment"


def _command(workspace: Workspace) -> list[str]:
    program = [sys.executable, "-m", "assistant.cli.main"]
    return [*program, "-w", str(workspace.root), "heartbeat", "run"]


def _units(workspace: Workspace) -> tuple[Path, Path]:
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    folder = home / "systemd" / "user"
    return folder / f"{name(workspace)}.timer", folder / f"{name(workspace)}.service"


def _agent(workspace: Workspace) -> Path:
    return Path.home() / "Library" / "LaunchAgents" / f"{name(workspace)}.plist"


def _systemd(workspace: Workspace, minutes: int) -> dict[str, str]:
    timer, service = _units(workspace)
    words = (word.replace("\\", "\\\\").replace('"', '\\"') for word in _command(workspace))
    command = " ".join(f'"{word}"' for word in words).replace("%", "%%").replace("$", "$$")
    about = f"The assistant's heartbeat for {workspace.root}".replace("%", "%%")
    times = f"0/{minutes}" if minutes < HOUR else "00"
    return {
        str(timer): f"[Unit]\nDescription={about}\n\n[Timer]\nOnCalendar=*:{times}\n"
        "Persistent=true\n\n[Install]\nWantedBy=timers.target\n",
        str(service): f"[Unit]\nDescription={about}\n\n[Service]\nType=oneshot\n"
        f"EnvironmentFile=-{str(environment_file()).replace('%', '%%')}\nExecStart={command}\n",
    }


def _launchd(workspace: Workspace, minutes: int) -> dict[str, str]:
    agent = {
        "Label": name(workspace),
        "ProgramArguments": ["/bin/sh", "-c", _with_environment(workspace)],
        "StartInterval": minutes * 60,
        "ProcessType": "Background",
    }
    return {str(_agent(workspace)): plistlib.dumps(agent).decode()}


def _cron(workspace: Workspace, minutes: int) -> dict[str, str]:
    command = _with_environment(workspace).replace("%", "\\%")
    times = f"*/{minutes}" if minutes < HOUR else "0"
    return {"crontab": f"{times} * * * * {command} # {name(workspace)}"}


def _with_environment(workspace: Workspace) -> str:
    file = shlex.quote(str(environment_file()))
    return f"set -a; [ ! -r {file} ] || . {file}; {shlex.join(_command(workspace))}"


def _crontab() -> list[str]:
    """Return the lines of the crontab, which is rewritten as a whole; empty only if there is
    none."""
    try:
        return _run(["crontab", "-l"]).splitlines()
    except StorageError as error:
        if NO_CRONTAB.search(error.message):
            return []
        raise


def _other_lines(workspace: Workspace) -> list[str]:
    return [line for line in _crontab() if not line.endswith(f"# {name(workspace)}")]


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _run(command: list[str], text: str = "") -> str:
    """Return a command's output. Raises StorageError with its message if it fails or times out."""
    try:
        program = programs.find(command[0]) or command[0]
        return programs.run(f"`{shlex.join(command)}`", [program, *command[1:]], text)
    except StorageError as error:
        raise StorageError(error.message, "Choose another with --with") from error


def _succeeds(command: list[str]) -> bool:
    try:
        _run(command)
    except StorageError:
        return False
    return True
