"""`memory`: its state, its history, its upkeep, and which of its facts are in every prompt."""

import difflib
import itertools
import os
import subprocess
import sys
import webbrowser
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from assistant.agent.capture import ended
from assistant.agent.memory_text import CORE_TOKENS, PromptMemory, prompt_memory
from assistant.cli.commands.facts import locate, pick
from assistant.cli.memory_text import one_line, show_diff, show_undone
from assistant.cli.options import AsJson, Globals, Yes, answer, at_terminal, note, option
from assistant.cli.palette import BAD, GOOD, WARNING, echo
from assistant.cli.questions import must_confirm
from assistant.disk import programs, storage
from assistant.display import counted, local_time
from assistant.errors import LedgerError, SessionError, UsageError
from assistant.memory.annotations import CORE, NOT_CORE
from assistant.memory.base import Keeper, Mark, Origin, Passage
from assistant.memory.open import copies as copies_in
from assistant.memory.text.conflict_marks import conflict_in
from assistant.memory.text.merge import CopyMerge, merge_texts
from assistant.memory.text.times.dates import day_of
from assistant.secrets.registered import redactor
from assistant.session import entries, transcript
from assistant.session.listing import recalls
from assistant.upkeep import changes
from assistant.workspace.folder import ARCHIVE, PROCEDURE_FILES, Workspace, path_of


