"""The whole tree of commands."""

import sys

from assistant.cli import resident, root, talk
from assistant.cli.commands import (
    agenda,
    config,
    connect,
    context,
    evaluation,
    event,
    facts,
    heartbeat,
    mcp_servers,
    memory,
    moving,
    review,
    sessions,
    setup,
    skills,
)

cli = root.tree(
    [
        talk,
        facts,
        context,
        memory,
        review,
        evaluation,
        sessions,
        skills,
        agenda,
        heartbeat,
        event,
        connect,
        mcp_servers,
        moving,
        setup,
        config,
    ]
)


def run(*, handed_over: bool = False) -> None:
    """Run a command; one that was `handed_over` to this process is not given away again."""
    setup.prepare_completion()
    resident.arguments = None if handed_over else sys.argv[1:]
    root.run(cli)


if __name__ == "__main__":
    run()
