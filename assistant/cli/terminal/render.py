"""Events to the terminal: streamed markdown, and everything else as one quiet line each."""

from collections.abc import Callable
from types import TracebackType

from markdown_it import MarkdownIt
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markdown import Markdown
from rich.text import Text

from assistant import events
from assistant.display import outcome, spelled
from assistant.events import Event

SHOWN_CITATIONS = 5
REASONING_LINES = 4


class TurnView:
    """Shows one turn. What is finished is printed for good; only the last block is repainted.

    `typed` gives what the owner is typing meanwhile, shown under the reply.
    """

    def __init__(self, console: Console, typed: Callable[[], str] = str) -> None:
        self._console = console
        self._typed = typed
        self._text = ""
        self._reasoning = ""
        self._doing = "thinking"
        self._live = Live(
            console=console,
            get_renderable=self._unfinished,
            refresh_per_second=12,
            transient=True,
        )

    def __enter__(self) -> "TurnView":
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._flush()
        self._doing = ""
        self._live.stop()

    def pause(self) -> None:
        """Take the moving part off the screen, to ask the owner something."""
        self._flush()
        self._live.stop()

    def resume(self) -> None:
        """Put it back."""
        self._live.start()

    def show(self, event: Event) -> None:
        """Show one event."""
        match event:
            case events.TextDelta(text):
                self._add(text)
            case events.ReasoningDelta(text):
                self._reasoning += spelled(text)
            case events.ToolStarted(compact=compact):
                self._flush()
                self._doing = spelled(compact)
            case events.StateChanged(state=events.State.THINKING):
                self._doing = "thinking"
            case _:
                for line in quiet_lines(event):
                    self._flush()
                    self._console.print(line)

    def _add(self, text: str) -> None:
        self._reasoning = ""
        self._text += spelled(text)
        done, self._text = finished_blocks(self._text)
        if done.strip():
            self._console.print(_markdown(done))
            self._console.print()

    def _flush(self) -> None:
        if self._text.strip():
            self._console.print(_markdown(self._text))
        self._text = ""

    def _unfinished(self) -> RenderableType:
        parts: list[RenderableType] = []
        if self._text:
            parts.append(_markdown(self._text))
        elif self._reasoning:
            lines = self._reasoning.strip().splitlines()[-REASONING_LINES:]
            parts.append(Text("\n".join(lines), style="dim italic"))
        if self._doing:
            parts.append(Text(f"{self._doing} … (Ctrl-C stops)", style="dim"))
        typed = self._typed()
        if typed:
            parts.append(Text(f"› {typed}", style="cyan"))
        return Group(*parts)


def _markdown(text: str) -> Markdown:
    return Markdown(text, hyperlinks=False)  # where a link leads is shown, not hidden in it


def quiet_lines(event: Event) -> list[Text]:
    """The one line, or none, that an event is worth to a person."""
    return [Text(spelled(text), style=style) for text, style in _quiet(event)]


def _quiet(event: Event) -> list[tuple[str, str]]:
    dim = "dim"
    match event:
        case events.Recalled(citations=(), abstained=True):
            return [("memory holds nothing on this", dim)]
        case events.Recalled(citations=citations) if citations:
            shown = ", ".join(citations[:SHOWN_CITATIONS])
            more = ", …" if len(citations) > SHOWN_CITATIONS else ""
            return [(f"recalled {len(citations)} · {shown}{more}", dim)]
        case events.ToolFinished(compact=compact, error=error, tool=tool):
            mark = "✗" if error else "·"
            return [(f"{mark} {compact or tool}", "dim red" if error else dim)]
        case events.ApprovalDecided(compact=compact, decision=decision, reason=reason):
            return [(outcome(compact, decision, reason), dim)]
        case events.Notice(text):
            return [(f"note: {text}", "yellow")]
        case events.Retrying(model, reason, delay):
            return [(f"{reason}; trying {model} in {delay:.0f} s", dim)]
        case events.Compacted(turns, before, after):
            return [(f"compacted {turns} turns: {before:,} → {after:,} tokens", dim)]
        case events.FactsCaptured(facts, waiting):
            lines = [(f"kept in memory: {fact}", dim) for fact in facts]
            if waiting:
                hint = "`assistant memory review`"
                lines.append((f"{waiting} facts wait for your review: {hint}", "yellow"))
            return lines
        case events.TurnFailed(message, cure):
            return [(f"{message}. {cure}".rstrip(". ") + ".", "red")]
        case events.TurnFinished(interrupted=True):
            return [("stopped", dim)]
        case _:
            return []


def finished_blocks(text: str) -> tuple[str, str]:
    """Split streamed markdown into the blocks that more text cannot change, and the last one."""
    tokens = MarkdownIt("commonmark").parse(text)
    starts = [token.map[0] for token in tokens if token.level == 0 and token.map]
    if len(starts) < 2:
        return "", text
    lines = text.split("\n")  # not splitlines: markdown knows fewer line ends than str does
    return "\n".join([*lines[: starts[-1]], ""]), "\n".join(lines[starts[-1] :])
