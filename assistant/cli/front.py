"""The entry point of `assistant`: loads no more than the command needs.

`hook` and `mcp`, which coding agents start, run without the tree of commands, every other one with
a tree of itself alone; the list of commands, and an unknown one, need the whole tree.
"""

import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from getopt import GetoptError, gnu_getopt
from typing import TYPE_CHECKING

from assistant.cli import COMPLETES

if TYPE_CHECKING:
    from assistant.workspace.folder import Workspace

HOOK_OPTIONS = ("workspace=", "for=", "quiet-for=", "patient", "debug")
MCP_OPTIONS = ("workspace=", "as=", "trust", "read-only", "no-daemon")
"""In the form of getopt."""


def run() -> None:
    """The entry point."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while modules load leaves no trace
    command = _command(_typed())
    if command == "hook":
        _respond(sys.argv[1:])
    if command == "mcp" and _serve(sys.argv[1:]):
        return
    gc.disable()  # a tenth of the time to import modules, which stay loaded anyway
    from assistant.cli import root

    if command == "ask":
        from assistant.cli import resident

        resident.arguments = sys.argv[1:]
    tree = root.tree(command)
    gc.freeze()
    gc.enable()
    root.run(tree)


def _typed() -> Sequence[str]:
    """The arguments, or those that a shell completes."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    return line.split()[1:] if COMPLETES in os.environ else sys.argv[1:]


def _command(arguments: Sequence[str]) -> str:
    """The first word that is neither a global option nor its value; without one, what they ask for:
    the chat, or the list of commands."""
    rest = iter(arguments)
    for word in rest:
        if word in ("-w", "--workspace"):
            next(rest, None)
        elif word in ("-h", "--help"):
            return ""
        elif not word.startswith("-"):
            return word
    return "chat"


def _serve(arguments: Sequence[str]) -> bool:
    """Serve memory over MCP until the client exits; False if the whole tree has to parse this."""
    from assistant.errors import UsageError, WorkspaceError
    from assistant.integrations.mcp_server import serve
    from assistant.integrations.mcp_tools import Permissions

    try:
        pairs, words = gnu_getopt(list(arguments), "w:", MCP_OPTIONS)
        options = {name.lstrip("-"): value for name, value in pairs}
        if words != ["mcp"] or {"trust", "read-only"}.issubset(options):
            return False
        workspace = _workspace(options)
    except (GetoptError, UsageError, WorkspaceError):
        return False
    permissions = Permissions(options.get("as", ""), "trust" in options, "read-only" in options)
    serve(workspace, permissions, no_daemon="no-daemon" in options)
    return True


def _respond(arguments: Sequence[str]) -> None:
    """Answer a hook and exit; return if the whole tree has to parse this."""
    from assistant.integrations.hook import QUIET, Call, respond

    try:
        pairs, words = gnu_getopt(list(arguments), "w:", HOOK_OPTIONS)
    except GetoptError:
        return
    options = {name.lstrip("-"): value for name, value in pairs}
    quiet = options.get("quiet-for")
    if len(words) > 2 or quiet not in (None, *QUIET):
        return
    event = "".join(words[1:]) or "prompt"
    call = Call(event, options.get("for", ""), quiet, "patient" in options)
    respond(lambda: _workspace(options), call, debug="debug" in options)


def _workspace(options: Mapping[str, str]) -> "Workspace":
    """The workspace that -w names, or the default one. Raises UsageError, WorkspaceError."""
    from assistant.workspace.folder import find, path_of

    directory = options.get("w", options.get("workspace"))
    return find(None if directory is None else path_of(directory))