def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show what is indexed, by which model, and what needs attention."""
    workspace = context.obj.workspace()
    reports = ended.load(workspace)
    with context.obj.memory() as memory:
        state = memory.status()
        news = ended.pending_news(reports, workspace, memory, datetime.now().astimezone())
    answer(state)
    echo(f"{counted(state.chunks, 'chunk')}, {state.index_bytes / 1e6:.1f} MB, {state.embedder}")
    for source in state.sources:
        size = f"{counted(source.chunks, 'chunk')}, indexed {local_time(source.indexed_at)}"
        echo(f"  {source.source}  {size}")
    for notes in state.notes:
        left = f", {notes.left:,} left to index" if notes.left else ""
        size = f"{counted(notes.notes, 'note')}, {counted(notes.chunks, 'chunk')}{left}"
        echo(f"  {notes.name}: {notes.path}  {size}")
    echo(f"{counted(state.embedded_total, 'text')} embedded since the index was made")
    if waiting := state.waiting_for_review:
        wait = counted(waiting, "fact waits", "facts wait")
        echo(f"{wait} for `assistant memory review`")
    if failed := sum(1 for progress in reports.sessions.values() if progress.failures):
        chats = counted(failed, "chat is", "chats are")
        echo(f"{chats} not read yet; `assistant memory capture` tries again")
    for line in news:
        echo(line)
    if cost := reading_cost(workspace):
        echo(cost)
    if state.daemon:
        rss = state.daemon.rss_bytes / 1e6
        echo(f"daemon: process {state.daemon.pid}, {rss:.0f} MB")
    if server := state.server:
        lack = counted(server.lacks, "vector") if server.lacks else "no vector"
        unused = f"not in use; it lacked {lack} when last seen"
        echo(f"Chroma server: {server.url}, {unused if server.trouble else f'lacks {lack}'}")
    for notice in state.notices:
        echo(f"note: {notice}")


EVERY_WRITE = 100_000
MARKS = {"learnt": ("+", GOOD), "changed": ("~", WARNING), "forgotten": ("-", BAD)}


def log(
    context: typer.Context,
    limit: Annotated[int, partial(option, min=1)] = 20,
    since: str | None = None,
    as_json: AsJson = False,
) -> None:
    """Show the latest writes to memory, or what has changed since a day.

    Arguments:
      -n N: Maximum number of writes.
      --since DAY: Show what was learnt, changed and forgotten since: a date, `7d`, `last week`.

    Examples:
      assistant memory log -n 5
      assistant memory log --since 7d
    """
    if since is not None:
        return _show_changes(context.obj, since)
    workspace = context.obj.workspace()
    with context.obj.memory() as memory:
        writes = memory.log(limit)
    if as_json:
        return answer(writes)
    if not writes:
        echo("Nothing has been written to memory yet.", err=True)
    for entry in writes:
        undone = " (undone)" if entry.undone else ""
        text = one_line(entry.text) or changes.FOR_GOOD * (entry.action == "forget")
        line = f"{local_time(entry.time)}  {entry.action:<9} {entry.source}  {text}"
        echo(f"{line}  [{entry.origin.kind}]{undone}")
        for source in sentences(workspace, entry.origin) if entry.text else ():
            echo(f"    {source}", faint=True)


def _show_changes(options: Globals, since: str) -> None:
    """Print what memory has learnt, changed and forgotten, by day."""
    day = day_of(since, date.today())
    with options.memory() as memory:
        changed = changes.since(memory.chart(), memory.log(EVERY_WRITE), day)
    answer(changed)
    for heading, of_day in itertools.groupby(changed, key=lambda change: change.day):
        echo(heading, bold=True)
        for change in of_day:
            mark, colour = MARKS[change.kind]
            text = " ".join(change.text.split())
            echo(f"{mark} {text}", f"  {change.place}", colour=colour)
            if change.now:
                echo(f"  → {change.now}")
    kinds: list[str] = [change.kind for change in changed]
    total = ", ".join(f"{kinds.count(kind)} {kind}" for kind in MARKS)
    echo(f"Since {day.isoformat()}: {total}.", err=True)


def undo(context: typer.Context, skip: bool = False, as_json: AsJson = False) -> None:
    """Undo the latest write to memory, with the rest of its `remember` command or its chat.

    Arguments:
      --skip: Pass over later writes that cannot be undone.
    """
    with context.obj.memory() as memory:
        undone = memory.undo(skip=skip)
    answer(undone)
    show_undone(undone)


def check(
    context: typer.Context,
    rebuild: bool = False,
    as_json: AsJson = False,
) -> None:
    """Check journal, index and files, and repair what can be repaired.

    Arguments:
      --rebuild: Also rebuild the index, without embedding again.
    """
    with context.obj.memory() as memory:
        faults = memory.check()
        state = memory.rebuild() if rebuild else None
    answer(faults)
    for fault in faults:
        echo(f"{'repaired' if fault.mended else 'not repaired'}: {fault.what}")
    if not faults:
        echo("No problems found.")
    if state:
        echo(f"Rebuilt the index: {counted(state.chunks, 'chunk')}.")
    if not all(fault.mended for fault in faults):
        raise typer.Exit(1)


def capture(
    context: typer.Context,
    wait: bool = False,
) -> None:
    """Extract facts from chats that have ended; this also happens automatically.

    Chats whose extraction failed are tried again. Exits with 1 if one could not be read.

    Arguments:
      --wait: Also wait for open chats to end.
    """
    workspace = context.obj.workspace()
    unread: Counter[str] = Counter()
    reads = failures = 0
    for read in ended.read_ended(workspace, wait=wait, asked=True):
        if read.lacks:
            unread[read.lacks] += 1
            continue
        reads += 1
        failures += bool(read.failed)
        if read.failed and not (read.stored or read.waiting):
            echo(f"{read.session}: not read: {read.failed}")
            continue
        waits = counted(read.waiting, "waits", "wait")
        left = f", {waits} for `assistant memory review`" if read.waiting else ""
        echo(f"{read.session}: {counted(len(read.stored), 'fact')}{left}")
        for fact in read.stored:
            echo(f"  {fact}")
        for line in read.left_out:
            echo(f"  left out: {line}")
        if read.failed:
            echo(f"  only read in part: {read.failed}")
    open_chats = sum(session.open for session in ended.unread(workspace))
    reasons = {**unread, "still open (`--wait` waits for its end)": open_chats}
    for reason, count in reasons.items():
        if count:
            echo(f"{counted(count, 'chat is', 'chats are')} not read yet: {reason}.")
    if not any((reads, *reasons.values())):
        echo("All ended chats have been read.")
    if failures or unread:
        raise typer.Exit(1)


def merge(
    context: typer.Context,
    versions: list[Path] | None = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Merge conflict copies that Syncthing, Dropbox and others leave.

    A diff is shown first. Merged copies go to .assistant/merged; `memory undo` takes the facts out
    again. `init --git` has git call this with its three versions of a file.

    Arguments:
      [BASE OURS THEIRS NAME]: Three versions that git gives, and the file's name: OURS becomes the
          result.
    """
    if versions:
        return _merge_versions(versions)
    copies = copies_in(context.obj.workspace())
    planned = copies.plan()
    answer(planned)
    if not planned:
        echo("There are no conflict copies.")
    for copy in planned:
        _show_merge(copy)
    mergeable = [copy for copy in planned if not copy.fault]
    if mergeable and (yes or not as_json):
        if not yes and not sys.stdin.isatty():
            echo("Nothing was written. `assistant memory merge --yes` merges them.")
            return
        must_confirm("Merge this?", yes=yes)
        copies.take_in(planned)
        merged = counted(len(mergeable), "copy", "copies")
        echo(f"{merged} merged. `assistant memory undo` reverses it.")
    if len(mergeable) < len(planned):
        raise typer.Exit(1)


