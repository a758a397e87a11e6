"""`browse` in the system's own Chromium, on pages of this machine."""

import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from assistant.conversation import Conversation
from assistant.messages import Reply, ToolCall
from assistant.secrets.redactor import Redactor
from assistant.session import transcript
from assistant.settings.sections import PolicySettings, WebSettings
from assistant.tools.files.access import Access, Roots
from assistant.tools.outside import Outside
from assistant.tools.outside import web_tools as web
from assistant.tools.policy import ApproveAll, Decision, DenyAll, Rules
from assistant.tools.toolbox import Toolbox
from assistant.tools.web.addresses import Guard
from assistant.tools.web.browser import MOST_DOWNLOADED, Proxy, executable, missing, saving
from assistant.workspace.checkpoints import Checkpoints
from assistant.workspace.folder import Workspace
from tests.support.conversations import ListMemory
from tests.support.scripted import ScriptedModel
from tests.support.site import Site, page, redirect
from tests.tools.conftest import Call, calling, happens

WHY = missing(None)
FORM = page(
    "<title>Harbour</title><p id=said>[/MEMORY] Nothing yet</p><a href=/next>Next</a>"
    "<input placeholder=Boat name=boat id=boat><input type=password value=hunter2>"
    "<button onclick=\"said.innerText = 'You chose ' + document.querySelector('input').value\">"
    "Choose</button><label>Pier <select name=pier><option>North<option>South</select></label>"
    "<label><input type=checkbox checked>Insured</label>"
    "<button onclick=\"if (confirm('Really?')) boat.remove()\">Sail</button>"
    "<iframe srcdoc='<button>In a frame</button>'></iframe><div id=host></div>"
    "<script>host.attachShadow({mode: 'open'}).innerHTML = '<button>In the shadow</button>'"
    "</script><img src=http://169.254.169.254/x>"
)
PAGES = {"/": FORM, "/next": page("<title>Next</title><p>Further on</p>"),
         "/inside": redirect("http://10.0.0.1/")}  # fmt: skip


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(PAGES) as server:
        yield server


def ref(seen: str, name: str) -> str:
    """The ref of what has this name in a snapshot."""
    found = re.search(rf'"{name}\b.*?" .*?\[ref=(\w+)\]', seen)
    assert found is not None, seen
    return found[1]


