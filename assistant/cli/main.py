"""The whole tree of commands."""

import sys

from assistant.cli import resident, root
from assistant.cli.acting import agenda, event, heartbeat, mcp_servers, skills
from assistant.cli.bridge import connect, hook
from assistant.cli.bridge import server as mcp_server
from assistant.cli.doctor import command as doctor
from assistant.cli.memory import (
    capture,
    collections,
    evaluation,
    facts,
    merging,
    model,
    overview,
    state,
    upkeep,
)
from assistant.cli.moving import exporting, importing
from assistant.cli.sessions import commands as sessions
from assistant.cli.setup import completion, configuration, daemon, init, secrets
from assistant.cli.talk import ask, chat
from assistant.cli.talk import context as context_command

cli = root.tree(
    [
        init,
        chat,
        ask,
        context_command,
        facts,
        state,
        overview,
        upkeep,
        merging,
        capture,
        collections,
        model,
        evaluation,
        importing,
        exporting,
        sessions,
        skills,
        agenda,
        heartbeat,
        event,
        mcp_servers,
        secrets,
        configuration,
        daemon,
        connect,
        mcp_server,
        hook,
        doctor,
        completion,
    ]
)


def run(*, handed_over: bool = False) -> None:
    """Run a command; one that was `handed_over` to this process is not given away again."""
    completion.prepare()
    resident.arguments = None if handed_over else sys.argv[1:]
    root.run(cli)


if __name__ == "__main__":
    run()
