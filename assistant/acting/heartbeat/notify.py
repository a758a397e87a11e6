"""A word to the owner who is not at the terminal: the desktop's notification, or their command."""

import shutil
import subprocess

from assistant.display import shortened

TITLE = "assistant"
SECONDS = 20.0
SCRIPT = """\
on run argv
display notification (item 1 of argv) with title (item 2 of argv)
end
"""
LONGEST = 500
"""Characters of a notification."""


def notify(text: str, command: str | None) -> str:
    """Tell the owner, by the shell's `command` if there is one; what went wrong, or nothing."""
    if command == "":
        return ""
    shown = shortened(text, LONGEST)
    if command:
        return _run(["sh", "-c", command], text)
    if shutil.which("notify-send"):
        return _run(["notify-send", "--", TITLE, shown])
    if shutil.which("osascript"):
        return _run(["osascript", "-e", SCRIPT, shown, TITLE])
    return ""


def _run(command: list[str], text: str = "") -> str:
    try:
        done = subprocess.run(
            command, input=text, text=True, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the notification failed: {error}"
    if done.returncode:
        return f"the notification failed with {done.returncode}: {done.stderr.strip()[:200]}"
    return ""
