"""How help reads: commands in groups, whole sentences at any width, and examples that work."""

import shutil
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import Exit, TyperException

WIDTH = 80
"""The most columns that help takes: longer lines read badly."""
LEAST_WIDTH = 20

GROUPS = {
    "Talk": ("chat", "ask", "context", "sessions"),
    "Remember": ("remember", "recall", "forget", "memory", "eval"),
    "Connect": ("connect", "mcp", "hook"),
    "Act": ("skills", "agenda", "remind", "heartbeat", "event", "mcp-servers"),
    "Move": ("import", "export"),
    "Set up": ("init", "trust", "config", "secrets", "doctor", "daemon", "completion"),
}
"""The commands of `assistant`; any other stands under "More"."""
EXAMPLES = {
    "assistant": (
        "assistant                                  # open the chat",
        "assistant remember The spare key is with Ada",
        "assistant recall who has a key",
        "git diff | assistant ask what could break here",
    ),
    "assistant init": ("assistant init", "assistant init ~/notes/mind"),
    "assistant chat": (
        "assistant chat --continue",
        "assistant chat --model ollama_chat/qwen3 --otr",
        "printf 'hello\\nwhat is due today?\\n' | assistant chat",
    ),
    "assistant ask": (
        "assistant ask what should I bring on Friday",
        "cat minutes.txt | assistant ask list the decisions",
        "assistant ask --json when does Mia land | jq -r 'select(.reply).reply'",
    ),
    "assistant context": ("assistant context what is due on Friday",),
    "assistant remember": (
        "assistant remember The spare key is with Ada",
        "assistant remember Lives in Lisbon --replaces MEMORY.md:12",
        "grep '^- ' notes.md | assistant remember -",
    ),
    "assistant recall": (
        "assistant recall who has the spare key",
        "assistant recall where do I live --as-of 2025-06-01 --all",
        "assistant recall door code -k 1 --why",
    ),
    "assistant forget": (
        "assistant forget the door code",
        "assistant forget MEMORY.md:12 --yes",
        "assistant forget MEMORY.md:12 --purge --sessions",
    ),
    "assistant eval": ("assistant eval", "assistant eval -n 50"),
    "assistant connect": (
        "assistant connect",
        "assistant connect claude-code",
        "assistant connect zed --print",
        "assistant connect codex --undo",
    ),
    "assistant hook": ("assistant hook --quiet-for session",),
    "assistant mcp": (
        "assistant mcp --as claude-code",
        "assistant mcp --as zed --read-only",
    ),
    "assistant doctor": ("assistant doctor", "assistant doctor --with-model"),
    "assistant memory restore": ("assistant memory restore", "assistant memory restore --all"),
    "assistant memory review": ("assistant memory review",),
    "assistant event": (
        "curl -s https://ci.example/last | assistant event --source ci",
        "cat event.json | assistant event --source mail --reply-to 'tee answer.txt'",
    ),
    "assistant heartbeat explain": ("assistant heartbeat explain",),
    "assistant heartbeat install": (
        "assistant heartbeat install",
        "assistant heartbeat install --with cron --print",
    ),
    "assistant remind": (
        "assistant remind tomorrow at 9 call the bank",
        "assistant remind every Friday at 18 put out the bins",
    ),
    "assistant agenda": ("assistant agenda --days 7", "assistant agenda --ics > due.ics"),
    "assistant skills new": (
        "assistant skills new weekly-review",
        "assistant skills new tea --description 'How I take my tea'",
    ),
    "assistant skills check": ("assistant skills check",),
    "assistant sessions show": ("assistant sessions list", "assistant sessions show k7q"),
    "assistant secrets add": (
        "assistant secrets add home_key",
        "pass wifi | assistant secrets add wifi",
    ),
    "assistant config get": ("assistant config get memory.k",),
    "assistant config set": (
        "assistant config set model ollama_chat/qwen3",
        "assistant config set policy.allow 'shell:git status*' 'shell:ls*'",
        "assistant config set profiles.1.name openai/gpt-5.6",
        "assistant config set model ''",
    ),
    "assistant completion": (
        "assistant completion bash >> ~/.bashrc",
        "assistant completion zsh > ~/.zfunc/_assistant",
        "assistant completion fish > ~/.config/fish/completions/assistant.fish",
    ),
}


def commands(help: str) -> typer.Typer:
    """A group of commands whose help reads like this."""
    return Tree(help=help, cls=Group, rich_markup_mode=None)


class Tree(typer.Typer):
    """Commands that are of our kind without saying so."""

    def command(self, name: str | None = None, **more: Any) -> Any:
        """Add a command, as typer does."""
        return super().command(name, **{"cls": Command, **more})


class Command(TyperCommand):
    """A command."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """What it does, its arguments and options, and examples."""
        _begin(self, ctx, formatter)
        _parameters(self, ctx, formatter)
        _examples(ctx, formatter)


class Group(TyperGroup):
    """A group of commands; without one of them it shows its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Without a command, show the help, as for wrong usage."""
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            raise Exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called; one that stands in a group below is told with its group."""
        try:
            return super().resolve_command(ctx, args)
        except TyperException as error:
            groups = {name: getattr(each, "commands", {}) for name, each in self.commands.items()}
            below = [
                f"`{ctx.command_path} {group} {args[0]}`"
                for group, names in groups.items()
                if args[0] in names
            ]
            if below:
                error.message = f"No such command {args[0]!r}. Did you mean {' or '.join(below)}?"
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The commands by their groups, the options, and examples."""
        _begin(self, ctx, formatter)
        known = [(name, command) for name, command in self.commands.items() if not command.hidden]
        for title, names in _grouped([name for name, _ in known], ctx.parent is None):
            sentences = {name: _sentence(command.help or "") for name, command in known}
            _definitions(formatter, title, [(name, sentences[name]) for name in names])
        _parameters(self, ctx, formatter)
        _examples(ctx, formatter)


def _grouped(names: Sequence[str], is_root: bool) -> Iterable[tuple[str, list[str]]]:
    """The names under their titles; those of a command of commands stand together."""
    if not is_root:
        yield "Commands", list(names)
        return
    for title, listed in GROUPS.items():
        yield title, [name for name in listed if name in names]
    placed = {name for listed in GROUPS.values() for name in listed}
    if more := [name for name in names if name not in placed]:
        yield "More", more


def _sentence(text: str) -> str:
    """The first paragraph, on one line."""
    return " ".join(text.strip().partition("\n\n")[0].split())


def _begin(command: Any, ctx: Any, formatter: Any) -> None:
    columns = min(shutil.get_terminal_size().columns, ctx.max_content_width or WIDTH)
    formatter.width = max(ctx.terminal_width or columns - 2, LEAST_WIDTH)  # by itself 50 or more
    command.format_usage(ctx, formatter)
    command.format_help_text(ctx, formatter)


def _parameters(command: Any, ctx: Any, formatter: Any) -> None:
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        of_kind = [each for each in command.get_params(ctx) if each.param_type_name == kind]
        _definitions(
            formatter, title, list(filter(None, (e.get_help_record(ctx) for e in of_kind)))
        )
    if command.epilog:
        command.format_epilog(ctx, formatter)


def _examples(ctx: Any, formatter: Any) -> None:
    if lines := EXAMPLES.get(ctx.command_path):
        with formatter.section("Examples"):
            for line in lines:
                formatter.write(f"  {line}\n")


def _definitions(formatter: Any, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Terms, and beside them what they mean; on a narrow screen the terms give room."""
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows, col_max=min(30, formatter.width // 3))
