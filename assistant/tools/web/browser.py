"""`browse`: a real page in the system's Chromium, driven by Playwright in its own thread.

The browser resolves no names itself: it asks a local proxy for each connection, and the guard
checks every address of the name before connecting.
"""

import importlib.util
import ipaddress
import mimetypes
import os
import re
import select
import socket
import socketserver
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field

from assistant.disk import programs
from assistant.display import exactly
from assistant.errors import ToolError
from assistant.messages import Picture
from assistant.model.pictures import picture_of
from assistant.quoting import neutralised, one_line
from assistant.tools.base import Plan, Tool, ToolResult, awaited, picture_notice, tool
from assistant.tools.files.access import Access
from assistant.tools.files.write import Change, commit
from assistant.tools.places import is_executed
from assistant.tools.web.addresses import Guard, typed
from assistant.tools.web.fetch import OTHERS
from assistant.workspace.checkpoints import Checkpoints

if TYPE_CHECKING:
    from playwright.sync_api import (
        BrowserContext,
        Dialog,
        Download,
        FilePayload,
        Frame,
        Locator,
        Page,
        Request,
    )

SILENCE = 120.0
"""Seconds without data after which a connection is dropped."""
DONE, NOT_ALLOWED = (b"\5%c\0\1" % code + bytes(6) for code in (0, 2))
"""Replies of SOCKS 5: success, and not allowed."""
IPV4, NAME = 1, 3
"""Address types of SOCKS 5; any other is IPv6."""


