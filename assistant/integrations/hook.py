"""Hooks of coding agents: memory at a prompt, and an import of the conversation afterwards.

A hook never blocks the agent: on any error it prints nothing and succeeds.
"""

import contextlib
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from assistant import config
from assistant.disk import storage
from assistant.errors import StorageError, UsageError
from assistant.integrations.hook_event import CURSOR, HookEvent, answer, event_named, parsed_event
from assistant.workspace.folder import Workspace

MOST_BYTES = 64 << 20
"""Maximum size of the input; a larger event is ignored."""
MOST_AT_ONCE = 2 << 20
"""Maximum bytes of a conversation imported while the other program waits."""
PROMPT_SECONDS, OTHER_SECONDS, PATIENT_SECONDS = 2.0, 10.0, 3600.0
"""Timeouts: for a prompt, for other events, and for a background process."""
PATIENT = "--patient"
"""The option of a background process, which nobody waits for."""
KEPT_SECONDS = 30 * 24 * 3600.0
"""Seconds for which the state of a conversation is kept."""
QUIET_SESSION = "session"
QUIET = ("once", QUIET_SESSION)
"""How long the owner wants nothing from memory: for one prompt, or for a conversation."""


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of the command `hook`."""

    event: str
    program: str = ""
    quiet: str | None = None
    patient: bool = False


def respond(find: Callable[[], Workspace], call: Call, *, debug: bool) -> NoReturn:
    """Answer an event within its timeout, and exit.

    The exit code is always 0; `debug` prints the error.
    """

    def leave(text: str, error: BaseException | None = None) -> NoReturn:
        signal.setitimer(signal.ITIMER_REAL, 0)
        with contextlib.suppress(OSError, ValueError):  # the caller has exited
            if error is not None and debug:
                sys.stderr.write(f"assistant: {type(error).__name__}: {error}\n")
            if text:
                sys.stdout.buffer.write(f"{text}\n".encode())
            sys.stdout.flush()
        os._exit(0)

    seconds = PROMPT_SECONDS if event_named(call.event) == "prompt" else OTHER_SECONDS
    seconds = PATIENT_SECONDS if call.patient else seconds
    timeout = TimeoutError(f"it took longer than {seconds} s")
    signal.signal(signal.SIGALRM, lambda *_: leave("", timeout))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        text = handle(find, call)
    except BaseException as error:
        leave("", error)
    leave(text)


def handle(find: Callable[[], Workspace], call: Call) -> str:
    """Handle the event on standard input, and return the answer."""
    data = b""
    if sys.stdin is not None and not sys.stdin.isatty():
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
    data = data if len(data) <= MOST_BYTES else b""
    hook = parsed_event(call.event, data, call.program)
    state = ConversationState(hook.conversation if hook else "")
    if call.quiet == QUIET_SESSION and state.known:
        state.add(QUIET_SESSION)
    elif call.quiet and (hook is None or not hook.prompt):
        state.keep_quiet_next(call.quiet)
    if call.quiet:
        return ""
    if hook is None:
        raise UsageError(f"{call.event!r} with {len(data):,} bytes of input is not a known event")
    match hook.event:
        case "prompt" if not state.is_quiet():
            from assistant.integrations.hook_prompt import relevant_passages

            text, passages = relevant_passages(find(), hook, state.lines())
            with contextlib.suppress(StorageError):  # on a read-only disk they may come again
                state.add(*passages)
            return answer(hook, text) if text else ""
        case "prompt":
            return ""
        case "session-start":
            from assistant.memory.open import open_memory
            from assistant.upkeep.outbox import undelivered
            from assistant.workspace import trust

            workspace = find()
            open_memory(workspace, config.load()).close()  # so that the first prompt does not wait
            if hook.name and hook.program != CURSOR and trust.is_trusted(workspace):
                news = undelivered(workspace)
                return json.dumps({"systemMessage": "\n".join(news)}) if news else ""
        case event:
            if event == "compact":
                state.forget()  # the model loses those passages
            _import(find(), hook, data, patient=call.patient)
    return ""


def _import(workspace: Workspace, hook: HookEvent, data: bytes, *, patient: bool) -> None:
    """Import the conversation; a long one in the background, unless this process is `patient`.

    Raises UsageError if there is none.
    """
    record = hook.transcript
    size = record.stat().st_size if record and record.is_file() else 0
    if not size and not hook.messages:
        where = (
            f"nothing in the transcript {record}" if record else "no transcript, and no messages"
        )
        raise UsageError(f"{hook.event}: there is {where}")
    if max(size, len(data)) > MOST_AT_ONCE and not patient:
        _import_in_background(workspace, hook, data)
        return
    from assistant.integrations.hook_transcript import import_conversation

    import_conversation(workspace, hook)


def _import_in_background(workspace: Workspace, hook: HookEvent, data: bytes) -> None:
    """Import a long conversation in another process, which outlives this one."""
    import tempfile  # not needed at a prompt

    from assistant.disk import programs

    command = ["-m", "assistant.cli.main", "-w", str(workspace.root), "hook", hook.event, PATIENT]
    with tempfile.TemporaryFile() as stdin:
        stdin.write(data)
        stdin.seek(0)
        programs.start_own([*command, "--for", hook.program], stdin)


class ConversationState:
    """The passages that a conversation has received, by ID, and whether it is quiet.

    It is a file in the state directory, named by a digest of the conversation's name. The file
    `next` there mutes the next prompt of any conversation.
    """

    def __init__(self, conversation: str) -> None:
        self.known = bool(conversation)
        name = hashlib.sha256(conversation.encode("utf-8", "replace")).hexdigest()[:16]
        self._path = config.state_dir() / "hooks" / name
        self._next = self._path.with_name("next")

    def lines(self) -> set[str]:
        """Return the IDs of the passages, and `session` if the conversation is quiet."""
        return set(storage.read_or_empty(self._path).decode().split()) if self.known else set()

    def add(self, *lines: str) -> None:
        """Add lines."""
        if lines:
            self._keep(self.lines() | set(lines))

    def forget(self) -> None:
        """Forget the passages."""
        self._keep(self.lines() & {QUIET_SESSION})

    def keep_quiet_next(self, how: str) -> None:
        """Mute the next prompt, or the whole conversation that it belongs to."""
        storage.private_directory(self._next.parent)
        storage.replace(self._next, how.encode())

    def is_quiet(self) -> bool:
        """Return whether this prompt gets nothing, removing the file `next`."""
        how = storage.read_or_empty(self._next).decode()
        if how:
            self._next.unlink(missing_ok=True)
        if how == QUIET_SESSION:
            self.add(QUIET_SESSION)
        return bool(how) or QUIET_SESSION in self.lines()

    def _keep(self, lines: set[str]) -> None:
        """Write the lines, and delete the files of old conversations."""
        if not self.known:
            return
        oldest = time.time() - KEPT_SECONDS
        for file in storage.private_directory(self._path.parent).iterdir():
            with contextlib.suppress(FileNotFoundError):  # another hook may also delete it
                if file.stat().st_mtime < oldest:
                    file.unlink()
        storage.replace(self._path, "\n".join(sorted(lines)).encode())
