"""The whole tree of commands, by the panels of the first page of help."""

import sys

from assistant.cli import help, resident, root, talk
from assistant.cli.commands import (
    agenda,
    config,
    connect,
    context,
    core,
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
from assistant.cli.help import group

cli = root.tree(
    {
        help.DAILY: [talk.chat, talk.ask, *facts.COMMANDS, agenda.agenda, agenda.remind],
        help.MEMORY: [
            context.context,
            group(
                "memory",
                "Inspect and maintain memory: its state, history, reviews and index.",
                [*memory.COMMANDS, *review.COMMANDS, core.core],
            ),
            evaluation.eval_,
            group("sessions", "Inspect past conversations.", sessions.COMMANDS),
            sessions.undo,
            moving.import_,
            moving.export,
        ],
        help.TOOLS: [
            group(
                "skills",
                "Inspect the assistant's skills, or write one.",
                [skills.list_, skills.new],
            ),
            group(
                "heartbeat", "Run the tasks of HEARTBEAT.md, now or by a timer.", heartbeat.COMMANDS
            ),
            event.event,
            event.listen,
        ],
        help.PROGRAMS: [
            connect.connect,
            connect.mcp,
            group(
                "mcp-servers",
                "Inspect and approve the MCP servers whose tools the assistant uses.",
                [mcp_servers.list_, mcp_servers.approve],
            ),
        ],
        help.SETUP: [
            setup.init,
            setup.doctor,
            setup.trust_,
            group("secrets", "Register values that must never be sent or stored.", setup.SECRETS),
            group("daemon", "Control the process that holds the index in memory.", [setup.stop]),
            setup.completion,
            group("config", "Show and change settings.", config.COMMANDS),
        ],
    }
)
help.add(
    cli,
    connect.hook,
    rich_help_panel=help.PROGRAMS,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)


def run(*, handed_over: bool = False) -> None:
    """Run a command; one that was `handed_over` to this process is not handed over again."""
    setup.prepare_completion()
    resident.arguments = None if handed_over else sys.argv[1:]
    root.run(cli)


if __name__ == "__main__":
    run()
