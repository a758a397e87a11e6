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
        help.DAILY: {
            "chat": talk.chat,
            "ask": talk.ask,
            "remember": facts.remember,
            "recall": facts.recall,
            "forget": facts.forget,
            "agenda": agenda.agenda,
            "remind": agenda.remind,
        },
        help.MEMORY: {
            "context": context.context,
            "memory": group(
                "Look after memory: its state, history, reviews and index.",
                {
                    "status": memory.status,
                    "log": memory.log,
                    "undo": memory.undo,
                    "check": memory.check,
                    "capture": memory.capture,
                    "merge": memory.merge,
                    "map": memory.draw_map,
                    "review": review.review,
                    "restore": review.restore,
                    "tidy": review.tidy,
                    "core": core.core,
                },
            ),
            "eval": evaluation.evaluate,
            "sessions": group(
                "Look at past conversations.",
                {
                    "list": sessions.list_sessions,
                    "show": sessions.show,
                    "rename": sessions.rename,
                    "delete": sessions.delete,
                },
            ),
            "undo": sessions.undo,
            "import": moving.import_,
            "export": moving.export,
        },
        help.TOOLS: {
            "skills": group(
                "Look at the assistant's skills, or write one.",
                {"list": skills.list_skills, "new": skills.new},
            ),
            "heartbeat": group(
                "Run the tasks of HEARTBEAT.md, now or by a timer.",
                {
                    "run": heartbeat.run,
                    "explain": heartbeat.explain,
                    "install": heartbeat.install,
                },
            ),
            "event": event.event,
            "listen": event.listen,
        },
        help.PROGRAMS: {
            "connect": connect.connect,
            "mcp": connect.mcp,
            "mcp-servers": group(
                "Look at the MCP servers whose tools the assistant uses, and approve them.",
                {"list": mcp_servers.list_servers, "approve": mcp_servers.approve},
            ),
        },
        help.SETUP: {
            "init": setup.init,
            "doctor": setup.doctor,
            "trust": setup.trust_workspace,
            "secrets": group(
                "Register values that must never be sent or stored.",
                {
                    "add": setup.add_secret,
                    "show": setup.show_secrets,
                    "remove": setup.remove_secret,
                },
            ),
            "daemon": group(
                "Control the process that holds the index in memory.",
                {"stop": setup.stop_daemon},
            ),
            "completion": setup.completion,
            "config": group(
                "Show and change settings.",
                {
                    "show": config.show,
                    "set": config.set_value,
                    "unset": config.unset,
                    "edit": config.edit,
                },
            ),
        },
    }
)
help.add(
    cli,
    "hook",
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
