"""`!command`: a command of the owner's own, in the sandbox and under the same rules as a tool's."""

import typer

from assistant.cli.terminal.commands.host import BESIDE, Host
from assistant.cli.terminal.palette import faint
from assistant.display import spelled
from assistant.errors import UsageError
from assistant.events import ApprovalRequested
from assistant.messages import ToolCall

LONGEST = 900
"""Seconds until it is stopped."""


def run(host: Host, command: str) -> None:
    """Run a command and show what it prints, which goes with the next message."""
    talk = host.chat.conversation
    if not command:
        raise UsageError("! needs a command", "Write !git status")
    if talk.transcript.off_the_record:
        raise UsageError("off the record no command runs", "Leave, and begin a chat without --otr")
    host.screen.does(spelled(f"! {command}"))
    talk.interruption.reset()
    call = ToolCall("owner", "shell", {"command": command, "timeout": LONGEST})
    verdict = talk.toolbox.review(call)
    if verdict.action == "ask":
        asked = ApprovalRequested(call.id, call.name, verdict.compact, verdict.detail)
        verdict = talk.toolbox.settle(verdict, talk.approver.decide(asked))
    result = talk.toolbox.run(verdict)
    typer.echo(spelled(result.content))
    if verdict.action == "run":
        host.given[f"What {command} printed"] = result.content
        typer.echo(faint(BESIDE))