class Proxy(socketserver.ThreadingTCPServer):
    """A SOCKS 5 proxy (RFC 1928), each connection in a thread. `refused` holds the reason, by
    host."""

    daemon_threads, block_on_close = True, False

    def __init__(self, guard: Guard) -> None:
        super().__init__(("127.0.0.1", 0), _Client)
        self.guard = guard
        self.refused: dict[str, str] = {}
        threading.Thread(target=self.serve_forever, name="browser's proxy", daemon=True).start()

    @property
    def url(self) -> str:
        """The proxy's address for the browser."""
        return f"socks5://127.0.0.1:{self.server_address[1]}"

    def close(self) -> None:
        """Stop accepting connections."""
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore connections that break or send unknown requests."""


class _Client(socketserver.StreamRequestHandler):
    """A connection from the browser."""

    server: Proxy
    timeout = SILENCE
    rbufsize = 0  # unbuffered: the bytes after the request are for the server

    def handle(self) -> None:
        self.rfile.read(self.rfile.read(2)[1])
        self.wfile.write(b"\5\0")
        kind = self.rfile.read(4)[3]
        if kind == NAME:
            host = self.rfile.read(self.rfile.read(1)[0]).decode("ascii")
        else:
            host = str(ipaddress.ip_address(self.rfile.read(4 if kind == IPV4 else 16)))
        try:
            port = int.from_bytes(self.rfile.read(2))
            server = self.server.guard.connected(
                host, port, lambda address: socket.create_connection((address, port), SILENCE)
            )
        except ToolError as error:
            self.server.refused[host] = error.message
            self.wfile.write(NOT_ALLOWED)
            return
        with server:
            self.wfile.write(DONE)
            _relay(self.connection, server)


def _relay(client: socket.socket, server: socket.socket) -> None:
    """Relay bytes in both directions until one side closes."""
    other = {client: server, server: client}
    while ready := select.select([client, server], [], [], SILENCE)[0]:
        for side in ready:
            data = side.recv(65_536)
            if not data:
                return
            other[side].sendall(data)


NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Names of the Chromium executable."""
PASSED = ("PATH", "LANG", "TZ", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")
"""Environment variables passed to the browser: no keys, and a separate home."""
SWITCHES = (
    "--disable-quic",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--disable-background-networking",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
"""Switches that keep all traffic in the proxy."""
PREFERENCES = '{"plugins": {"always_open_pdf_externally": true}}'
"""The browser's preferences: a PDF is downloaded, since its viewer has no text to show."""
START_SECONDS = DOWNLOAD_SECONDS = 60.0
MOST_DOWNLOADED = 50_000_000
"""Maximum total bytes of the downloads of one step."""
BEGIN_SECONDS, SETTLE_SECONDS = 2.0, 0.3
"""Seconds within which a download or a file dialog must begin, and for which each step waits for
such an effect."""
PARTIAL = ".crdownload"
"""The suffix of a file that Chromium is still downloading."""
LONGEST_NAME = 60
"""Maximum length of a download's name, in characters."""
DOWNLOADS = "downloads"
"""The workspace folder in which downloads are saved."""
NOISE = re.compile(r"\A\w+\.\w+: (?:Error: )?|\s*(?:Call log:|={5,}).*", re.DOTALL)
"""The text around the fault in an error of Playwright's: the method before it, the log after it."""
ERROR_PAGE = "chrome-error://chromewebdata/"
NOT_LEFT = "net::ERR_ABORTED"
"""The error of an address that leaves the page unchanged, such as that of a download."""
FILLED = re.compile(r"^(\s*- textbox\b.*\[ref=(\w+)\](?: \[\w+\])*): .*$", re.MULTILINE)
"""A field of a snapshot with a value."""


def missing(path: str | None) -> str:
    """Return why no browser is available; empty if one is."""
    if importlib.util.find_spec("playwright") is None:
        return (
            "Playwright is not installed: run `scripts/environment browse` in the program's folder"
        )
    if not executable(path):
        return f"the system has no Chromium ({', '.join(NAMES)}): install it, or set `web.browser`"
    return ""


def executable(path: str | None) -> str | None:
    """Return the path of the system's Chromium."""
    return next(filter(None, map(programs.find, [path] if path else NAMES)), None)


Save = Callable[[str, bytes], str]
"""Saves a download under its name; returns its path. Raises ToolError."""


def saving(access: Access, checkpoints: Checkpoints) -> Save:
    """Return a function that saves downloads in the workspace, under names not yet taken."""

    def save(name: str, data: bytes) -> str:
        safe = re.sub(r"[^\w .()+-]+", "_", name)[-LONGEST_NAME:].strip(" .") or "download"
        file, number = Path(f"{safe}_" if is_executed(safe) else safe), 1
        path = f"{DOWNLOADS}/{file}"
        while True:
            with access.at(path) as location:
                change = Change(location.path, location.shown, None, data)
                is_free = location.status() is None
            if access.roots.guarded(change.path):
                raise ToolError(f"{change.shown} steers or remembers")
            if is_free:
                commit(access, [change], checkpoints)
                return change.shown
            number += 1
            path = f"{DOWNLOADS}/{file.stem} ({number}){file.suffix}"

    return save


@dataclass(eq=False)
class Browser:
    """A browser, at this `path` if any, that starts at the first step. Its steps raise ToolError.

    A page may take `seconds`. `save` stores downloads; None refuses them.
    """

    path: str | None
    guard: Guard
    seconds: float
    interrupt: threading.Event
    save: Save | None = None

    def __post_init__(self) -> None:
        self._steps: SimpleQueue[Step | None] = SimpleQueue()
        self._answer = ""
        self._notes: list[str] = []
        self._tab: Page | None = None
        self._downloads: list[Download] = []
        self._picture: Picture | None = None
        self._last_snapshot = self._address = ""
        self._thread: threading.Thread | None = None
        self._host = ""

    def step(
        self,
        action: str,
        target: str = "",
        text: str = "",
        *,
        enter: bool = False,
        file: "FilePayload | None" = None,
    ) -> ToolResult:
        """Do something on the page, and return the resulting page."""

        def act(page: "Page") -> None:
            match action:
                case "open":
                    _open(page, target)
                case "back":
                    self._go_back(page)
                case "tab":
                    self._tab = _numbered(page.context.pages, target)
                    self._tab.bring_to_front()
                case "scroll":
                    page.keyboard.press("End")
                case "screenshot":
                    part = self._locate(page, target) if target else page
                    self._picture = picture_of(part.screenshot())
                case "upload" if file is not None:
                    with _expecting("what opens the choice of a file"):
                        with page.expect_file_chooser(timeout=BEGIN_SECONDS * 1000) as chooser:
                            self._locate(page, target).click()
                        chooser.value.set_files(file)
                    self._notes.append(f"[Given to the page: {one_line(file['name'])}]")
                case "click":
                    self._locate(page, target).click()
                case "type":
                    field = self._locate(page, target)
                    with _expecting("a field for text, or a list that has this option"):
                        if field.evaluate("element => element.tagName === 'SELECT'"):
                            field.select_option(text)
                        else:
                            field.fill(text)
                    if enter:
                        field.press("Enter")

        return self._submit(act, text if action == "click" else "")

    def described(self, ref: str) -> str:
        """Return a ref's line in the last snapshot, and its page; empty if there is none."""
        lines = self._last_snapshot.split("\n")
        line = next((line.strip("- :") for line in lines if f"[ref={ref}]" in line), "")
        return f"{line} on {self._address}" if line else ""

    def _locate(self, page: "Page", ref: str) -> "Locator":
        if not self.described(ref):
            raise ToolError(f"there is no {ref!r} on the page now: `read` shows what there is")
        return page.locator(f"aria-ref={ref}")

    def close(self) -> None:
        """Stop the browser."""
        if self._thread is not None:
            self._steps.put(None)
            self._thread.join(START_SECONDS)

    def _submit(self, step: Callable[["Page"], None], answer: str) -> ToolResult:
        self._answer, self._picture = answer, None
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._serve, name="browser", daemon=True)
            self._thread.start()
        outcome: Future[ToolResult] = Future()
        self._steps.put((step, outcome))
        most = START_SECONDS + self.seconds + DOWNLOAD_SECONDS
        try:
            return awaited(outcome, most, self.interrupt)
        except TimeoutError as error:
            raise ToolError("the browser does not answer") from error

    def _serve(self) -> None:
        from playwright.sync_api import sync_playwright  # imported when a page is opened

        proxy = Proxy(self.guard)
        try:
            with tempfile.TemporaryDirectory() as home, sync_playwright() as driver:
                variables = {name: os.environ[name] for name in PASSED if name in os.environ}
                profile = Path(home, "profile")
                (profile / "Default").mkdir(parents=True)
                (profile / "Default" / "Preferences").write_text(PREFERENCES)
                context = driver.chromium.launch_persistent_context(
                    profile,
                    executable_path=executable(self.path),
                    args=list(SWITCHES),
                    env={**variables, "HOME": home},
                    proxy={"server": proxy.url, "bypass": "<-loopback>"},
                    chromium_sandbox=os.geteuid() != 0,
                    downloads_path=Path(home, DOWNLOADS),
                    accept_downloads=self.save is not None,
                )
                context.set_default_timeout(self.seconds * 1000)
                context.on("request", self._record_host)
                context.on("dialog", self._answer_dialog)
                context.on("page", self._go_to_tab)
                context.on("download", self._take_download)
                self._tab = context.pages[0]
                is_alive = True
                while is_alive and (request := self._steps.get()) is not None:
                    step, outcome = request
                    try:
                        is_begun = _began_download(step, self._page(context))
                        self._save_downloads(context, Path(home, DOWNLOADS), is_begun)
                        outcome.set_result(self._page_result(context))
                    except ToolError as error:
                        outcome.set_exception(error)
                    except Exception as error:  # any error of Playwright's goes to the caller
                        is_alive = _answers(context)
                        if not is_alive:
                            self._thread = None  # the next step starts another
                        reason = proxy.refused.get(self._host, _reason(error))
                        outcome.set_exception(ToolError(reason))
                    proxy.refused.clear()
                context.close()
        except Exception as error:  # failed to start, or crashed: tell the callers
            self._fail(_reason(error))
        finally:
            proxy.close()

    def _record_host(self, request: "Request") -> None:
        """Record the host that a page comes from; Chromium itself also contacts others."""
        if request.is_navigation_request():
            self._host = urlsplit(request.url).hostname or ""

    def _answer_dialog(self, dialog: "Dialog") -> None:
        """Accept a dialog with the given text, or dismiss it."""
        dialog.accept(self._answer) if self._answer else dialog.dismiss()
        how = f"answered {self._answer!r}" if self._answer else "dismissed"
        self._notes.append(f"[A dialog of the page was {how}: {one_line(dialog.message)}]")

    def _page(self, context: "BrowserContext") -> "Page":
        """Return the page of the chosen tab, otherwise the last one opened, or a new one."""
        if self._tab is None or self._tab.is_closed():
            self._tab = context.pages[-1] if context.pages else context.new_page()
        return self._tab

    def _go_to_tab(self, page: "Page") -> None:
        """Switch to a tab that a page has opened."""
        self._tab = page

    def _take_download(self, download: "Download") -> None:
        """Record a download that has begun."""
        self._downloads.append(download)

    def _go_back(self, page: "Page") -> None:
        """Go back; a tab without history is closed."""
        pages = page.context.pages
        history = page.context.new_cdp_session(page).send("Page.getNavigationHistory")
        if history["currentIndex"] or len(pages) == 1:
            page.go_back(wait_until="domcontentloaded")
            return
        opener = page.opener()
        page.close()
        self._tab = opener or page.context.pages[-1]
        self._notes.append("[The tab had nothing to go back to, so it was closed]")

    def _save_downloads(self, context: "BrowserContext", folder: Path, is_begun: bool) -> None:
        """Save finished downloads, with a note for each."""
        self._settle(context, folder, is_begun)
        downloads, self._downloads = self._downloads, []
        for download in downloads:
            try:
                self._notes.append(f"[Downloaded: {self._saved(download)}]")
            except ToolError as error:
                name = one_line(download.suggested_filename)
                self._notes.append(f"[Not downloaded: {name}: {error.message}]")

    def _settle(self, context: "BrowserContext", folder: Path, is_begun: bool) -> None:
        """Wait for a tab or download that the step may have opened, and for downloads to finish.

        Stop waiting when no file is being written any more, or the files are too large.
        """
        from playwright.sync_api import Error

        start = active = time.monotonic()
        while (now := time.monotonic()) < start + DOWNLOAD_SECONDS:
            patience = BEGIN_SECONDS if is_begun or self._downloads else SETTLE_SECONDS
            if now > active + patience:
                return
            with suppress(Error):  # the page has closed itself
                self._page(context).wait_for_timeout(100)
            sizes: dict[str, int] = {}
            with suppress(FileNotFoundError):  # no folder yet, or a file was renamed
                sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
            partial = sum(name.endswith(PARTIAL) for name in sizes)
            is_whole = 0 < len(self._downloads) <= len(sizes) - partial
            if is_whole or sum(sizes.values()) > MOST_DOWNLOADED:
                return
            active = time.monotonic() if partial else active

    def _saved(self, download: "Download") -> str:
        """Save a download, and return its path and size. Raises ToolError."""
        if self.save is None:
            raise ToolError("off the record nothing is saved")
        download.cancel()  # no effect on a finished one
        limit = f"{DOWNLOAD_SECONDS:g} s or {MOST_DOWNLOADED:,} bytes"
        if download.failure():
            raise ToolError(f"broken off, or over {limit}")
        path = download.path()
        try:
            if (size := path.stat().st_size) > MOST_DOWNLOADED:
                raise ToolError(f"over {limit}")
            return f"{self.save(download.suggested_filename, path.read_bytes())}, {size:,} bytes"
        finally:
            download.delete()

    def _page_result(self, context: "BrowserContext") -> ToolResult:
        """Return the page for the model: Playwright's snapshot for models, and a picture."""
        page = self._page(context)
        page.wait_for_load_state("domcontentloaded")

        def hidden(field: re.Match[str]) -> str:
            kind = page.locator(f"aria-ref={field[2]}").get_attribute("type", timeout=2000)
            return field[1] if kind == "password" else field[0]

        self._address = one_line(page.url)
        self._last_snapshot = FILLED.sub(hidden, page.aria_snapshot(mode="ai"))
        notes, self._notes = self._notes, []
        tabs = [
            f"{number} {'(this)' if tab == page else one_line(tab.url)}"
            for number, tab in enumerate(context.pages, 1)
        ]
        notes += [f"[Tabs: {', '.join(tabs)}]"] if len(tabs) > 1 else []
        pictures = (self._picture,) if self._picture else ()
        notes += map(picture_notice, pictures)
        title = one_line(page.title())
        text = "\n\n".join(
            [f"# {title}\n{self._address} {OTHERS}", *notes, neutralised(self._last_snapshot)]
        )
        return ToolResult(text, compact=title[:80], pictures=pictures)

    def _fail(self, reason: str) -> None:
        """Fail the waiting callers, unless a newer thread serves them; the next step starts one."""
        if self._thread is not threading.current_thread():
            return
        self._thread = None
        while not self._steps.empty():
            if (request := self._steps.get()) is not None:
                request[1].set_exception(ToolError(f"the browser failed: {reason}"))


Step = tuple[Callable[["Page"], None], Future[ToolResult]]
"""An action on a page, and the resulting page."""


def _answers(context: "BrowserContext") -> bool:
    """Return whether the browser still responds."""
    from playwright.sync_api import Error

    try:
        context.cookies()
    except Error:
        return False
    return True


def _reason(error: Exception) -> str:
    """Return an error of Playwright's without its method and its log."""
    return one_line(NOISE.sub("", str(error))).rstrip(".")[:300]


@contextmanager
def _expecting(kind: str) -> Iterator[None]:
    """Add the kind of element that the step needs to an error of Playwright's."""
    from playwright.sync_api import Error

    try:
        yield
    except Error as error:
        raise ToolError(f"{_reason(error)}; expected {kind}") from error


def _open(page: "Page", address: str) -> None:
    """Open an address. If it fails, wait for the error page, which would interrupt the next
    step."""
    from playwright.sync_api import Error

    shown: list[str] = []

    def record(frame: "Frame") -> None:
        shown.append(frame.url)

    page.on("framenavigated", record)
    try:
        page.goto(address, wait_until="domcontentloaded")
    except Error as error:
        until = time.monotonic() + BEGIN_SECONDS
        has_error_page = "net::" in error.message and NOT_LEFT not in error.message
        while has_error_page and ERROR_PAGE not in shown and time.monotonic() < until:
            page.wait_for_timeout(50)
        raise
    finally:
        page.remove_listener("framenavigated", record)


def _numbered(tabs: Sequence["Page"], number: str) -> "Page":
    if not (number.isdecimal() and 0 < int(number) <= len(tabs)):
        raise ToolError(f"there is no tab {number!r}: give a number up to {len(tabs)}")
    return tabs[int(number) - 1]


def _began_download(step: Callable[["Page"], None], page: "Page") -> bool:
    """Take a step; return whether it opened a download instead of a page."""
    from playwright.sync_api import Error

    try:
        step(page)
    except Error as error:
        if "Download is starting" in error.message:
            return True
        raise
    return False


def browsing_tool(browser: Browser, reading: Access | None = None) -> Tool:
    """Return `browse` in this browser, with files to upload."""

    def browse(
        action: Literal[
            "open", "read", "click", "type", "back", "scroll", "tab", "screenshot", "upload"
        ],
        target: Annotated[
            str, Field(description="An address, an element's ref (e12), or a tab's number.")
        ] = "",
        text: Annotated[
            str,
            Field(description="What to type, or a dialog's answer on click; a file to upload."),
        ] = "",
        enter: Annotated[bool, Field(description="Press Enter after typing.")] = False,
    ) -> Plan:
        """Use a real browser, for pages that `fetch_url` cannot read; you get what is there."""
        if action == "open":
            target = typed(target)
        target = target.strip("[] ").removeprefix("ref=")
        subject = " ".join(filter(None, [action, target, text]))
        shown = browser.described(target)
        described = f"{action} {shown or target}"
        lines = [described, exactly(text), "Enter" if enter else ""]
        file: FilePayload | None = None
        paths: tuple[str, ...] = ()
        if action == "upload":
            file, path = _file(reading, text)
            lines, paths = [described, exactly(path), f"{len(file['buffer']):,} bytes"], (path,)
        detail = "\n".join(filter(None, lines))

        def run() -> ToolResult:
            if browser.described(target) != shown:
                raise ToolError("the page has changed in the meantime", "Read it again")
            return browser.step(action, target, text, enter=enter, file=file)

        return Plan(
            run,
            (subject,),
            lambda: detail,
            dangerous=action not in ("read", "scroll", "tab", "screenshot"),
            guarded=file is not None,
            paths=paths,
        )

    return tool(browse, reveals=True)


def _file(reading: Access | None, path: str) -> "tuple[FilePayload, str]":
    """Return a file's content as the page is given it, and its real path."""
    if reading is None:
        raise ToolError("there are no files to upload")
    with reading.at(path) as location:
        name = location.path.name
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        file: FilePayload = {"name": name, "mimeType": kind, "buffer": location.read()}
        return file, str(location.path)
