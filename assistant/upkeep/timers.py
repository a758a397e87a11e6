"""The heartbeat in the machine's own timers: systemd of the user, launchd, or cron.

What is written names the workspace, so that each has its own, and can be taken away again.
"""

import hashlib
import os
import plistlib
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assistant import config
from assistant.disk import programs, storage
from assistant.errors import ConfigError, StorageError
from assistant.workspace.folder import Workspace

Kind = Literal["systemd", "launchd", "cron"]
SECONDS = 30.0
HOUR = 60
OTHER = "Choose another with --with"
NO_CRONTAB = re.compile(r"no crontab|no such file", re.IGNORECASE)
"""How `crontab -l` says that there is none."""


@dataclass(frozen=True, slots=True)
class Installed:
    """Where it was written, and what it says."""

    kind: Kind
    places: tuple[str, ...]
    text: str


def choice() -> Kind:
    """What this machine has. Raises ConfigError if it is nothing."""
    if sys.platform == "darwin":
        return "launchd"
    if programs.find("systemctl") and _works(["systemctl", "--user", "show-environment"]):
        return "systemd"
    if programs.find("crontab"):
        return "cron"
    raise ConfigError(
        "this machine has neither systemd for its user nor cron",
        "Have `assistant heartbeat run` called every few minutes by what it has",
    )


def install(place: Workspace, kind: Kind, minutes: int, *, write: bool = True) -> Installed:
    """Have `heartbeat run` called every so many minutes; without `write` only say how.

    Raises StorageError, ConfigError.
    """
    made = {"systemd": _systemd, "launchd": _launchd, "cron": _cron}[kind](place, minutes)
    if not write:
        return Installed(kind, tuple(map(str, made)), "\n".join(made.values()))
    if kind == "cron":
        _write_crontab([*_others(place), *made.values()])
    for path, text in made.items() if kind != "cron" else ():
        with storage.reported("made", Path(path).parent):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        storage.replace(Path(path), text.encode())
    if kind == "systemd":
        _run(["systemctl", "--user", "daemon-reload"])
        _run(["systemctl", "--user", "enable", "--now", f"{name(place)}.timer"])
    elif kind == "launchd":
        (path,) = made
        _works(["launchctl", "bootout", f"gui/{os.getuid()}", path])
        _run(["launchctl", "bootstrap", f"gui/{os.getuid()}", path])
    return Installed(kind, tuple(made), "\n".join(made.values()))


def uninstall(place: Workspace) -> list[str]:
    """Take away whatever was installed for a workspace; where it was."""
    gone = []
    for path in (*_units(place), _agent(place)):
        if not path.exists():
            continue
        if path.suffix == ".timer":
            _works(["systemctl", "--user", "disable", "--now", path.name])
        elif path.suffix == ".plist":
            _works(["launchctl", "bootout", f"gui/{os.getuid()}", str(path)])
        path.unlink()
        gone.append(str(path))
    if any(path.endswith(".timer") for path in gone):
        _works(["systemctl", "--user", "daemon-reload"])
    if programs.find("crontab") and len(others := _others(place)) < len(_crontab()):
        _write_crontab(others)
        gone.append("crontab")
    return gone


def is_installed(place: Workspace) -> bool:
    """Whether a timer calls the heartbeat of a workspace."""
    if any(path.exists() for path in (*_units(place), _agent(place))):
        return True
    try:
        return programs.find("crontab") is not None and len(_others(place)) < len(_crontab())
    except StorageError:
        return False


def name(place: Workspace) -> str:
    """What the timer of a workspace is called."""
    digest = hashlib.sha256(str(place.root).encode()).hexdigest()[:8]
    return f"assistant-heartbeat-{digest}"


def environment_file() -> Path:
    """Where variables for it may stand, such as a provider's key: NAME=VALUE, a line each."""
    return config.config_file().parent / "environment"


def _command(place: Workspace) -> list[str]:
    return [sys.executable, "-m", "assistant.cli.main", "-w", str(place.root), "heartbeat", "run"]


def _units(place: Workspace) -> tuple[Path, Path]:
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    folder = home / "systemd" / "user"
    return folder / f"{name(place)}.timer", folder / f"{name(place)}.service"


def _agent(place: Workspace) -> Path:
    return Path.home() / "Library" / "LaunchAgents" / f"{name(place)}.plist"


def _systemd(place: Workspace, minutes: int) -> dict[str, str]:
    timer, service = _units(place)
    words = (each.replace("\\", "\\\\").replace('"', '\\"') for each in _command(place))
    command = " ".join(f'"{each}"' for each in words).replace("%", "%%").replace("$", "$$")
    about = f"The assistant's heartbeat for {place.root}".replace("%", "%%")
    times = f"0/{minutes}" if minutes < HOUR else "00"
    return {
        str(timer): f"[Unit]\nDescription={about}\n\n[Timer]\nOnCalendar=*:{times}\n"
        "Persistent=true\n\n[Install]\nWantedBy=timers.target\n",
        str(service): f"[Unit]\nDescription={about}\n\n[Service]\nType=oneshot\n"
        f"EnvironmentFile=-{str(environment_file()).replace('%', '%%')}\nExecStart={command}\n",
    }


def _launchd(place: Workspace, minutes: int) -> dict[str, str]:
    agent = {
        "Label": name(place),
        "ProgramArguments": ["/bin/sh", "-c", _with_environment(place)],
        "StartInterval": minutes * 60,
        "ProcessType": "Background",
    }
    return {str(_agent(place)): plistlib.dumps(agent).decode()}


def _cron(place: Workspace, minutes: int) -> dict[str, str]:
    command = _with_environment(place).replace("%", "\\%")
    times = f"*/{minutes}" if minutes < HOUR else "0"
    return {"crontab": f"{times} * * * * {command} # {name(place)}"}


def _with_environment(place: Workspace) -> str:
    file = shlex.quote(str(environment_file()))
    return f"set -a; [ ! -r {file} ] || . {file}; {shlex.join(_command(place))}"


def _crontab() -> list[str]:
    """The lines of the user's crontab, which is written whole: none only if there is none."""
    done = _asked(["crontab", "-l"])
    if done.returncode and not NO_CRONTAB.search(done.stderr):
        raise _failed(done)
    return done.stdout.splitlines() if done.returncode == 0 else []


def _others(place: Workspace) -> list[str]:
    return [line for line in _crontab() if not line.endswith(f"# {name(place)}")]


def _write_crontab(lines: Sequence[str]) -> None:
    _run(["crontab", "-"], "".join(f"{line}\n" for line in lines))


def _run(command: list[str], text: str = "") -> None:
    """Raises StorageError with what the command said."""
    done = _asked(command, text)
    if done.returncode:
        raise _failed(done)


def _works(command: list[str]) -> bool:
    try:
        return _asked(command).returncode == 0
    except StorageError:
        return False


def _asked(command: list[str], text: str = "") -> "subprocess.CompletedProcess[str]":
    """What a command answers. Raises StorageError if it cannot be run, or does not end."""
    try:
        return subprocess.run(
            [programs.find(command[0]) or command[0], *command[1:]],
            input=text,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StorageError(f"{command[0]} failed: {error}", OTHER) from error


def _failed(done: "subprocess.CompletedProcess[str]") -> StorageError:
    said = (done.stderr or done.stdout).strip()
    return StorageError(f"`{shlex.join(done.args)}` failed: {said}", OTHER)
