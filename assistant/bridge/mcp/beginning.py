"""The server from its beginning to its end; the protocol is imported here, and it takes long."""

from assistant import config
from assistant.workspace.folder import Workspace


def serve_memory(
    place: Workspace, name: str, *, trusted: bool, read_only: bool, no_daemon: bool
) -> None:
    """Answer a client, called `name`, until it goes; what it writes waits unless `trusted`."""
    import gc

    gc.disable()  # a fifth of the time that the protocol's many models take to load
    from assistant.bridge.mcp.desk import Desk, Terms, notify
    from assistant.bridge.mcp.server import serve
    from assistant.memory.door import open_memory

    gc.freeze()
    gc.enable()
    serve(
        Desk(
            place,
            Terms(name, trusted, read_only),
            lambda: open_memory(place, config.load(), no_daemon=no_daemon, notify=notify),
        )
    )