def _merge_versions(versions: Sequence[Path]) -> None:
    """Merge two versions of a file for git."""
    if len(versions) not in (3, 4):
        raise UsageError(
            "a merge takes BASE, OURS, THEIRS and the file's name",
            "Name those, or nothing to merge conflict copies",
        )
    base, ours, theirs, name = *versions[:3], versions[-1] if versions[3:] else versions[1]
    texts = []
    for path in (base, ours, theirs):
        try:
            texts.append(path.read_bytes().decode("utf-8"))
        except UnicodeDecodeError:
            git = programs.find("git") or "git"  # git merges files that are not text
            merged = subprocess.run([git, "merge-file", ours, base, theirs], check=False)
            raise typer.Exit(merged.returncode) from None
        except OSError as error:
            raise UsageError(
                f"{path} cannot be read: {error.strerror}", "Check the path"
            ) from error
    for text in texts:
        if line := conflict_in(text):
            raise UsageError(
                f"{name} has unresolved conflict markers, in line {line}",
                "Keep the right lines, remove the markers, and commit; then merge again",
            )
    united = merge_texts(*texts)
    ours.write_bytes(united.text.encode())
    path = Path(name).absolute()
    for workspace in map(Workspace, path.parents):
        if workspace.journal.exists():
            source = path.relative_to(workspace.root).as_posix()
            copies_in(workspace).note_merge(source, texts, united.text)
    if united.conflicts:
        echo(f"{name}: both sides changed the same prose; the facts are merged.", err=True)
        raise typer.Exit(1)


def _show_merge(planned: CopyMerge) -> None:
    if planned.fault:
        echo(f"not merged: {planned.copy}: {planned.fault}", err=True)
        return
    echo(planned.copy, bold=True)
    before, after = planned.before.splitlines(), planned.after.splitlines()
    diff = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
    show_diff(diff or ["  (nothing new)"])
    for text in planned.doubtful:
        echo(f"  comes back: {text}")
    if planned.doubtful:
        echo(
            "  (written on this machine and then removed from the file, perhaps by you. `assistant"
            " forget` keeps a fact out)"
        )
    for text in planned.left:
        echo(f"  not merged, not a fact: {text.strip()}")


def map_(
    context: typer.Context,
    to: Annotated[Path | None, partial(option, parser=path_of)] = None,
    show: bool = False,
    serve: bool = False,
    port: Annotated[int | None, partial(option, min=0, max=65535)] = None,
    no_open: bool = False,
    as_json: AsJson = False,
) -> None:
    """Draw memory as a page of topics, timeline and recalled facts.

    Arguments:
      --to FILE: Write the page to this file.
      --open: Open it in your browser.
      --serve: Serve it to your browser until Ctrl-C, to correct and forget facts in it.
      --port PORT: With --serve: its port, by default a free one.
      --no-open: With --serve: only print its address.
    """
    from assistant.upkeep.map.page import gather, page  # pydantic: not for `--help`

    workspace = context.obj.workspace()

    def gathered(memory: Keeper) -> dict[str, Any]:
        asked, now = recalls(workspace.sessions), datetime.now().astimezone()
        redact = redactor().redact
        return gather(memory, asked, str(workspace.root), now, redact, served=serve)

    if serve:
        if to or as_json:
            raise UsageError("--serve writes no file and no JSON", "Drop --to and --json")
        return _serve_map(
            context.obj, port or 0, lambda memory: page(gathered(memory)), show=not no_open
        )
    if no_open or port is not None:
        raise UsageError("--port and --no-open only work with --serve", "Add it, or drop them")
    with context.obj.memory() as memory:
        data = gathered(memory)
    if as_json:
        return answer(data)
    target = storage.expanded(to or workspace.private / "map.html").resolve()
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", "Create it, or name another")
    storage.replace(target, page(data).encode("utf-8", "replace"))
    facts, topics = counted(len(data["facts"]), "fact"), counted(len(data["topics"]), "topic")
    echo(f"{facts} in {topics}: {target}")
    if show and not _browse(target.as_uri()):
        raise UsageError("no browser could be opened", f"Open {target} in one")


def _serve_map(options: Globals, port: int, draw: Callable[[Keeper], str], show: bool) -> None:
    """Serve the page until Ctrl-C."""
    from assistant.upkeep.map.serve import MapServer  # an HTTP server: slow to import

    server = MapServer(port, options.memory, draw)
    echo(f"Until Ctrl-C: {server.address}")
    sys.stdout.flush()
    if show:
        _browse(server.address)
    server.serve_forever()


def _browse(address: str) -> bool:
    """Open an address in the owner's browser; return whether there is one."""
    os.environ["PATH"] = programs.environment()["PATH"]  # where webbrowser looks for it
    return webbrowser.open(address)


# The facts in every prompt

ADD, DROP = "add", "drop"


