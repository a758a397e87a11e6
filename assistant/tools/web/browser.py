"""`browse`: a real page in the system's Chromium, driven by Playwright in its own thread.

The browser resolves no names itself: it asks a local proxy for each connection, and the guard
checks every address of the name before connecting.
"""

import importlib.util
import ipaddress
import os
import re
import select
import socket
import socketserver
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field

from assistant.disk import programs
from assistant.display import exactly
from assistant.errors import ToolError
from assistant.quoting import neutralised, one_line
from assistant.tools.base import Plan, Tool, ToolResult, awaited, tool
from assistant.tools.web.addresses import Guard, typed
from assistant.tools.web.fetch import OTHERS

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Dialog, Locator, Page, Request

SILENCE = 120.0
"""Seconds without a byte after which a connection is dropped."""
DONE, NOT_ALLOWED = (b"\5%c\0\1" % code + bytes(6) for code in (0, 2))
"""Replies of SOCKS 5."""
IPV4, NAME = 1, 3
"""Address types of SOCKS 5; any other is IPv6."""


class Proxy(socketserver.ThreadingTCPServer):
    """A SOCKS 5 proxy (RFC 1928) in its own threads. `refused` holds the reason, by host."""

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
    rbufsize = 0  # unbuffered: the bytes that follow are for the server

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
"""Environment variables passed to the browser: no keys, and a home of its own."""
SWITCHES = (
    "--disable-quic",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--disable-background-networking",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
"""Switches that keep all traffic in the proxy."""
START_SECONDS = 60.0
FILLED = re.compile(r"^(\s*- textbox\b.*\[ref=(\w+)\](?: \[\w+\])*): .*$", re.MULTILINE)
"""A field of a snapshot with a value."""


def missing(path: str | None) -> str:
    """Return why there is no browser; empty if there is one."""
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


class Browser:
    """A browser with one page, started at the first step. Its steps raise ToolError."""

    def __init__(
        self, path: str | None, guard: Guard, seconds: float, interrupt: threading.Event
    ) -> None:
        self._path = path
        self._guard = guard
        self._seconds = seconds
        self._interrupt = interrupt
        self._steps: SimpleQueue[tuple[Callable[[Page], None], Future[str]] | None] = SimpleQueue()
        self._answer = ""
        self._dialogs: list[str] = []
        self._last_snapshot = self._address = ""
        self._thread: threading.Thread | None = None
        self._host = ""

    def step(self, action: str, target: str = "", text: str = "", *, enter: bool = False) -> str:
        """Do something on the page, and return the page afterwards."""

        def act(page: "Page") -> None:
            match action:
                case "open":
                    page.goto(target, wait_until="domcontentloaded")
                case "back":
                    page.go_back(wait_until="domcontentloaded")
                case "scroll":
                    page.keyboard.press("End")
                case "click":
                    self._locate(page, target).click()
                case "type":
                    field = self._locate(page, target)
                    if field.evaluate("element => element.tagName === 'SELECT'"):
                        field.select_option(text)
                    else:
                        field.fill(text)
                    if enter:
                        field.press("Enter")

        return self._submit(act, "" if action == "type" else text)

    def described(self, ref: str) -> str:
        """Return the line of the last snapshot for a ref, and its page; empty if there is none."""
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

    def _submit(self, step: Callable[["Page"], None], answer: str) -> str:
        self._answer = answer
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._serve, name="browser", daemon=True)
            self._thread.start()
        outcome: Future[str] = Future()
        self._steps.put((step, outcome))
        try:
            return awaited(outcome, START_SECONDS + self._seconds, self._interrupt)
        except TimeoutError as error:
            raise ToolError("the browser does not answer") from error

    def _serve(self) -> None:
        from playwright.sync_api import sync_playwright  # imported when a page is opened

        proxy = Proxy(self._guard)
        try:
            with tempfile.TemporaryDirectory() as home, sync_playwright() as driver:
                variables = {name: os.environ[name] for name in PASSED if name in os.environ}
                browser = driver.chromium.launch(
                    executable_path=executable(self._path),
                    args=list(SWITCHES),
                    env={**variables, "HOME": home},
                    proxy={"server": proxy.url, "bypass": "<-loopback>"},
                    chromium_sandbox=os.geteuid() != 0,
                )
                context = browser.new_context(accept_downloads=False)
                context.set_default_timeout(self._seconds * 1000)
                context.on("request", self._record_host)
                context.on("dialog", self._answer_dialog)
                context.new_page()
                while browser.is_connected() and (request := self._steps.get()) is not None:
                    step, outcome = request
                    try:
                        step(_page(context))
                        outcome.set_result(self._snapshot(context))
                    except ToolError as error:
                        outcome.set_exception(error)
                    except Exception as error:  # any error of Playwright's goes to the caller
                        if not browser.is_connected():
                            self._thread = None  # the next step starts another
                        reason = proxy.refused.get(self._host, one_line(str(error))[:300])
                        outcome.set_exception(ToolError(reason))
                    proxy.refused.clear()
                browser.close()
        except Exception as error:  # failed to start, or crashed: tell the callers
            self._fail(one_line(str(error))[:300])
        finally:
            proxy.close()

    def _record_host(self, request: "Request") -> None:
        """Record the host that a page comes from; Chromium itself requests others."""
        if request.is_navigation_request():
            self._host = urlsplit(request.url).hostname or ""

    def _answer_dialog(self, dialog: "Dialog") -> None:
        """Accept a dialog with the given text, or dismiss it."""
        dialog.accept(self._answer) if self._answer else dialog.dismiss()
        how = f"answered {self._answer!r}" if self._answer else "dismissed"
        self._dialogs.append(f"[A dialog of the page was {how}: {one_line(dialog.message)}]")

    def _snapshot(self, context: "BrowserContext") -> str:
        """Return the page for the model: Playwright's snapshot for models."""
        page = _page(context)
        page.wait_for_load_state("domcontentloaded")

        def hidden(field: re.Match[str]) -> str:
            kind = page.locator(f"aria-ref={field[2]}").get_attribute("type", timeout=2000)
            return field[1] if kind == "password" else field[0]

        self._address = one_line(page.url)
        self._last_snapshot = FILLED.sub(hidden, page.aria_snapshot(mode="ai"))
        notes, self._dialogs = self._dialogs, []
        others = [one_line(tab.url) for tab in context.pages if tab != page]
        notes += [f"[Other tabs: {', '.join(others)}]"] if others else []
        head = f"# {one_line(page.title())}\n{self._address} {OTHERS}"
        return "\n\n".join([head, *notes, neutralised(self._last_snapshot)])

    def _fail(self, reason: str) -> None:
        while not self._steps.empty():
            if (request := self._steps.get()) is not None:
                request[1].set_exception(ToolError(f"the browser failed: {reason}"))


def _page(context: "BrowserContext") -> "Page":
    """Return the page that was opened last, or a new one if all are closed."""
    return context.pages[-1] if context.pages else context.new_page()


def browsing_tool(browser: Browser) -> Tool:
    """Return `browse` in this browser."""

    def browse(
        action: Literal["open", "read", "click", "type", "back", "scroll"],
        target: Annotated[str, Field(description="An address, or an element's ref: e12.")] = "",
        text: Annotated[
            str, Field(description="What to type; with click, what a dialog is answered.")
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
        detail = "\n".join(filter(None, [described, exactly(text), "Enter" if enter else ""]))

        def run() -> ToolResult:
            if browser.described(target) != shown:
                raise ToolError("the page has changed in the meantime", "Read it again")
            page = browser.step(action, target, text, enter=enter)
            return ToolResult(page, compact=one_line(page.partition("\n")[0].lstrip("# "))[:80])

        return Plan(
            run,
            (subject,),
            lambda: detail,
            dangerous=action not in ("read", "scroll"),
        )

    return tool(browse, reveals=True)
