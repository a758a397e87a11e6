"""Events as they come: files put into a folder, and HTTP requests on this machine."""

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

HERE = "127.0.0.1"
SETTLED = 1.0
"""Seconds for which a file has not changed when it is taken: whoever writes it may be at it."""
REFUSED = ".refused"
"""How a file ends that was no event."""
UNFINISHED = (REFUSED, ".tmp", ".part", "~")
TIMEOUT = 10.0
"""Seconds that a request may take to come."""
IDS = ("Idempotency-Key", "X-GitHub-Delivery")
"""Headers that tell one request from another, though it is sent twice."""

Take = Callable[[Incoming, str], object]
"""Puts an event with its id into the queue."""


def token(workspace: Workspace) -> tuple[str, Path]:
    """What a request has to show, made at the first use, and the file that holds it."""
    path = queue.directory(workspace) / "token"
    if not (held := storage.held(path).decode().strip()):
        held = secrets.token_urlsafe(24)
        storage.replace(path, held.encode())
    return held, path


def taken(folder: Path, put: Callable[[Incoming], object]) -> Iterator[str]:
    """Take the files of `folder/SOURCE/` as events of that source; what is wrong with the others,
    which are renamed. Raises UsageError if the folder cannot be read."""
    try:
        found = sorted(path for path in folder.glob("*/*") if _is_ready(path))
    except OSError as error:
        raise UsageError(f"{folder} cannot be read ({error.strerror})", "Name another") from error
    for path in found:
        try:
            put(_event(path))
            path.unlink()
        except (OSError, AssistantError) as error:
            path.rename(path.with_name(f"{path.name}{REFUSED}"))
            yield f"{path}: {error}"


def _is_ready(path: Path) -> bool:
    if path.name.startswith(".") or path.name.endswith(UNFINISHED):
        return False
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and abs(time.time() - found.st_mtime) >= SETTLED


def _event(path: Path) -> Incoming:
    """A file as an event: an object of JSON, a mail, or a text. Raises UsageError, OSError."""
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
        raise UsageError("it is not UTF-8 text, JSON or a mail", "Put it in as text") from error


def _mail(data: bytes) -> dict[str, Any]:
    """A mail's headers that matter, its text, and the names of what is attached."""
    mail = message_from_bytes(data, _class=EmailMessage, policy=policy.default)
    fields = {name: str(mail[name]) for name in ("from", "to", "date", "subject") if mail[name]}
    body = mail.get_body(("plain", "html"))
    attached = [part.get_filename() or "?" for part in mail.iter_attachments()]
    text = body.get_content() if body else ""
    return {**fields, "text": text, **({"attached": attached} if attached else {})}


class Door(ThreadingHTTPServer):
    """Takes `POST /SOURCE` with one JSON object as an event; nobody from another machine reaches
    it, and nobody without the token is heard. Raises UsageError if the port is taken."""

    daemon_threads = True

    def __init__(self, port: int, secret: str, put: Take) -> None:
        self.secret, self.put = secret, put
        try:
            super().__init__((HERE, port), _Request)
        except OSError as error:
            raise UsageError(
                f"port {port} cannot be used ({error.strerror})", "Name another"
            ) from error


class _Request(BaseHTTPRequestHandler):
    server: Door
    timeout = TIMEOUT

    def do_POST(self) -> None:
        """Take one event."""
        token = self.headers.get("Authorization", "").removeprefix("Bearer ").encode()
        length = self.headers.get("Content-Length", "")
        if not hmac.compare_digest(token, self.server.secret.encode()):
            self._answer(401, "the token is missing or wrong")
        elif not length.isdecimal() or int(length) > MOST_BYTES:
            self._answer(413, f"Content-Length is missing, or more than {MOST_BYTES:,}")
        else:
            self._take(self.rfile.read(int(length)))

    def _take(self, data: bytes) -> None:
        id = next((value for name in IDS if (value := self.headers.get(name))), "")
        try:
            self.server.put(incoming(self.path.strip("/"), data), id)
        except UsageError as error:
            self._answer(400, str(error))
        except AssistantError as error:  # the disk is full: the sender has to try again
            self._answer(503, str(error))
        else:
            self._answer(202, "taken")

    def _answer(self, status: int, text: str) -> None:
        body = f"{text}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what is done with the events is told."""