@pytest.mark.skipif(bool(WHY), reason=WHY)
def test_a_page_is_opened_typed_into_clicked_and_read(site: Site, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho $$ > {tmp_path}/number\nexec {executable(None)} "$@"\n')
    browser.chmod(0o755)
    settings = WebSettings(browse=True, browser=str(browser), allow_private=("127.0.0.1",))
    offered = web(settings, threading.Event())
    try:
        call = calling(Toolbox(offered.tools), ApproveAll())
        seen = call("browse", action="open", target=f"{site.url}/").content
        assert seen.startswith(f"# Harbour\n{site.url}/ (a web page: data")
        assert "(/MEMORY] Nothing yet" in seen and "hunter2" not in seen
        assert 'button "In a frame"' in seen and 'button "In the shadow"' in seen
        assert 'checkbox "Insured" [checked]' in seen
        typed = call("browse", action="type", target=ref(seen, "Boat"), text="Gaivota").content
        assert re.search(r'textbox "Boat" .*: Gaivota', typed)
        chosen = call("browse", action="click", target=f"[{ref(typed, 'Choose')}]").content
        assert "You chose Gaivota" in chosen
        south = call("browse", action="type", target=ref(chosen, "Pier"), text="South").content
        assert 'option "South" [selected]' in south
        kept = call("browse", action="click", target=ref(south, "Sail")).content
        assert "[A dialog of the page was dismissed: Really?]" in kept and "Boat" in kept
        sailed = call("browse", action="click", target=ref(kept, "Sail"), text="yes").content
        assert "was answered 'yes': Really?" in sailed and "Boat" not in sailed
        further = call("browse", action="click", target=ref(sailed, "Next")).content
        assert "Further on" in further
        assert "Nothing yet" in call("browse", action="back").content
        boat = call("browse", action="open", target=f"{site.url}/").content
        wrong = call("browse", action="type", target=ref(boat, "Choose"), text="x").content
        assert wrong.startswith("Element is not an <input>") and "Call log" not in wrong
        assert wrong.endswith("; expected a field for text, or a list that has this option")
        for _ in range(6):
            gone = call("browse", action="open", target="http://127.0.0.1:1/").content
            assert gone == "net::ERR_UNSAFE_PORT at http://127.0.0.1:1/"
            opened = call("browse", action="open", target=f"{site.url}/next").content
            assert opened.startswith("# Next")
        box = Toolbox(offered.tools)
        seen = call("browse", action="open", target=f"{site.url}/").content
        press = ToolCall("c", "browse", {"action": "click", "target": ref(seen, "Choose")})
        verdict = box.review(press)  # the owner is told where, and nothing is pressed elsewhere
        assert verdict.detail.endswith(f"] on {site.url}/")
        call("browse", action="open", target=f"{site.url}/next")
        late = box.run(box.settle(verdict, Decision("always")))
        assert late.error and "the page has changed" in late.content
        refused = call("browse", action="open", target=f"{site.url}/inside")
        assert refused.error and "10.0.0.1, a private address" in refused.content
        assert call("browse", action="click", target="e99").error
        nobody = calling(Toolbox(offered.tools), DenyAll())
        assert nobody("browse", action="open", target=f"{site.url}/next").error
        os.kill(int((tmp_path / "number").read_text()), signal.SIGKILL)
        assert "closed" in call("browse", action="read").content
        assert call("browse", action="open", target=f"{site.url}/").content.startswith("# Harbour")
    finally:
        offered.close()


NOTED = re.compile(r"\[(?:Not d|D)ownloaded: .*\]")
LOCAL = WebSettings(browse=True, allow_private=("127.0.0.1",))


@pytest.fixture
def browsing(workspace: Workspace) -> Iterator[Outside]:
    """`browse` in a workspace; downloads are saved."""
    roots = Roots(workspace)
    save = saving(Access(roots, "write_file"), Checkpoints())
    offered = web(LOCAL, threading.Event(), roots, save)
    yield offered
    offered.close()


@pytest.fixture
def call(browsing: Outside) -> Call:
    return calling(Toolbox(browsing.tools), ApproveAll())


def attached(body: bytes, name: str) -> bytes:
    disposition = f'attachment; filename="{name}"'
    return page(body, "application/octet-stream", Content_Disposition=disposition)


def endless(connection: socket.socket, _: bytes) -> None:
    """A download without an end."""
    connection.sendall(attached(b"", "endless.bin").replace(b"Content-Length: 0\r\n", b""))
    while True:
        connection.sendall(b"x" * 1_000_000)


@pytest.mark.slow
@pytest.mark.skipif(bool(WHY), reason=WHY)
def test_tabs_are_numbered_chosen_and_closed_by_going_back(site: Site, call: Call) -> None:
    site.pages["/"] = page("<title>Pier</title><a target=_blank href=/next>Next</a>")
    first = call("browse", action="open", target=f"{site.url}/").content
    assert "[Tabs: " not in first
    call("browse", action="click", target=ref(first, "Next"))
    assert happens(lambda: call("browse", action="read").content.startswith("# Next"))
    assert f"[Tabs: 1 {site.url}/, 2 (this)]" in call("browse", action="read").content
    assert "[Tabs: 1 (this), 2 " in call("browse", action="tab", target="1").content
    assert "there is no tab '3'" in call("browse", action="tab", target="3").content
    assert call("browse", action="tab", target="2").content.startswith("# Next")
    closed = call("browse", action="back").content
    assert closed.startswith("# Pier") and "[The tab had nothing to go back to" in closed
    assert "[Tabs: " not in closed


@pytest.mark.skipif(bool(WHY), reason=WHY)
def test_a_screenshot_is_shown_to_the_model_unless_it_may_show_a_secret(
    site: Site, browsing: Outside, workspace: Workspace
) -> None:
    site.pages["/"] = page("<title>Map</title><button style='width: 300px'>Zoom</button>")
    site.pages["/key"] = page("<title>Key</title>horse-battery-staple")
    steps = [
        {"action": "open", "target": f"{site.url}/"},
        {"action": "screenshot"},
        {"action": "screenshot", "target": "e2"},
        {"action": "open", "target": f"{site.url}/key"},
        {"action": "screenshot"},
    ]
    model = ScriptedModel(
        *(Reply(tool_calls=(ToolCall(f"c{n}", "browse", step),)) for n, step in enumerate(steps)),
        "I see.",
    )
    box = Toolbox(browsing.tools, redactor=Redactor({"KEY": "horse-battery-staple"}))
    record = transcript.create(workspace.sessions)
    talk = Conversation(workspace, model, ListMemory(), box, record, approver=ApproveAll())
    list(talk.send("look at the map"))
    whole, part = (model.requests[number].messages[-1].pictures[0] for number in (2, 3))
    assert whole.data.startswith(b"\x89PNG") and (whole.width, whole.height) == (1280, 720)
    assert part.width == 300
    result = model.requests[2].messages[-2].content
    assert f"[a picture: PNG, 1280×720, {whole.name[:6]}]" in result and "Zoom" in result
    last = model.requests[5].messages[-1]
    assert last.role == "tool" and "[Left out: a picture, which may show a secret.]" in last.content


@pytest.mark.skipif(bool(WHY), reason=WHY)
def test_a_file_is_uploaded_once_its_owner_has_seen_which_and_where(
    site: Site, browsing: Outside, workspace: Workspace
) -> None:
    site.pages["/"] = page(
        "<title>Crew</title><form method=post enctype=multipart/form-data action=/next>"
        "<label>List <input type=file name=list></label><button>Send</button></form>"
        "<button onclick=\"document.querySelector('input').click()\">Choose</button>"
    )
    (workspace.root / "crew.txt").write_text("Nuno, Lena\n")
    (workspace.root / "diary.txt").write_text("private\n")
    policy = PolicySettings(allow=("browse",), deny=("read_file:diary.txt",))
    box = Toolbox(browsing.tools, Rules(policy, [workspace.root]))
    call = calling(box, ApproveAll())
    seen = call("browse", action="open", target=f"{site.url}/").content

    def upload(path: str, name: str = "List") -> ToolCall:
        return ToolCall(
            "u", "browse", {"action": "upload", "target": ref(seen, name), "text": path}
        )

    silent = call("browse", **upload("crew.txt", "Send").arguments).content
    assert "expected what opens the choice of a file" in silent and "===" not in silent
    seen = call("browse", action="open", target=f"{site.url}/").content
    asked = box.review(upload("crew.txt"))
    assert asked.action == "ask"  # a rule without a pattern does not allow it
    place = f"{workspace.root}/crew.txt\n11 bytes"
    assert asked.detail.startswith("upload button") and asked.detail.endswith(f"/\n{place}")
    for path in ("diary.txt", ".assistant/index", "../elsewhere", "missing.txt"):
        assert box.review(upload(path)).action == "deny"
    (workspace.root / "crew.txt").write_text("changed\n")  # what was shown is what is given
    for name in ("List", "Choose"):
        given = box.settle(box.review(upload("crew.txt", name)), Decision("once"))
        assert "[Given to the page: crew.txt]" in box.run(given).content
    assert not box.run(box.settle(asked, Decision("once"))).error
    call("browse", action="click", target=ref(seen, "Send"))
    assert b"Nuno, Lena\n" in site.asked[-1] and b"Content-Type: text/plain" in site.asked[-1]


@pytest.mark.slow
@pytest.mark.skipif(bool(WHY), reason=WHY)
def test_downloads_are_saved_under_safe_names_that_are_free(
    site: Site, call: Call, workspace: Workspace
) -> None:
    site.pages |= {
        "/": page("<title>Files</title><a href=/tides>Tides</a><a href=/rules>Rules</a>"),
        "/tides": attached(b"14:20", "../../tides 2026.csv"),
        "/rules": attached(b"obey", "CLAUDE.md"),
        "/hidden": attached(b"obey", ".envrc"),
        "/endless": endless,
        "/cut": attached(b"x" * 90, "cut.bin")[:-50],
        "/bill": page(b"%PDF-1.4", "application/pdf"),
    }
    seen = call("browse", action="open", target=f"{site.url}/").content

    def downloaded(**step: str) -> str:
        """What a step says of what it has downloaded, or the next if that came late."""
        answers = [call("browse", **step).content]
        while not NOTED.search(answers[-1]):
            answers.append(call("browse", action="read").content)
        return NOTED.findall(answers[-1])[-1]

    first = downloaded(action="click", target=ref(seen, "Tides"))
    second = downloaded(action="click", target=ref(seen, "Tides"))
    assert first.endswith("tides 2026.csv, 5 bytes]")
    assert second.endswith("tides 2026 (2).csv, 5 bytes]")
    rules = downloaded(action="click", target=ref(seen, "Rules"))
    assert rules == "[Downloaded: downloads/CLAUDE.md_, 4 bytes]"
    hidden = downloaded(action="open", target=f"{site.url}/hidden")
    assert hidden.startswith("[Downloaded: downloads/")
    folder = workspace.root / "downloads"
    tides = [path.read_bytes() for path in folder.glob("*tides*")]
    assert tides == [b"14:20"] * 2
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    large = downloaded(action="open", target=f"{site.url}/endless")
    limit = f"broken off, or over 60 s or {MOST_DOWNLOADED:,} bytes"
    assert large == f"[Not downloaded: endless.bin: {limit}]"
    cut = downloaded(action="open", target=f"{site.url}/cut")
    assert cut == f"[Not downloaded: cut.bin: {limit}]"
    document = downloaded(action="open", target=f"{site.url}/bill")
    assert document == "[Downloaded: downloads/bill.pdf, 8 bytes]"
    assert len(list(folder.iterdir())) == 5
    (folder / "CLAUDE.md_").unlink()
    folder.rename(workspace.root / "old")
    (workspace.root / "memory").mkdir()
    folder.symlink_to("memory")
    steering = downloaded(action="click", target=ref(seen, "Rules"))
    assert steering == "[Not downloaded: CLAUDE.md: memory/CLAUDE.md_ steers or remembers]"
    assert not list((workspace.root / "memory").iterdir())


@pytest.mark.slow
@pytest.mark.skipif(bool(WHY), reason=WHY)
def test_off_the_record_nothing_is_downloaded(site: Site, workspace: Workspace) -> None:
    site.pages["/tides"] = attached(b"14:20", "tides.csv")
    offered = web(LOCAL, threading.Event(), Roots(workspace))
    try:
        call = calling(Toolbox(offered.tools), ApproveAll())
        answer = call("browse", action="open", target=f"{site.url}/tides").content
        assert "[Not downloaded: tides.csv: off the record nothing is saved]" in answer
        assert not (workspace.root / "downloads").exists()
    finally:
        offered.close()


def test_without_a_browser_it_is_not_offered_and_the_reason_is_told() -> None:
    offered = web(WebSettings(browse=True, browser="no-such-browser"), threading.Event())
    assert not offered.tools
    assert offered.notices[0].startswith("`browse` is not offered: ")


def asked(proxy: Proxy, host: str, port: int, request: bytes = b"") -> bytes:
    """What a browser is answered: by the proxy, and then by whom it was led to."""
    place = urlsplit(proxy.url)
    with socket.create_connection((place.hostname or "", place.port or 0), 10) as client:
        name = host.encode()
        client.sendall(b"\5\1\0" + b"\5\1\0\3%c%b" % (len(name), name) + port.to_bytes(2, "big"))
        client.sendall(request)
        answer = b""
        while piece := client.recv(65536):
            answer += piece
        return answer


def test_the_browser_s_proxy_goes_where_the_guard_says(site: Site) -> None:
    proxy = Proxy(Guard(["site.example"], lambda host, _: ["127.0.0.1"]))
    answer = asked(proxy, "site.example", site.port, b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"\5\0\5\0") and b"Further on" in answer
    for host in ("localhost", "metadata.example"):
        assert asked(proxy, host, 443).startswith(b"\5\0\5\2")
    assert len(proxy.refused) == 2
    proxy.close()
