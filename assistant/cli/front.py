"""The entry point of `assistant`: imports no more than the command needs.

`hook`, which coding agents call at each prompt, runs without typer; every other command runs
without the modules of the others.
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
"""Options of `hook`, in the form of getopt."""


def run() -> None:
    """The entry point."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Ctrl-C while modules load prints no traceback
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    arguments = sys.argv[1:]
    if "hook" in arguments:
        _respond(arguments)
    gc.disable()  # saves a tenth of the time that imports take; modules stay loaded anyway
    from assistant.cli import root

    if "ask" in arguments:
        from assistant.cli import resident

        resident.arguments = arguments
    root.run()


def _respond(arguments: Sequence[str]) -> None:
    """Answer a hook and exit; return if typer has to parse this."""
    try:
        pairs, words = gnu_getopt(list(arguments), "w:", HOOK_OPTIONS)
    except GetoptError:
        return
    if words[:1] != ["hook"] or len(words) > 2:
        return
    from assistant.integrations.hook import QUIET, Call, respond
    from assistant.workspace.folder import find, path_of

    options = {name.lstrip("-"): value for name, value in pairs}
    quiet = options.get("quiet-for")
    if quiet not in (None, *QUIET):
        return
    directory = options.get("w", options.get("workspace"))

    def workspace() -> "Workspace":
        return find(None if directory is None else path_of(directory))

    event = "".join(words[1:]) or "prompt"
    call = Call(event, options.get("for", ""), quiet, "patient" in options)
    respond(workspace, call, debug="debug" in options)
