"""What coding agents call at their events: what is worth knowing, and what was said.

A hook never stands in the way: whatever is wrong, it says nothing and succeeds.
"""

import contextlib
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn

import assistant
from assistant import config
from assistant.disk import storage
from assistant.errors import UsageError
from assistant.workspace.folder import Workspace

MOST_BYTES = 64 << 20
"""Of input; an event that says more is none."""
MOST_AT_ONCE = 2 << 20
"""Bytes of a conversation that are taken over while the other program waits."""
PROMPT_SECONDS, OTHER_SECONDS, PATIENT_SECONDS = 2.0, 10.0, 3600.0
"""How long an event may take when nothing is warm: somebody waits for a prompt, and nobody for what
a process of its own does."""
PATIENT = "--patient"
"""The option that says that nobody waits."""
KEPT_SECONDS = 30 * 24 * 3600.0
"""How long it is known what a conversation was told: nobody goes on with it later."""
CURSOR, CLAUDE = "cursor", "claude-code"


class Event(StrEnum):
    """What has happened in the other program."""

    PROMPT = "prompt"  # its user has asked something
    STOP = "stop"  # it has answered
    COMPACT = "compact"  # it is about to summarise what was said
    END = "session-end"
    START = "session-start"


EVENTS = {
    "prompt": Event.PROMPT,
    "userpromptsubmit": Event.PROMPT,
    "beforesubmitprompt": Event.PROMPT,
    "chatmessage": Event.PROMPT,
    "stop": Event.STOP,
    "sessionidle": Event.STOP,
    "compact": Event.COMPACT,
    "precompact": Event.COMPACT,
    "sessioncompacting": Event.COMPACT,
    "sessionend": Event.END,
    "sessionstart": Event.START,
}
"""Every program's name of an event, in lower case and without its joints."""


class Quiet(StrEnum):
    """For how long the owner wants nothing from memory: the next prompt, or a conversation."""

    ONCE = "once"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Call:
    """A hook as it was called: for which event and program, and how quiet memory shall be."""

    event: str
    program: str = ""
    quiet: str | None = None
    patient: bool = False

    @property
    def seconds(self) -> float:
        """How long it may take."""
        if self.patient:
            return PATIENT_SECONDS
        return PROMPT_SECONDS if event_named(self.event) is Event.PROMPT else OTHER_SECONDS


@dataclass(frozen=True, slots=True)
class Happened:
    """An event as the program describes it: the conversation, the prompt, what was said.

    `transcript` is a file of JSON lines; `messages` are those of a program that keeps none.
    """

    event: Event
    program: str
    conversation: str = ""
    prompt: str = ""
    transcript: str = ""
    messages: tuple[Any, ...] = ()
    name: str = ""


def event_named(name: str) -> Event | None:
    """The event of this name, in whichever program's spelling."""
    return EVENTS.get("".join(char for char in name.lower() if char.isalnum()))


def happened(event: str, data: bytes, program: str = "") -> Happened | None:
    """What a program says on standard input; None for an event or a text that says nothing."""
    known = event_named(event)
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if known is None or not isinstance(fields, dict):
        return None
    messages = fields.get("messages")
    return Happened(
        known,
        program or (CURSOR if "cursor_version" in fields else CLAUDE),
        _text(fields, "session_id", "conversation_id", "sessionID", "thread_id"),
        _text(fields, "prompt", "user_prompt", "message"),
        _text(fields, "transcript_path", "agent_transcript_path"),
        tuple(messages) if isinstance(messages, list) else (),
        _text(fields, "hook_event_name"),
    )


def _text(fields: Mapping[str, Any], *names: str) -> str:
    return next((fields[name] for name in names if isinstance(fields.get(name), str)), "")


def answer(at: Happened, text: str) -> str:
    """Something to know, in the form that the program takes it in."""
    if at.program == CURSOR:
        return json.dumps({"continue": True, "additional_context": text}, ensure_ascii=False)
    if at.name:
        output = {"hookEventName": at.name, "additionalContext": text}
        return json.dumps({"hookSpecificOutput": output}, ensure_ascii=False)
    return text


def respond(find: Callable[[], Workspace], call: Call, *, debug: bool) -> NoReturn:
    """Answer an event in the time it may take, and end the process.

    Whatever goes wrong, the other program goes on; only debugging tells what it was.
    """

    def leave(text: str, error: BaseException | None = None) -> NoReturn:
        signal.setitimer(signal.ITIMER_REAL, 0)
        with contextlib.suppress(OSError, ValueError):  # whoever called has gone
            if error is not None and debug:
                sys.stderr.write(f"assistant: {type(error).__name__}: {error}\n")
            if text:
                sys.stdout.buffer.write(f"{text}\n".encode())
            sys.stdout.flush()
        os._exit(0)

    late = TimeoutError(f"it took longer than {call.seconds} s")
    signal.signal(signal.SIGALRM, lambda *_: leave("", late))
    signal.setitimer(signal.ITIMER_REAL, call.seconds)
    try:
        text = answered(find, call)
    except BaseException as error:
        leave("", error)
    leave(text)


