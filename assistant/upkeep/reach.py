"""Channels to the owner: the desktop or their own command, and addresses of Apprise.

They only send news. An address may contain `[[secret:NAME]]`, and then so does the name of its
channel; no name shows a token.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assistant.disk import programs
from assistant.display import shortened
from assistant.errors import AssistantError, ConfigError, StorageError, UsageError
from assistant.secrets import registered
from assistant.secrets.stand_ins import STAND_IN, stand_in_of

TITLE = "assistant"
COMMAND = "heartbeat.notify"
"""The name of the owner's command, which may contain a token."""
SCRIPT = """\
on run argv
display notification (item 1 of argv) with title (item 2 of argv)
end
"""
LONGEST = 500
"""Maximum characters of a notification."""
NEEDED = "Apprise is not installed"
INSTALL = "Run `scripts/environment reach` in the program's folder"
KNOWN = "Write it as https://appriseit.com/services describes, such as `ntfy://my-topic`"
_SCHEME = re.compile(r"\w+(?=://)")
_USER = re.compile(r"(?<=://)([^/:@])[^/:@]*(?=(?::[^/@]*)?@)")
"""The user in an address, which may be a token; Apprise hides only the password."""
_PATH = re.compile(r"(?<=[^:/]/)[^/]+")
"""The parts of an address's path."""
_PARTS = re.compile(r"[/:@?&=]+")


@dataclass(frozen=True, slots=True)
class Way:
    """A channel: its name, and a function that sends a text and returns the fault.

    An address also has its setting, and the `fault` that makes it unusable.
    """

    name: str
    send: Callable[[str], str]
    setting: str = ""
    fault: str = ""


def ways(command: str | None, addresses: Sequence[str]) -> list[Way]:
    """Return every configured channel: the owner's shell `command`, otherwise the desktop, and the
    addresses."""
    if command:
        own = [Way(COMMAND, partial(_run, ["/bin/sh", "-c", command]))]
    else:
        own = _desktop() if command is None else []
    return [*own, *map(_channel, addresses)]


def _desktop() -> list[Way]:
    for name in ("notify-send", "osascript"):
        if program := programs.find(name):
            return [Way(name, partial(_notify_desktop, program))]
    return []


def _notify_desktop(program: str, text: str) -> str:
    if program.endswith("osascript"):
        return _run([program, "-e", SCRIPT, _cut(text), TITLE])
    return _run([program, "--", TITLE, _cut(text)])


def _run(command: list[str], text: str = "") -> str:
    """Run a command; return the fault."""
    bus = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}") / "bus"
    session = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={bus}"} if bus.exists() else {}
    try:  # cron does not set the bus
        programs.run("the notification", command, text, session | os.environ)
    except StorageError as error:
        return error.message
    return ""


def _cut(text: str) -> str:
    return shortened(text, LONGEST)


# Apprise


def _channel(setting: str) -> Way:
    try:
        address = full(setting)
        service = _service(address)
        name = _name(setting, service)
    except AssistantError as error:
        fault = str(error)
        return Way(masked(setting), lambda _: fault, setting, fault)
    return Way(name, partial(_notify, service, address, name), setting)


def to_setting(address: str) -> str:
    """Return the setting for an address; one that may contain a token is registered as a secret.

    Its user and its query count as tokens. Raises UsageError for an address that Apprise does not
    know, ConfigError without Apprise.
    """
    service = _service(full(address))
    clear = "?" not in address and _name(address, service) == _without_query(service.url())
    if STAND_IN.search(address) or clear:
        return address
    kind, known = re.sub(r"\W", "_", address.partition(":")[0]), registered.names()
    names = (f"reach_{kind}_{number}" for number in range(1, len(known) + 2))
    name = next(name for name in names if name not in known)
    registered.add(name, address)
    return stand_in_of(name)


def forget(setting: str) -> None:
    """Remove the secret that was registered for an address."""
    whole = STAND_IN.fullmatch(setting)
    if whole and whole[1].startswith("reach_") and whole[1] in registered.names():
        registered.remove(whole[1])


def full(setting: str) -> str:
    """Return the address with its secrets. Raises UsageError for an unregistered one,
    ConfigError."""
    if whole := STAND_IN.fullmatch(setting):
        return registered.value(whole[1])
    return STAND_IN.sub(lambda name: quote(registered.value(name[1]), safe=""), setting)


def masked(setting: str) -> str:
    """Return an address, perhaps unknown to Apprise, without anything that could be a token."""
    scheme = _SCHEME.match(setting)
    return setting if STAND_IN.search(setting) else f"{scheme[0] if scheme else '…'}://…"


def _service(address: str) -> Any:
    """Return Apprise's service for an address. Raises UsageError, ConfigError."""
    try:
        from apprise import Apprise, LogCapture  # an optional dependency, and slow to import
    except ImportError as error:
        raise ConfigError(NEEDED, INSTALL) from error
    with LogCapture():  # its messages could go to standard error
        service = Apprise.instantiate(address)
    if service is None:
        raise UsageError(f"{masked(address)} is not an address that Apprise knows", KNOWN)
    return service


def _name(setting: str, service: Any) -> str:
    """Return the name of a channel: its setting, or its address without tokens, followed by the
    name of the secret if the whole address is one.

    It contains no registered secret. Raises ConfigError.
    """
    shown, whole = setting, STAND_IN.fullmatch(setting)
    if whole or not STAND_IN.search(setting):
        shown = _USER.sub(r"\1…", _without_query(service.url(privacy=True)))
        if ".custom_" in type(service).__module__:  # a webhook: its path may be a token
            shown = _PATH.sub("…", shown)
        shown += f" ({whole[1]})" if whole else ""
    return registered.redactor().redact(shown)


def _without_query(address: str) -> str:
    return address.partition("?")[0].rstrip("/")


def _notify(service: Any, address: str, name: str, text: str) -> str:
    """Send a text to a service; return the fault, without the parts of the address that its name
    hides."""
    from apprise import LogCapture

    with LogCapture(fmt="%(message)s") as log:
        if service.notify(body=_cut(text), title=TITLE):
            return ""
        fault = log.getvalue().strip().partition("\n")[0].rstrip(".") or "it was not accepted"
    for part in filter(None, _PARTS.split(address)):
        if part not in name:
            fault = fault.replace(part, "…")
    return fault
