"""`memory map --serve` by the command itself, with the real daemon and a real browser."""

import http.client
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import ASSISTANT, Run
from tests.upkeep.map.browser import BROWSER, NEEDED

FACT = "The spare key is with Ada, next door"


@pytest.fixture
def address(place: Path) -> Iterator[str]:
    """The address of the page, which is served until the end of the test."""
    command = [ASSISTANT, "-w", place, "memory", "map", "--serve", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 130


def asked(address: str, body: str | None = None, path: str = "", **headers: str) -> tuple[int, str]:
    """The status and text of an answer."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request("POST" if body else "GET", path or parts.path, body, headers)
    with connection.getresponse() as response:
        answer = response.status, response.read().decode()
    connection.close()
    return answer


def test_only_the_page_itself_is_answered(address: str, place: Path, run: Run) -> None:
    host, path = urlsplit(address).netloc, urlsplit(address).path
    assert host.startswith("127.0.0.1:") and len(path) > 20
    status, page = asked(address)
    assert status == 200 and FACT in page and "connect-src 'self'" in page
    data = json.loads(page.split('type="application/json">')[1].split("</script>")[0])
    id = data["ids"][[fact["t"] for fact in data["facts"]].index(FACT)]
    forget = json.dumps({"do": "forget", "id": id})
    before = (place / "MEMORY.md").read_bytes()
    for body in (None, forget):
        assert asked(address, body, path="/")[0] == 404
        assert asked(address, body, path=f"{path[:-1]}.")[0] == 404
        assert asked(address, body, Host=f"evil.example:{host.rpartition(':')[2]}")[0] == 403
        assert asked(address, body, Origin="http://evil.example")[0] == 403
        assert asked(address, body, Origin="null")[0] == 403
    assert asked(address, "{}")[0] == asked(address, "x" * 200_000)[0] == 400
    assert asked(address, json.dumps({"do": "purge", "id": id}))[0] == 400
    status, fault = asked(address, json.dumps({"do": "forget", "id": "nosuch"}))
    assert status == 409
    assert fault == "this fact has changed since the page was drawn. Reload the page"
    secret = {"do": "correct", "id": id, "text": "My password is Xk7!pq92Lm"}
    status, fault = asked(address, json.dumps(secret))
    assert status == 409 and "contains a secret" in fault
    assert (place / "MEMORY.md").read_bytes() == before
    assert asked(address, forget, Origin=f"http://{host}") == (200, "")
    assert FACT not in (place / "MEMORY.md").read_text()
    status, fault = asked(address, forget)
    assert status == 409 and "Reload the page" in fault
    assert run("memory", "undo").returncode == 0
    assert (place / "MEMORY.md").read_bytes() == before


@pytest.mark.skipif(BROWSER is None, reason=NEEDED)
def test_a_fact_is_corrected_and_forgotten_in_it(address: str, place: Path, run: Run) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(address)
        page.click(f"text={FACT}")
        page.fill("#fact textarea", "The spare key is with Bo")
        with page.expect_navigation():
            page.click("#fact >> text=Correct")
        page.click("#rows >> text=The spare key is with Bo")
        assert page.input_value("#fact textarea") == "The spare key is with Bo"
        memory = (place / "MEMORY.md").read_text()
        assert "- The spare key is with Bo" in memory and f"~~{FACT}~~" in memory
        page.keyboard.press("Escape")
        page.click(f"#rows >> text={FACT}")
        assert page.is_hidden("#fact textarea")  # it is struck out
        page.keyboard.press("Escape")
        page.click("#rows >> text=The spare key is with Bo")
        with page.expect_navigation():
            page.click("#fact >> text=Forget")
        assert page.is_hidden("#rows >> text=The spare key is with Bo")
        browser.close()
    assert run("memory", "undo").returncode == run("memory", "undo").returncode == 0
    memory = (place / "MEMORY.md").read_text()
    assert f"- {FACT}" in memory and "with Bo" not in memory
