"""Where `assistant` begins. What other programs start again and again, `hook` and `mcp`, is begun
at once if it is called plainly; `recall` and its like load a tree of their own commands; all else
is for the whole tree, whose import alone takes longer than a hook's answer.
"""

import gc
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

PLACES = ("-w", "--workspace")
WITH_VALUE = {*PLACES, "--for", "--quiet-for", "--as"}
FACTS = ("recall", "remember", "forget")
KNOWN = {
    "hook": {*PLACES, "--for", "--quiet-for", "--patient", "--debug"},
    "mcp": {*PLACES, "--as", "--trust", "--read-only", "--no-daemon"},
}
"""The options of each."""


def run() -> None:
    """The entry point."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while modules load leaves no trace
    words, options = told(sys.argv[1:])
    match words:
        case ["hook"]:
            _respond("prompt", options)
        case ["hook", event]:
            _respond(event, options)
        case ["mcp"] if _is_served(options):
            return
    if _command(sys.argv[1:]) in FACTS:
        gc.disable()  # a tenth of what it takes to load these, and they stay until the end
        from assistant.cli import root
        from assistant.cli.commands import facts

        tree = root.tree([facts])
        gc.freeze()
        gc.enable()
        return root.run(tree)
    from assistant.cli.main import run as by_the_tree

    by_the_tree()


def _command(arguments: Sequence[str]) -> str:
    """The first word that is no global option, nor the value of one."""
    rest = iter(arguments)
    for each in rest:
        if each in PLACES:
            next(rest, None)
        elif not each.startswith("-"):
            return each
    return ""


def told(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The words of a plain call and its options with their values; nothing of any other call."""
    words: list[str] = []
    options: dict[str, str] = {}
    rest = iter(arguments)
    for each in rest:
        if each.startswith("-"):
            options[each] = next(rest, "") if each in WITH_VALUE else ""
        else:
            words.append(each)
    known = KNOWN.get(words[0], set()) if words else set()
    whole = all(value for name, value in options.items() if name in WITH_VALUE)
    return (words, options) if known.issuperset(options) and whole else ([], {})


def _respond(event: str, options: dict[str, str]) -> None:
    from assistant.integrations.hook import Call, respond
    from assistant.workspace.folder import find

    quiet = options.get("--quiet-for")
    call = Call(event, options.get("--for", ""), quiet, "--patient" in options)
    respond(lambda: find(_place(options)), call, debug="--debug" in options)


def _is_served(options: dict[str, str]) -> bool:
    """Serve memory until the client goes; False if it cannot be, which the tree will tell."""
    from assistant.errors import WorkspaceError
    from assistant.integrations.mcp_server import serve
    from assistant.integrations.mcp_tools import Terms
    from assistant.workspace.folder import find

    if {"--trust", "--read-only"}.issubset(options):
        return False
    try:
        place = find(_place(options))
    except WorkspaceError:
        return False
    terms = Terms(options.get("--as", ""), "--trust" in options, "--read-only" in options)
    serve(place, terms, no_daemon="--no-daemon" in options)
    return True


def _place(options: dict[str, str]) -> Path | None:
    return next((Path(options[name]) for name in PLACES if name in options), None)
