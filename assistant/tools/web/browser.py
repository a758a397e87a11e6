"""`browse`: a real page in the Chromium that the system has, driven by Playwright in its thread.

The browser resolves no name itself: it asks a proxy on this machine for each connection, and the
guard looks at every address that the name has before one of them is connected to.
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
from assistant.tools.base import Danger, Plan, Tool, ToolResult, awaited
from assistant.tools.schema import tool
from assistant.tools.web.addresses import Guard, typed
from assistant.tools.web.fetch import OTHERS

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Dialog, Locator, Page, Request

SILENCE = 120.0
"""Seconds without a byte after which a connection is given up."""
DONE, NOT_ALLOWED = (b"\5%c\0\1" % code + bytes(6) for code in (0, 2))
"""Answers of SOCKS 5."""
IPV4, NAME = 1, 3
"""Kinds of addresses there; another is IPv6."""


class Proxy(socketserver.ThreadingTCPServer):
    """A SOCKS 5 proxy (RFC 1928), in threads of its own. `refused` is why, by host."""

    daemon_threads, block_on_close = True, False

    def __init__(self, guard: Guard) -> None:
        super().__init__(("127.0.0.1", 0), _Client)
        self.guard = guard
        self.refused: dict[str, str] = {}
        threading.Thread(target=self.serve_forever, name="browser's proxy", daemon=True).start()

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        return f"socks5://127.0.0.1:{self.server_address[1]}"

    def close(self) -> None:
        """Take no more connections."""
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that breaks, or asks for nothing that is known, has ended."""


class _Client(socketserver.StreamRequestHandler):
    """A connection of the browser's."""

    server: Proxy
    timeout = SILENCE
    rbufsize = 0  # what the browser says next is the server's

    def handle(self) -> None:
        self.rfile.read(self.rfile.read(2)[1])
        self.wfile.write(b"\5\0")
        kind = self.rfile.read(4)[3]
        if kind == NAME:
            host = self.rfile.read(self.rfile.read(1)[0]).decode("ascii")
        else:
            host = str(ipaddress.ip_address(self.rfile.read(4 if kind == IPV4 else 16)))
        try:
            server = self._connected(host, int.from_bytes(self.rfile.read(2)))
        except ToolError as error:
            self.server.refused[host] = error.message
            self.wfile.write(NOT_ALLOWED)
            return
        with server:
            self.wfile.write(DONE)
            _relay(self.connection, server)

    def _connected(self, host: str, port: int) -> socket.socket:
        failed: OSError | None = None
        for address in self.server.guard.addresses(host, port):
            try:
                return socket.create_connection((address, port), SILENCE)
            except OSError as error:
                failed = error
        raise failed or OSError("no address")


def _relay(client: socket.socket, server: socket.socket) -> None:
    """Pass on what either side says, until one hangs up."""
    other = {client: server, server: client}
    while ready := select.select([client, server], [], [], SILENCE)[0]:
        for side in ready:
            data = side.recv(65_536)
            if not data:
                return
            other[side].sendall(data)


NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""What the system may call its Chromium."""
PASSED = ("PATH", "LANG", "TZ", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")
"""What of the environment a browser is given: no key, and a home of its own."""
SWITCHES = (
    "--disable-quic",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--disable-background-networking",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
"""Nothing of it goes past the proxy."""
START_SECONDS = 60.0
FILLED = re.compile(r"^(\s*- textbox\b.*\[ref=(\w+)\](?: \[\w+\])*): .*$", re.MULTILINE)
"""A field of a snapshot that holds something."""


def missing(path: str | None) -> str:
    """Why there is no browser to be had; empty if there is."""
    if importlib.util.find_spec("playwright") is None:
        return (
            "Playwright is not installed: run `scripts/environment browse` in the program's folder"
        )
    if not executable(path):
        return f"the system has no Chromium ({', '.join(NAMES)}): install it, or set `web.browser`"
    return ""


def executable(path: str | None) -> str | None:
    """The system's Chromium."""
    return next(filter(None, map(programs.find, [path] if path else NAMES)), None)