def answered(find: Callable[[], Workspace], call: Call) -> str:
    """What a program is told at an event; standard input describes it."""
    data = b""
    if sys.stdin is not None and not sys.stdin.isatty():
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
    data = data if len(data) <= MOST_BYTES else b""
    at = happened(call.event, data, call.program)
    told = Told(at.conversation if at else "")
    quiet = next((mode for mode in Quiet if mode == call.quiet), None)
    if quiet is Quiet.SESSION and told.known:
        told.add(quiet)
    elif quiet and (at is None or not at.prompt):
        told.keep_quiet_next(quiet)
    if quiet:
        return ""
    if at is None:
        raise UsageError(
            f"{call.event!r} with {len(data):,} bytes of input is no event that is known"
        )
    if at.event is Event.PROMPT:
        from assistant.integrations.hook_prompt import worth_knowing

        if told.is_quiet():
            return ""
        text, passages = worth_knowing(find(), config.load(), at.prompt, told.lines())
        told.add(*passages)
        return answer(at, text) if text else ""
    if at.event is Event.START:
        from assistant.memory.open import open_memory

        open_memory(find(), config.load()).close()
        return ""
    if at.event is Event.COMPACT:
        told.forget()  # its model will not know it any more
    workspace = find()
    record = Path(at.transcript).expanduser() if at.transcript else None
    size = record.stat().st_size if record and record.is_file() else 0
    if max(size, len(data)) > MOST_AT_ONCE and not call.patient:
        _hand_over(workspace, at, data)
        return ""
    from assistant.integrations.hook_transcript import take_over

    take_over(
        workspace,
        config.load(),
        at.program,
        at.conversation,
        record=record,
        messages=at.messages,
        is_over=at.event is not Event.STOP,
    )
    return ""


def _hand_over(workspace: Workspace, at: Happened, data: bytes) -> None:
    """Have another process take over a long conversation; it outlives this one."""
    import subprocess  # not at each prompt
    import tempfile

    command = ["-m", "assistant.cli.main", "-w", str(workspace.root), "hook", at.event, PATIENT]
    with tempfile.TemporaryFile() as stdin:
        stdin.write(data)
        stdin.seek(0)
        subprocess.Popen(
            [sys.executable, *command, "--for", at.program],
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=Path(assistant.__file__).parent.parent,
        )


class Told:
    """What a conversation was told: the ids of passages, a line each, or that it wants none.

    It lies under a digest of the conversation's name in the state directory. `next` there says
    that the next prompt of any is to be told nothing.
    """

    def __init__(self, conversation: str) -> None:
        self.known = bool(conversation)
        name = hashlib.sha256(conversation.encode("utf-8", "replace")).hexdigest()[:16]
        self._path = config.state_dir() / "hooks" / name
        self._next = self._path.with_name("next")

    def lines(self) -> set[str]:
        """The passages that it was told, and whether it is quiet."""
        return set(storage.held(self._path).decode().split()) if self.known else set()

    def add(self, *lines: str) -> None:
        """Note what it is told."""
        if lines:
            self._keep(self.lines() | set(lines))

    def forget(self) -> None:
        """Forget which passages it was told."""
        self._keep(self.lines() & {Quiet.SESSION})

    def keep_quiet_next(self, how: Quiet) -> None:
        """Be quiet at the next prompt, or in the conversation that it belongs to."""
        storage.private_directory(self._next.parent)
        storage.replace(self._next, how.encode())

    def is_quiet(self) -> bool:
        """Whether this prompt gets nothing; what was said of the next one is used up by it."""
        how = storage.held(self._next).decode()
        self._next.unlink(missing_ok=True)
        if how == Quiet.SESSION:
            self.add(Quiet.SESSION)
        return bool(how) or Quiet.SESSION in self.lines()

    def _keep(self, lines: set[str]) -> None:
        """Write the lines, and drop those of conversations that are long over."""
        if not self.known:
            return
        old = time.time() - KEPT_SECONDS
        for file in storage.private_directory(self._path.parent).iterdir():
            with contextlib.suppress(FileNotFoundError):  # another hook may be at it
                if file.stat().st_mtime < old:
                    file.unlink()
        storage.replace(self._path, "\n".join(sorted(lines)).encode())