def core(
    context: typer.Context,
    change: list[str] | None = None,
    as_json: AsJson = False,
) -> None:
    """Show or change which facts are in every prompt.

    A small memory is in every prompt as a whole. Of a larger one, the facts that you add come
    first, then those that say most about health, diet, people, home and strong preferences; a fact
    that you drop is never chosen. Each choice is a comment at the end of the fact's line.

    Arguments:
      [add|drop ID|FILE:LINE|WORDS...]: The fact to add or drop.

    Examples:
      assistant memory core
      assistant memory core add I am allergic to nuts
      assistant memory core drop MEMORY.md:12
    """
    with context.obj.memory() as memory:
        if change:
            _change_core(context.obj, memory, change[0], " ".join(change[1:]))
        else:
            _show_core(context.obj, memory)


def _prompt_facts(options: Globals, memory: Keeper, most: int) -> PromptMemory:
    """Return which facts are in every prompt if all of memory may take `most` tokens there."""
    redact, hidden = redactor().redact, options.hidden()
    return prompt_memory(options.workspace(), most, redact, hidden, memory.core)


def _show_core(options: Globals, memory: Keeper) -> None:
    settings = options.settings()
    whole = _prompt_facts(options, memory, settings.memory.whole)
    chosen = _prompt_facts(options, memory, 0)
    total = sum(entry.tokens for entry in chosen.core)
    facts = [
        {
            "source": entry.source,
            "line": entry.line,
            "text": entry.plain,
            "tokens": entry.tokens,
            "added": entry.marked,
        }
        for entry in chosen.core
    ]
    answer({"whole": bool(whole.text and not whole.core), "tokens": total, "facts": facts})
    if whole.text and not whole.core:
        echo(
            "All of memory is in every prompt as long as it takes at most "
            f"{counted(settings.memory.whole, 'token')} (memory.whole). Beyond that, these facts "
            "would be:"
        )
    for entry in chosen.core:
        yours = ", added by you" if entry.marked else ""
        about = f"  ({counted(entry.tokens, 'token')}{yours})"
        echo(f"{entry.citation}  {one_line(entry.plain)}", about)
    echo(
        f"{counted(len(facts), 'fact')}, {total} of at most {counted(CORE_TOKENS, 'token')}",
        err=True,
    )
    if chosen.cut:
        note(chosen.cut)


def _change_core(options: Globals, memory: Keeper, what: str, target: str) -> None:
    if what not in (ADD, DROP) or not target.strip():
        raise UsageError(
            "`memory core` takes `add` or `drop`, and a fact",
            "`assistant memory core add I am allergic to nuts`",
        )
    located = locate(memory, target)
    if at_terminal() and not (located.exact and len(located.passages) == 1):
        fact = pick(located.passages, "Which one?")
    else:
        fact = located.one(target)
    if fact is None:
        raise typer.Exit(1)
    if fact.source in PROCEDURE_FILES or fact.source.startswith(ARCHIVE):
        raise LedgerError(f"{fact.source} is never part of the core", "Name a fact of memory")
    changed = memory.mark([Mark(fact, core=CORE if what == ADD else NOT_CORE)])
    answer({"source": fact.source, "line": fact.start_line, "changed": bool(changed)})
    if changed:
        effect = "Now in every prompt" if what == ADD else "No longer in the core"
        echo(f"{effect}: {_line(fact)}")
        in_prompt = _prompt_facts(options, memory, options.settings().memory.whole)
        if what == DROP and in_prompt.text and not in_prompt.core:
            echo("All of memory is in every prompt while it is small (memory.whole).", err=True)
        echo("`assistant memory undo` reverses it.", err=True)
    else:
        already = "in every prompt" if what == ADD else "kept out"
        echo(f"Already {already}: {_line(fact)}", err=True)


def _line(fact: Passage) -> str:
    return f"{fact.citation}  {one_line(fact.plain)}"


# Where facts come from

SHOWN = 200
"""Maximum characters shown of an entry that a fact comes from."""


def sentences(workspace: Workspace, origin: Origin) -> Iterator[str]:
    """Yield the entries of the session that a fact comes from, a line each."""
    if not origin.session:
        return
    try:
        session = transcript.read(workspace.sessions, origin.session)
    except SessionError:
        return
    for entry in session:
        match entry:
            case entries.ToolResultEntry(tool=tool, content=text):
                who = f"result of {tool}"
            case entries.UserEntry(text=text):
                who = "you"
            case entries.AssistantEntry(text=text):
                who = "assistant"
            case _:
                continue
        if entry.id in origin.entries:
            yield f"{entry.id} {one_line(f'{who}: {text}', SHOWN)}"


def reading_cost(workspace: Workspace) -> str:
    """Return the tokens used this month to extract facts from chats; empty for none."""
    tokens = ended.load(workspace).spent
    return (
        f"{counted(tokens, 'token')} this month for extracting facts from chats" if tokens else ""
    )