class Browser:
    """A browser with one page, begun at the first step. Its steps raise ToolError."""

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
        self._shown = ""
        self._thread: threading.Thread | None = None
        self._host = ""

    def step(self, action: str, target: str = "", text: str = "", *, enter: bool = False) -> str:
        """Do something on the page; what is there then."""

        def done(page: "Page") -> None:
            match action:
                case "open":
                    page.goto(target, wait_until="domcontentloaded")
                case "back":
                    page.go_back(wait_until="domcontentloaded")
                case "scroll":
                    page.keyboard.press("End")
                case "click":
                    self._thing(page, target).click()
                case "type":
                    field = self._thing(page, target)
                    if field.evaluate("each => each.tagName === 'SELECT'"):
                        field.select_option(text)
                    else:
                        field.fill(text)
                    if enter:
                        field.press("Enter")

        return self._do(done, "" if action == "type" else text)

    def described(self, ref: str) -> str:
        """A thing of the page as it was shown last; empty if there was none."""
        lines = self._shown.split("\n")
        return next((line.strip("- :") for line in lines if f"[ref={ref}]" in line), "")

    def _thing(self, page: "Page", ref: str) -> "Locator":
        if not self.described(ref):
            raise ToolError(f"there is no {ref!r} on the page now: `read` shows what there is")
        return page.locator(f"aria-ref={ref}")

    def close(self) -> None:
        """End the browser."""
        if self._thread is not None:
            self._steps.put(None)
            self._thread.join(START_SECONDS)

    def _do(self, step: Callable[["Page"], None], answer: str) -> str:
        self._answer = answer
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="browser", daemon=True)
            self._thread.start()
        done: Future[str] = Future()
        self._steps.put((step, done))
        try:
            return awaited(done, START_SECONDS + self._seconds, self._interrupt)
        except TimeoutError as error:
            raise ToolError("the browser does not answer") from error

    def _run(self) -> None:
        from playwright.sync_api import sync_playwright  # where a page is opened

        proxy = Proxy(self._guard)
        try:
            with tempfile.TemporaryDirectory() as home, sync_playwright() as driver:
                given = {name: os.environ[name] for name in PASSED if name in os.environ}
                browser = driver.chromium.launch(
                    executable_path=executable(self._path),
                    args=list(SWITCHES),
                    env={**given, "HOME": home},
                    proxy={"server": proxy.url, "bypass": "<-loopback>"},
                    chromium_sandbox=os.geteuid() != 0,
                )
                context = browser.new_context(accept_downloads=False)
                context.set_default_timeout(self._seconds * 1000)
                context.on("request", self._note)
                context.on("dialog", self._answered)
                context.new_page()
                while browser.is_connected() and (wanted := self._steps.get()) is not None:
                    step, done = wanted
                    try:
                        step(_page(context))
                        done.set_result(self._seen(context))
                    except ToolError as error:
                        done.set_exception(error)
                    except Exception as error:  # of Playwright: whoever waits is told
                        if not browser.is_connected():
                            self._thread = None  # the next step begins another
                        why = proxy.refused.get(self._host, one_line(str(error))[:300])
                        done.set_exception(ToolError(why))
                    proxy.refused.clear()
                browser.close()
        except Exception as error:  # it could not be begun, or has gone: whoever waits is told
            self._fail(one_line(str(error))[:300])
        finally:
            proxy.close()

    def _note(self, request: "Request") -> None:
        """Keep which host a page was to come from; Chromium itself asks for others."""
        if request.is_navigation_request():
            self._host = urlsplit(request.url).hostname or ""

    def _answered(self, dialog: "Dialog") -> None:
        """Say yes to a dialog of the page, with the words that were given for it, or no."""
        dialog.accept(self._answer) if self._answer else dialog.dismiss()
        how = f"answered {self._answer!r}" if self._answer else "dismissed"
        self._dialogs.append(f"[A dialog of the page was {how}: {one_line(dialog.message)}]")

    def _seen(self, context: "BrowserContext") -> str:
        """The page as the model is shown it: Playwright's snapshot of it for models."""
        page = _page(context)
        page.wait_for_load_state("domcontentloaded")

        def hidden(field: re.Match[str]) -> str:
            kind = page.locator(f"aria-ref={field[2]}").get_attribute("type", timeout=2000)
            return field[1] if kind == "password" else field[0]

        self._shown = FILLED.sub(hidden, page.aria_snapshot(mode="ai"))
        told, self._dialogs = self._dialogs, []
        others = [one_line(each.url) for each in context.pages if each != page]
        told += [f"[Other tabs: {', '.join(others)}]"] if others else []
        head = f"# {one_line(page.title())}\n{one_line(page.url)} {OTHERS}"
        return "\n\n".join([head, *told, neutralised(self._shown)])

    def _fail(self, why: str) -> None:
        while not self._steps.empty():
            if (wanted := self._steps.get()) is not None:
                wanted[1].set_exception(ToolError(f"the browser failed: {why}"))


def _page(context: "BrowserContext") -> "Page":
    """The page that was opened last, or an empty one where all have closed themselves."""
    return context.pages[-1] if context.pages else context.new_page()


def browsing_tool(browser: Browser) -> Tool:
    """`browse` in this browser."""

    def browse(
        action: Literal["open", "read", "click", "type", "back", "scroll"],
        target: Annotated[str, Field(description="An address, or a thing's ref: e12.")] = "",
        text: Annotated[
            str, Field(description="What to type; with click, what a dialog is answered.")
        ] = "",
        enter: Annotated[bool, Field(description="Press Enter after typing.")] = False,
    ) -> Plan:
        """Use a real browser, for pages that `fetch_url` cannot read; you get what is there."""
        danger = Danger.SAFE if action in ("read", "scroll") else Danger.DANGEROUS
        if action == "open":
            target = typed(target)
        target = target.strip("[] ").removeprefix("ref=")
        subject = " ".join(filter(None, [action, target, text]))
        described = f"{action} {browser.described(target) or target}"
        detail = "\n".join(filter(None, [described, exactly(text), "Enter" if enter else ""]))

        def run() -> ToolResult:
            seen = browser.step(action, target, text, enter=enter)
            return ToolResult(seen, compact=one_line(seen.partition("\n")[0].lstrip("# "))[:80])

        return Plan(run, danger, (subject,), lambda: detail)

    return tool(browse, reveals=True)
