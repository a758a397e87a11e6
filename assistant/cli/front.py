"""The entry point of `assistant`: imports no more than the command needs.

`hook` and `mcp`, which coding agents start, run without typer; every other command runs without the
modules of the others.
"""

import gc
import signal
import sys
from collections.abc import Sequence
from getopt import GetoptError, gnu_getopt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assistant.workspace.folder import Workspace

HOOK_OPTIONS = ("workspace=", "for=", "quiet-for=", "patient", "debug")
MCP_OPTIONS = ("workspace=", "as=", "trust", "read-only", "no-daemon")
"""Options of `mcp`, in the form of getopt."""


def run() -> None:
    """The entry point."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Ctrl-C while modules load prints no traceback
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    arguments = sys.argv[1:]
    if "hook" in arguments:
        _respond(arguments)
    if "mcp" in arguments and _serve(arguments):
        return
    gc.disable()  # saves a tenth of the time that imports take; modules stay loaded anyway
    from assistant.cli import root

    if "ask" in arguments:
        from assistant.cli import resident

        resident.arguments = arguments
    root.run()


def _parsed(arguments: Sequence[str], names: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the options with their values, and the remaining words. Raises GetoptError."""
    pairs, words = gnu_getopt(list(arguments), "w:", names)
    return {name.lstrip("-"): value for name, value in pairs}, words


def _serve(arguments: Sequence[str]) -> bool:
    """Serve memory over MCP until the client exits; return False if typer has to parse this."""
    from assistant.errors import UsageError, WorkspaceError

    try:
        options, words = _parsed(arguments, MCP_OPTIONS)
        if words != ["mcp"] or {"trust", "read-only"}.issubset(options):
            return False
        options.get("as", "").encode()
        workspace = _workspace(options)
    except (GetoptError, UnicodeEncodeError, UsageError, WorkspaceError):
        return False
    from assistant.integrations.mcp_server import serve
    from assistant.integrations.mcp_tools import Permissions

    permissions = Permissions(options.get("as", ""), "trust" in options, "read-only" in options)
    serve(workspace, permissions, no_daemon="no-daemon" in options)
    return True


def _respond(arguments: Sequence[str]) -> None:
    """Answer a hook and exit; return if typer has to parse this."""
    try:
        options, words = _parsed(arguments, HOOK_OPTIONS)
    except GetoptError:
        return
    if words[:1] != ["hook"] or len(words) > 2:
        return
    from assistant.integrations.hook import QUIET, Call, respond

    quiet = options.get("quiet-for")
    if quiet not in (None, *QUIET):
        return
    event = "".join(words[1:]) or "prompt"
    call = Call(event, options.get("for", ""), quiet, "patient" in options)
    respond(lambda: _workspace(options), call, debug="debug" in options)


def _workspace(options: dict[str, str]) -> "Workspace":
    """Return the workspace that -w names, or the default one. Raises UsageError, WorkspaceError."""
    from assistant.workspace.folder import find, path_of

    directory = options.get("w", options.get("workspace"))
    return find(None if directory is None else path_of(directory))
