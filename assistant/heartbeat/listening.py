"""Sources of events: files in a folder, and HTTP requests from this machine."""

import hmac
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from assistant.disk import storage
from assistant.errors import AssistantError, UsageError
from assistant.heartbeat import queue
from assistant.heartbeat.incoming import MOST_BYTES, SOURCE, Incoming, incoming
from assistant.workspace.folder import Workspace

HOST = "127.0.0.1"
SETTLED = 1.0
"""Seconds without a change before a file is read, since it may still be written."""
REFUSED = ".refused"
"""Suffix of files that were not events."""
UNFINISHED = (REFUSED, ".tmp", ".part", "~")
TIMEOUT = 10.0
"""Timeout of a request."""
IDS = ("Idempotency-Key", "X-GitHub-Delivery")
"""Headers that identify a repeated request."""

Take = Callable[[Incoming, str], object]
"""Puts an event with its ID into the queue."""


def token(workspace: Workspace) -> tuple[str, Path]:
    """Return the token that requests need, created at first use, and its file."""
    path = queue.directory(workspace) / "token"
    if not (secret := storage.read_or_empty(path).decode().strip()):
        secret = secrets.token_urlsafe(24)
        storage.replace(path, secret.encode())
    return secret, path


def take_files(folder: Path, put: Callable[[Incoming], object]) -> Iterator[str]:
    """Queue the files of `folder/SOURCE/` as events of that source.

    Yield the faults of the other files, which are renamed. Raises UsageError for an unreadable
    folder, StorageError if an event cannot be queued; its file stays.
    """
    try:
        entries = [*folder.glob("*"), *folder.glob("*/*")]
        paths = sorted(path for path in entries if _is_ready(path))
    except OSError as error:
        raise UsageError(f"{folder} cannot be read ({error.strerror})", "Name another") from error
    for path in paths:
        try:
            if path.parent == folder:
                raise UsageError(
                    "it is in no subfolder, which would name its source", "Move it into one"
                )
            put(_event(path))
            path.unlink()
        except (OSError, UsageError) as error:
            path.rename(path.with_name(f"{path.name}{REFUSED}"))
            yield f"{path}: {error}"


def _is_ready(path: Path) -> bool:
    if path.name.startswith(".") or path.name.endswith(UNFINISHED):
        return False
    status = path.lstat()
    return stat.S_ISREG(status.st_mode) and abs(time.time() - status.st_mtime) >= SETTLED


def _event(path: Path) -> Incoming:
    """Read a file as an event: a JSON object, an e-mail, or a text. Raises UsageError, OSError."""
    source = path.parent.name
    with storage.open_file(path) as file:
        data = file.read(MOST_BYTES + 1)
    if path.suffix == ".json" or len(data) > MOST_BYTES or not SOURCE.fullmatch(source):
        return incoming(source, data)
    if path.suffix == ".eml":
        return Incoming(source, _mail(data))
    try:
        return Incoming(source, {"name": path.name, "text": data.decode("utf-8-sig")})
    except UnicodeDecodeError as error:
        raise UsageError(
            "it is neither UTF-8 text, JSON nor an e-mail", "Save it as text"
        ) from error


def _mail(data: bytes) -> dict[str, Any]:
    """Return an e-mail's main headers, its text, and the names of its attachments."""
    mail = message_from_bytes(data, _class=EmailMessage, policy=policy.default)
    fields = {name: str(mail[name]) for name in ("from", "to", "date", "subject") if mail[name]}
    body: Any = mail.get_body(("plain", "html"))
    attached = [part.get_filename() or "?" for part in mail.iter_attachments()]
    try:
        text = body.get_content() if body else ""
    except LookupError:  # an unknown charset
        text = body.get_payload(decode=True).decode("utf-8", "replace")
    return {**fields, "text": text, **({"attached": attached} if attached else {})}


class EventServer(ThreadingHTTPServer):
    """Queues `POST /SOURCE` with a JSON object as an event.

    Only this machine can reach it, and requests need the token. Raises UsageError for a used port.
    """

    daemon_threads = True

    def __init__(self, port: int, secret: str, put: Take) -> None:
        self.secret, self.put = secret, put
        try:
            super().__init__((HOST, port), _Request)
        except OSError as error:
            raise UsageError(
                f"port {port} cannot be used ({error.strerror})", "Name another"
            ) from error


class _Request(BaseHTTPRequestHandler):
    server: EventServer
    timeout = TIMEOUT

    def do_POST(self) -> None:
        """Queue an event."""
        token = self.headers.get("Authorization", "").removeprefix("Bearer ").encode()
        length = self.headers.get("Content-Length", "")
        fits = length.isdecimal() and int(length) <= MOST_BYTES
        # Also read a refused body: the sender may not see an answer before sending everything.
        data = self.rfile.read(int(length)) if fits else b""
        if not hmac.compare_digest(token, self.server.secret.encode()):
            self._answer(401, "the token is missing or wrong")
        elif not fits:
            self._answer(413, f"Content-Length is missing, or more than {MOST_BYTES:,}")
        else:
            self._queue(data)

    def _queue(self, data: bytes) -> None:
        id = next((value for name in IDS if (value := self.headers.get(name))), "")
        try:
            self.server.put(incoming(self.path.strip("/"), data), id)
        except UsageError as error:
            self._answer(400, str(error))
        except AssistantError as error:  # for example a full disk: the sender has to retry
            self._answer(503, str(error))
        else:
            self._answer(202, "queued")

    def _answer(self, status: int, text: str) -> None:
        body = f"{text}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: `listen` prints what happens to events."""
