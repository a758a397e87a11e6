"""Memory as a server of the Model Context Protocol, over standard input and output."""

import os
import signal
import sys
from contextlib import suppress

from assistant.integrations.mcp_wire import Handshake, Terms, Wire
from assistant.workspace.folder import Workspace


def serve(place: Workspace, terms: Terms, *, no_daemon: bool) -> None:
    """Answer a client on standard input and output until it goes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # else it waits for the client's next word
    wire = _own_wire()
    handshake = Handshake(place, terms)
    try:
        while (message := wire.read()) is not None:
            if not handshake.answered(wire, message):
                wire.replay(*handshake.replayed, message)
                _serve_by_sdk(wire, place, terms, no_daemon)
                return
    except BrokenPipeError:
        os._exit(0)  # a thread may still wait for the next word


def _serve_by_sdk(wire: Wire, place: Workspace, terms: Terms, no_daemon: bool) -> None:
    import gc

    gc.disable()  # a fifth of the time that the protocol's many models take to load
    from assistant import config
    from assistant.integrations.mcp_tools import MemoryTools, server
    from assistant.memory.open import open_memory

    gc.freeze()
    gc.enable()
    tools = MemoryTools(
        place,
        terms,
        lambda: open_memory(place, config.load(), no_daemon=no_daemon, notify=_notify),
    )
    try:
        server(tools).run_over(wire)
    except* BrokenPipeError:
        tools.close()
        os._exit(0)  # a thread still waits for the next word
    finally:
        tools.close()


def _own_wire() -> Wire:
    """The standard streams as a wire; what else writes to standard output goes to the log."""
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return Wire(reader, writer)


def _notify(text: str) -> None:
    """Tell the client's log, which is standard error."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"assistant: {text}\n")
